from __future__ import annotations

import dataclasses

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, ReadSpec, TypeKind, Unit, UnitKind
from rivet_core.sql.dialect import SQLITE
from rivet_core.sql.querytext import derived_table
from rivet_core.sql.select import KeyTypes, SelectItem, select_unit

ID = (SelectItem(name="id"),)
SPEC = ReadSpec(export="e", table="t")
KEYS = KeyTypes(
    kinds={"u": TypeKind.TEXT, "f": TypeKind.TEXT, "id": TypeKind.INTEGER}, types={"u": "text", "f": "text", "id": "integer"}
)


def text(unit, spec=SPEC, items=ID, source='"t"'):
    return " ".join(select_unit(SQLITE, source=source, items=items, spec=spec, unit=unit, keys=KEYS).split())


def mark(column, value, type_="integer"):
    return Mark(column=column, type=type_, value=value)


def test_whole_unit():
    items = (SelectItem(name="id"), SelectItem(name="Odd {}", expression="{}::text"))
    expected = 'SELECT rivet_row."id", rivet_row."Odd {}"::text AS "Odd {}" FROM "t" AS rivet_row'
    assert text(Unit(index=0, kind=UnitKind.WHOLE), items=items) == expected


def test_items_may_read_another_column_or_none():
    items = (SelectItem(name="c", column="id"), SelectItem(name="k", verbatim="1"))
    assert text(Unit(index=0, kind=UnitKind.WHOLE), items=items).startswith('SELECT rivet_row."id" AS "c", 1 AS "k" FROM')


def test_range_unit_is_open_below_closed_above():
    unit = Unit(index=1, kind=UnitKind.RANGE, columns=("id",), lower=(mark("id", "10"),), upper=(mark("id", "20"),))
    assert text(unit).endswith('WHERE rivet_row."id" > 10 AND rivet_row."id" <= 20')


def test_pair_cursor_compares_rows_and_orders_by_both():
    unit = Unit(index=0, kind=UnitKind.CURSOR, columns=("u", "id"), lower=(mark("u", "x'y", "text"), mark("id", "7")))
    expected = """WHERE (rivet_row."u", rivet_row."id") > ('x''y', 7) ORDER BY rivet_row."u", rivet_row."id\""""
    assert text(unit).endswith(expected)


def test_first_run_leaves_null_cursors_to_their_own_unit():
    assert 'WHERE rivet_row."u" IS NOT NULL ORDER BY' in text(Unit(index=0, kind=UnitKind.CURSOR, columns=("u",)))
    assert text(Unit(index=1, kind=UnitKind.NULLS, columns=("u",))).endswith('WHERE (rivet_row."u" IS NULL)')


def test_coalesce_cursor_is_one_position():
    spec = dataclasses.replace(SPEC, cursor=("u", "f"), cursor_mode="coalesce")
    unit = Unit(
        index=0, kind=UnitKind.CURSOR, columns=("u", "f", "id"), lower=(mark("coalesce(u, f)", "a", "text"), mark("id", "7"))
    )
    both = 'COALESCE(rivet_row."u", rivet_row."f")'
    assert text(unit, spec).endswith(f"""WHERE ({both}, rivet_row."id") > ('a', 7) ORDER BY {both}, rivet_row."id\"""")
    nulls = Unit(index=1, kind=UnitKind.NULLS, columns=("u", "f"))
    assert text(nulls, spec).endswith(f"WHERE ({both} IS NULL)")


def test_window_unit_is_closed_below_open_above():
    unit = Unit(
        index=0,
        kind=UnitKind.WINDOW,
        columns=("id",),
        lower=(mark("id", "1"),),
        upper=(mark("id", "2"),),
        lower_inclusive=True,
        upper_inclusive=False,
    )
    assert text(unit).endswith('WHERE rivet_row."id" >= 1 AND rivet_row."id" < 2')


def test_a_query_stands_on_its_own_lines():
    sql = select_unit(
        SQLITE,
        source=derived_table(SQLITE, "SELECT 1 AS id -- 100% :x"),
        items=(SelectItem(name="id"),),
        spec=SPEC,
        unit=Unit(index=0, kind=UnitKind.WHOLE),
        keys=KEYS,
    )
    assert "\nSELECT 1 AS id -- 100% :x\n) AS" in sql


def test_a_bound_of_another_type_is_refused():
    unit = Unit(index=3, kind=UnitKind.RANGE, columns=("id",), upper=(mark("id", "20", "bigint"),))
    with pytest.raises(ConfigError, match=r"bigint.*integer"):
        text(unit)
