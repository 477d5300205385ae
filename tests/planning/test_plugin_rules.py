"""The rule of docs/hooks.md, from its hook to a plan: admitted, heard, and muted by its code."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest

from rivet_core.artifact import Plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins

DOCS = Path(__file__).parents[2] / "docs" / "hooks.md"
AUDIT = """
from rivet_core.facts import Dimension, Reason, ReasonKind


def score(facts, options):
    return [Reason(code="X-acme-1", kind=ReasonKind.MODIFIER, message="It may wait.", dimension=Dimension.VALUE, points=-3)]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    example = re.search(r"```python\n(# rivet_acme/__init__\.py.*?)```", DOCS.read_text(), re.DOTALL)
    assert example
    package, info = tmp_path / "rivet_acme", tmp_path / "rivet_acme-1.0.dist-info"
    package.mkdir()
    (package / "__init__.py").write_text(example[1])
    (package / "audit.py").write_text(AUDIT)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rivet-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rivet.v1]\nacme = rivet_acme\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("rivet_acme", "rivet_acme.audit"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    return tmp_path


def planned(folder: Path, planning: str = "{}") -> Plan:
    (folder / "rivet.yaml").write_text(
        "source: {type: sqlite, path: shop.db}\ndestination: {type: local, path: out}\n"
        f"planning: {planning}\nexports:\n  - {{name: orders, table: orders}}\n"
    )
    return build_plan(load_config(folder / "rivet.yaml"), load_plugins(environ={}), PlanRequest())


def test_the_rule_of_the_documentation_is_heard(shop: Path) -> None:
    (export,) = planned(shop).exports
    found = [(reason.code, reason.points) for reason in export.reasons if reason.provider == "acme"]
    assert found == [("X-acme-1", -3)]


@pytest.mark.parametrize(
    "planning",
    ["{suppress: [{export: orders, code: X-acme-1, reason: it may not}]}", "{rules: {X-acme-1: off}}"],
)
def test_its_code_can_be_muted(shop: Path, planning: str) -> None:
    (export,) = planned(shop, planning).exports
    assert [reason.points for reason in export.reasons if reason.code == "X-acme-1"] in ([0], [])
    assert not [reason for reason in export.reasons if reason.code == "RV890"]
