from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from planning_facts import BY_TIME, GIB, ID, PRIMARY, UPDATED, bytes_of, codes, facts, judge, reason_of, rows_of, table

from rivet_core.facts import IndexFacts, Mark, Mode, Role, Unit, UnitKind

INCREMENTAL = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"}
CHUNKED = {"mode": Mode.CHUNKED, "chunk_column": "id"}


@pytest.mark.parametrize(
    ("index", "helps"),
    [
        (BY_TIME, True),
        (replace(BY_TIME, columns=("updated_at", "id")), True),
        (replace(BY_TIME, columns=("id", "updated_at")), False),
        (replace(BY_TIME, partial=True), False),
        (replace(BY_TIME, valid=False), False),
        (replace(BY_TIME, method="brin"), False),
    ],
)
def test_only_a_usable_index_that_leads_with_the_column_helps(index: IndexFacts, helps: bool) -> None:
    found = codes(judge(facts(table(indexes=(PRIMARY, index)), spec=INCREMENTAL)))
    assert ("RV201" in found) is not helps
    assert ("RV203" in found) is not helps
    assert ("RV304" in found) is not helps


def test_the_index_statement_fits_the_dialect() -> None:
    here = table(indexes=(PRIMARY,), schema="Shop", relation="order")
    odd = replace(UPDATED, name="updatedAt")
    spec = INCREMENTAL | {"cursor_column": "updatedAt"}
    spelled = {
        "postgres": 'CREATE INDEX CONCURRENTLY ON "Shop".order ("updatedAt")',
        "mariadb": "CREATE INDEX `order_updatedAt_idx` ON `Shop`.order (`updatedAt`)",
    }
    for engine, statement in spelled.items():
        judgement = judge(facts(replace(here, columns=(ID, odd)), spec=spec, server={"engine": engine}))
        assert reason_of(judgement, "RV201").remedy == statement


def test_a_small_sort_does_not_spill() -> None:
    small = judge(facts(table(indexes=(PRIMARY,), bytes=(bytes_of(4 << 20),)), spec=INCREMENTAL))
    assert "RV201" in codes(small)
    assert "RV203" not in codes(small)
    assert "RV203" in codes(judge(facts(table(indexes=(PRIMARY,), bytes=(), rows=()), spec=INCREMENTAL)))


def test_block_ranges_need_no_index() -> None:
    blocks = (Unit(index=0, kind=UnitKind.CTID),)
    here = table(indexes=())
    assert "RV201" not in codes(judge(facts(here, spec={"mode": Mode.CHUNKED}, units=blocks)))


@pytest.mark.parametrize(
    ("changes", "wide"),
    [
        ({"avg_width": 4097}, True),
        ({"avg_width": 4096}, False),
        ({"out_of_line_bytes": GIB // 2 + 1}, True),
        ({"out_of_line_bytes": GIB // 2}, False),
    ],
)
def test_wide_rows(changes: dict[str, Any], wide: bool) -> None:
    assert ("RV104" in codes(judge(facts(table(**changes))))) is wide


@pytest.mark.parametrize(
    ("dead", "role", "listed"), [(45, Role.UNKNOWN, True), (42, Role.UNKNOWN, False), (45, Role.STANDBY, False)]
)
def test_dead_rows(dead: int, role: Role, listed: bool) -> None:
    judgement = judge(facts(table(rows=(rows_of(100),), dead_rows=dead), server={"role": role}))
    assert ("RV204" in codes(judgement)) is listed


def test_scattered_rows_matter_to_range_reads_only() -> None:
    scattered = table(columns=(replace(ID, correlation=0.1), UPDATED))
    assert "RV205" in codes(judge(facts(scattered, spec=CHUNKED)))
    assert "RV205" not in codes(judge(facts(scattered)))
    assert "RV205" not in codes(judge(facts(table(columns=(replace(ID, correlation=-0.2), UPDATED)), spec=CHUNKED)))


def windows(bounds: list[int], rows: int | None) -> tuple[Unit, ...]:
    def at(value: int) -> tuple[Mark, ...]:
        return (Mark(column="id", type="bigint", value=str(value)),)

    return tuple(
        Unit(index=place, kind=UnitKind.RANGE, columns=("id",), lower=at(low), upper=at(high), rows=rows)
        for place, (low, high) in enumerate(pairwise(bounds))
    )


def test_equal_windows_over_a_sparse_key_are_mostly_empty() -> None:
    equal = list(range(0, 13_000, 1000))
    judgement = judge(facts(spec=CHUNKED, units=windows(equal, 50)))
    assert reason_of(judgement, "RV202").points == 12
    assert reason_of(judgement, "RV202").message.startswith("12 equal windows over id, of whose values 5 % exist")
    assert "RV202" not in codes(judge(facts(spec=CHUNKED, units=windows(equal, 100))))
    assert "RV202" not in codes(judge(facts(spec=CHUNKED, units=windows(equal[:10], 50))))
    assert "RV202" not in codes(judge(facts(spec=CHUNKED, units=windows(equal, None))))


def test_c05_units_that_follow_the_rows_are_not_sparse() -> None:
    """C05: a million dense ids and one far away; the largest against the median is shown."""
    dense = [place * 1000 for place in range(12)]
    units = windows([*dense, 1_843_931_943_963_660_289], 1000)
    judgement = judge(facts(spec=CHUNKED, units=(*units[:-1], replace(units[-1], rows=3000))))
    assert "RV202" not in codes(judgement)
    assert reason_of(judgement, "RV206").message == (
        "12 units: a longer hold on the source; the largest holds 3.0 x the rows of the median."
    )


def test_eight_units_are_not_many() -> None:
    assert "RV206" not in codes(judge(facts(spec=CHUNKED, units=windows(list(range(9)), 1))))
