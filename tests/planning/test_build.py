"""From a config to a sealed plan, on a real SQLite database: everything stands in the file, nothing outside is touched."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rivet_core.artifact import Plan, plan_bytes, read_plan, write_plan
from rivet_core.config import check_plugin_keys, load_config
from rivet_core.errors import ConfigError
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins

CONFIG = """
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
source_groups:
  shop: {max_connections: 2, max_heavy: 1}
defaults: {}
planning: {workers: 3}
exports:
  - {name: orders, table: orders, mode: incremental, cursor_column: id, source_group: shop}
  - {name: items, table: items, heavy: true, source_group: shop, depends_on: [orders]}
  - {name: views, table: views, heavy: true, source_group: shop}
  - {name: ghosts, table: ghosts}
"""
AS_OF = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        for name in ("orders", "items", "views"):
            connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, note TEXT)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(n, f"{name} {n}") for n in range(100)])
    connection.close()
    (tmp_path / "rivet.yaml").write_text(CONFIG)
    return tmp_path


def planned(folder: Path, **choices: object) -> Plan:
    config = load_config(folder / "rivet.yaml")
    registry = load_plugins(environ={})
    check_plugin_keys(config, registry)
    return build_plan(config, registry, PlanRequest(as_of=AS_OF, **choices))  # type: ignore[arg-type]


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "rivet.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_points_add_up_to_scores_from_the_file_alone(shop: Path) -> None:
    data = json.loads(plan_bytes(planned(shop)))
    for export in data["exports"]:
        if export["status"] == "unplannable":
            continue
        for dimension, score in export["scores"].items():
            points = [reason["points"] for reason in export["reasons"] if reason["dimension"] == dimension]
            assert sum(points) == score
            bases = [reason for reason in export["reasons"] if reason["dimension"] == dimension and reason["kind"] == "base"]
            assert len(bases) == 1


def test_planning_changes_nothing(shop: Path) -> None:
    def picture() -> dict[str, tuple[str, int]]:
        return {
            str(path.relative_to(shop)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in shop.rglob("*")
            if path.is_file()
        }

    before = picture()
    planned(shop)
    assert picture() == before


def test_same_input_gives_the_same_bytes_but_for_the_id(shop: Path) -> None:
    one, two = (json.loads(plan_bytes(planned(shop))) for _ in range(2))
    for data in (one, two):
        for key in ("plan_id", "seal"):
            del data[key]
        for source in data["sources"].values():
            del source["observed_at"]
    text = json.dumps(one, sort_keys=True)
    assert len(text) == len(json.dumps(two, sort_keys=True))
    assert [export["scores"] for export in one["exports"]] == [export["scores"] for export in two["exports"]]


def test_an_unplannable_export_is_a_marked_row(shop: Path) -> None:
    plan = planned(shop)
    ghost = plan.export("ghosts")
    assert ghost is not None
    assert ghost.status == "unplannable"
    assert ghost.error is not None
    assert "ghosts" in ghost.error.message
    assert "ghosts" not in plan.campaign.ordered_exports
    assert set(plan.campaign.ordered_exports) == {"orders", "items", "views"}


def test_two_heavy_exports_of_one_group_are_warned_about(shop: Path) -> None:
    plan = planned(shop)
    warning = next(item for item in plan.campaign.source_group_warnings if item.code == "RV701")
    assert warning.group == "shop"
    assert set(warning.exports) == {"items", "views"}
    assert all(plan.export(name).isolate_on_source for name in warning.exports)  # type: ignore[union-attr]
    assert plan.source_groups["shop"].max_connections == 2
    assert not plan.source_groups["shop"].assumed


def test_undeclared_capacity_is_assumed(shop: Path) -> None:
    edit(shop, "  shop: {max_connections: 2, max_heavy: 1}", "  shop: {max_heavy: 1}")
    group = planned(shop).source_groups["shop"]
    assert group.assumed
    assert group.max_connections == 3


def test_the_policy_follows_the_config(shop: Path) -> None:
    assert planned(shop).campaign.policy.name == "bottleneck"
    assert planned(shop, policy="fifo").campaign.policy.name == "fifo"
    edit(shop, "{name: views,", "{name: views, value: {tier: high},")
    assert planned(shop).campaign.policy.name == "fast-lane"
    edit(shop, "{name: views,", "{name: views, wave: 2,")
    assert planned(shop).campaign.policy.name == "waves"
    with pytest.raises(ConfigError, match="fastest"):
        planned(shop, policy="fastest")


@pytest.mark.parametrize("asked", [1, 4])
def test_the_price_of_hand_set_waves_has_bounds_whatever_number_is_asked(shop: Path, asked: int) -> None:
    edit(shop, "{name: orders,", "{name: orders, wave: 1,")
    edit(shop, "{name: views, table: views, heavy: true,", "{name: views, table: views, heavy: false, wave: 2,")
    (said,) = [hint for hint in planned(shop, waves=asked).campaign.concurrency_hints if "against a pool" in hint]
    assert said.startswith("3 waves cost +")  # items has none: it runs last
    assert re.search(r"\(between \+\d+% and \+\d+% as exports take shorter or longer\)", said), said


def test_config_order_is_one_wave_unless_waves_are_set(shop: Path) -> None:
    plan = planned(shop, config_order=True)
    assert plan.campaign.policy.name == "waves"
    assert [wave.exports for wave in plan.campaign.waves] == [("orders", "items", "views")]
    edit(shop, "{name: views,", "{name: views, wave: 1,")
    edit(shop, "{name: orders,", "{name: orders, wave: 2,")
    plan = planned(shop, config_order=True)
    assert plan.export("views").wave == 1  # type: ignore[union-attr]
    assert plan.export("items").wave is None  # type: ignore[union-attr]


def test_a_selection_counts_dependencies_outside_as_done(shop: Path) -> None:
    plan = planned(shop, exports=("items",))
    assert [export.name for export in plan.exports] == ["items"]
    assert plan.campaign.predicted.makespan_seconds > 0


def test_inline_credentials_stay_in_the_config(shop: Path) -> None:
    edit(
        shop,
        "destination: {type: local, path: out}",
        "destination: {type: local, path: out}\nstate: {url: 'postgresql://u:h0tp0tat0@h/db'}",
    )
    config = load_config(shop / "rivet.yaml")
    assert any("credential" in warning for warning in config.warnings)
    from rivet_core.planning.secrets import without_secrets

    kept = without_secrets({"url": "postgresql://u:h0tp0tat0@h/db", "host": "h"}, config=config.path, key="sources.shop")
    assert kept == {"url": {"config": str(config.path), "key": "sources.shop.url"}, "host": "h"}


def test_a_written_plan_reads_back_equal(shop: Path) -> None:
    plan = planned(shop)
    write_plan(plan, shop / "plan.json")
    assert read_plan(shop / "plan.json") == plan
    assert (shop / "plan.json").read_bytes() == plan_bytes(plan)


def test_writing_a_plan_replaces_neither_a_link_nor_a_pipe(shop: Path) -> None:
    plan = planned(shop)
    link, pipe = shop / "link.json", shop / "pipe"
    link.symlink_to(shop / "target.json")
    write_plan(plan, link)
    assert link.is_symlink()
    assert read_plan(shop / "target.json") == plan
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_plan(plan, pipe)
    assert os.read(reader, 1 << 20) == plan_bytes(plan)
    os.close(reader)
    assert pipe.is_fifo()
