"""Configs in the vocabulary of the Rust tool load unchanged; `benchmarks.vocabulary` compares the rows with the tool's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.vocabulary.cases import CASES
from benchmarks.vocabulary.rows import difference, rows_of
from rivet_core.config import check_plugin_keys, load_config
from rivet_core.plugins import load_plugins

GOOD = [(case, engine) for case in CASES for engine in case.engines]


@pytest.mark.parametrize(("case", "engine"), GOOD, ids=[f"{case.name}-{engine}" for case, engine in GOOD])
def test_a_config_of_the_tool_loads_unchanged(tmp_path: Path, case, engine: str) -> None:
    text = case.config(engine).replace("$BUCKET", "lake").replace("$ENDPOINT", "http://127.0.0.1:1")
    (tmp_path / "rivet.yaml").write_text(text)
    (tmp_path / "orders.sql").write_text("SELECT 1 AS id")
    config = load_config(tmp_path / "rivet.yaml", {})
    check_plugin_keys(config, load_plugins(environ={}))
    assert config.exports


def test_rows_compare_by_what_they_mean() -> None:
    one = rows_of([("a.csv", b"id,at,note\n1.50,2026-01-01T01:00:00+01:00,\n2,2026-01-02,x\n")])
    two = rows_of([("a.csv", b"note,id,at\n,1.5,2026-01-01 00:00:00\n"), ("b.csv", b"id,at,note\n2.0,2026-01-02,x\n")])
    assert difference(one, two) == ""
    assert difference(one + one, two) == ""  # delivered again
    assert "only there" in difference(rows_of([("a.csv", b"id,at,note\n2,2026-01-02,x\n")]), two)
    assert "only here" in difference(two, rows_of([("a.csv", b"id,at,note\n2,2026-01-02,x\n")]))
