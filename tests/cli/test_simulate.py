"""`rivet simulate`: the campaign file's contract on the command line, and which policy `auto` stands for."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest


def campaign(*exports: dict[str, Any], **more: Any) -> str:
    named = [{"name": f"e{place}", "predicted_seconds": 10.0, **export} for place, export in enumerate(exports)]
    return json.dumps({"workers": 2, "exports": named, **more})


@pytest.mark.parametrize(
    ("exports", "stands_for"),
    [
        (({}, {}), "bottleneck"),
        (({}, {"tier": "high"}), "fast-lane"),
        (({"deadline": True}, {}), "fast-lane"),
        (({"wave": 2, "tier": "high"}, {}), "waves"),
        (({"tier": "low", "wave": None}, {"deadline": False}), "bottleneck"),
    ],
)
def test_auto_is_what_the_config_would_choose(cli: Any, tmp_path: Path, exports: Any, stands_for: str) -> None:
    (tmp_path / "campaign.json").write_text(campaign(*exports))
    said = cli("simulate", "campaign.json", "--policy", "auto", "--policy", "fifo", "--json")
    assert said.code == 0, said.err
    assert [row["policy"] for row in said.data] == [stands_for, "fifo"]
    # Named twice, it is one run: the bare object.
    assert cli("simulate", "campaign.json", "--policy", "auto", "--policy", stands_for, "--json").data["violations"] == 0


def test_auto_of_a_plan_is_the_policy_it_holds(cli: Any, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: sqlite, path: shop.db}\ndestination: {type: local, path: out}\nplanning: {policy: longest-first}\n"
        "exports:\n  - {name: orders, table: orders, value: {tier: high}}\n"
    )
    assert cli("plan", "-o", "plan.json").code == 0
    said = cli("simulate", "plan.json", "--policy", "auto", "--workers", "1", "--workers", "2", "--json")
    assert [(row["policy"], row["workers"]) for row in said.data] == [("longest-first", 1), ("longest-first", 2)]


def test_an_unknown_policy_names_auto_among_the_others(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(campaign({}))
    said = cli("simulate", "campaign.json", "--policy", "Auto")
    assert said.code == 2
    assert "hint: the policies are auto, bottleneck, " in said.err
