from __future__ import annotations

import dataclasses

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, IndexFacts, Mark, ReadSpec, TableFacts, TypeKind, UnitKind
from rivet_core.sql.cursor_plan import cursor_units, plan_cursor


def column(name, kind=TypeKind.INTEGER, source_type="integer", nullable=False):
    return ColumnFacts(name=name, kind=kind, source_type=source_type, nullable=nullable)


COLUMNS = (
    column("id"),
    column("u", TypeKind.TIMESTAMPTZ, "timestamp with time zone", nullable=True),
    column("c", TypeKind.TIMESTAMPTZ, "timestamp with time zone"),
    column("name", TypeKind.TEXT, "text"),
    column("doc", TypeKind.JSON, "jsonb"),
    column("ok", TypeKind.BOOLEAN, "boolean"),
    column("raw", TypeKind.BYTES, "bytea"),
)
PRIMARY = IndexFacts(name="pk", columns=("id",), unique=True, primary=True)
KEYED = TableFacts(name="t", columns=COLUMNS, indexes=(PRIMARY,))
KEYLESS = TableFacts(name="t", columns=COLUMNS)


def spec(*cursor, **keys):
    return ReadSpec(export="e", table="t", cursor=cursor, **keys)


def test_unique_cursor_stands_alone():
    plan = plan_cursor(spec("id"), KEYED)
    assert (plan.mode, plan.columns, plan.inclusive, plan.delivery) == ("single_column", ("id",), False, "exactly_once")


def test_cursor_that_ties_is_paired_with_the_key():
    plan = plan_cursor(spec("u"), KEYED)
    assert (plan.mode, plan.columns, plan.inclusive) == ("pair", ("u", "id"), False)


def test_without_a_key_the_bound_is_inclusive():
    plan = plan_cursor(spec("u"), KEYLESS)
    assert (plan.columns, plan.inclusive, plan.delivery) == (("u",), True, "at_least_once")
    unit = cursor_units(spec("u"), plan, (Mark(column="u", type="timestamp with time zone", value="2026-01-01 00:00:00+00"),))[
        0
    ]
    assert unit.lower_inclusive


def test_coalesce_counts_two_columns_as_one():
    plan = plan_cursor(spec("u", "c", cursor_mode="coalesce"), KEYED)
    assert plan.columns == ("u", "c", "id")
    assert [name for name, _ in plan.positions] == ["coalesce(u, c)", "id"]
    assert not plan.nullable


@pytest.mark.parametrize("name", ["doc", "ok", "raw"])
def test_i10_types_without_order_are_refused_by_name(name):
    with pytest.raises(ConfigError, match=name):
        plan_cursor(spec(name), KEYED)


def test_text_needs_a_word_in_the_config():
    with pytest.raises(ConfigError, match="collation"):
        plan_cursor(spec("name"), KEYED)
    assert plan_cursor(spec("name", allow_text_cursor=True), KEYED).columns == ("name", "id")


def test_a_missing_column_is_named():
    with pytest.raises(ConfigError, match="'nope'"):
        plan_cursor(spec("nope"), KEYED)


@pytest.mark.parametrize(("policy", "kinds"), [("include", 2), ("skip", 1), ("fail", 2)])
def test_null_cursors_are_their_own_unit(policy, kinds):
    plan = plan_cursor(spec("u"), KEYED)
    units = cursor_units(spec("u", null_cursor=policy), plan, ())
    assert [unit.kind for unit in units] == [UnitKind.CURSOR, UnitKind.NULLS][:kinds]


def test_lookback_starts_earlier_inclusive_and_without_the_key():
    asked = spec("u", lookback_seconds=600)
    plan = plan_cursor(asked, KEYED)
    committed = (
        Mark(column="u", type="timestamp with time zone", value="2026-01-01 00:05:00+00"),
        Mark(column="id", type="integer", value="9"),
    )
    unit = cursor_units(asked, plan, committed)[0]
    assert [mark.value for mark in unit.lower] == ["2025-12-31 23:55:00+00"]
    assert unit.lower_inclusive


@pytest.mark.parametrize(("name", "type_"), [("id", "integer"), ("u", "timestamp without time zone")])
def test_i13_a_changed_cursor_is_refused_with_the_way_out(name, type_):
    plan = plan_cursor(spec("u"), KEYED)
    with pytest.raises(ConfigError) as caught:
        cursor_units(spec("u"), plan, (Mark(column=name, type=type_, value="1"),))
    assert name in caught.value.message
    assert type_ in caught.value.message
    assert "rivet state reset -e e" in caught.value.hint


def test_a_key_that_cannot_be_a_mark_breaks_no_ties():
    odd = dataclasses.replace(KEYED, indexes=(IndexFacts(name="pk", columns=("raw",), unique=True, primary=True),))
    assert plan_cursor(spec("u"), odd).inclusive
