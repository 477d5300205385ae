"""Columns that no file could have, and `quality` that names none of those read: known before anything is read."""

from __future__ import annotations

import pytest

from rivet_core.facts import ColumnFacts, ExportSpec, TableFacts, TypeKind
from rivet_core.planning.outputs import columns_problem


def table(*names: str) -> TableFacts:
    columns = tuple(ColumnFacts(name=name, source_type="integer", kind=TypeKind.INTEGER) for name in names)
    return TableFacts(name="(query of a)", columns=columns)


def spec(**keys) -> ExportSpec:
    return ExportSpec(name="a", source="shop", query="SELECT 1", **keys)


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("id", "id"), "two columns named id"),
        (("?column?", "b", "?column?"), "two columns named ?column?"),
        (("", "b"), "a column without a name"),
    ],
)
def test_names_that_no_file_can_have(names, what):
    problem = columns_problem(table(*names), spec())
    assert problem is not None
    assert what in problem.message
    assert "AS" in problem.hint


@pytest.mark.parametrize("names", [(), ("a", "b"), ("a", "A"), ("?column?",)])
def test_names_that_a_file_can_have(names):
    assert columns_problem(table(*names), spec()) is None


def test_columns_that_are_not_read_do_not_count():
    assert columns_problem(table("a", "b", "b"), spec(columns=("a",))) is None
    assert columns_problem(table("a", "b", "b"), spec(columns=("a", "b"))) is not None


@pytest.mark.parametrize(
    "quality", [{"null_ratio_max": {"a": 0.5, "nope": 0.5}}, {"unique_columns": ["nope"]}, {"unique_columns": ["a", "A"]}]
)
def test_quality_of_a_column_that_is_not_read(quality):
    problem = columns_problem(table("a", "b"), spec(quality=quality))
    assert problem is not None
    assert f"quality.{next(iter(quality))} names" in problem.message
    assert problem.hint == "columns: a, b"
    assert columns_problem(table("a", "nope", "A"), spec(quality=quality)) is None
    assert columns_problem(table("a", "nope", "A"), spec(quality=quality, columns=("a",))) is not None
