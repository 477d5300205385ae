from __future__ import annotations

import pytest
from planning_facts import GIB, bytes_of, codes, facts, judge, reason_of, rows_of, run, table

from rivet_core.builtin.rules import builtin_rules
from rivet_core.facts import Mode, RelationKind, Unit, UnitKind


def test_bytes_with_their_source_and_age() -> None:
    found = reason_of(judge(facts(table(bytes=(bytes_of(10_952_166_400, changes=600_000),)))), "RV102")
    assert (found.points, found.kind) == (45, "base")
    assert found.message == "About 10.2 GiB of heap and out-of-line values to read."
    assert found.caveat == "By pg_class.relpages, 24 h old; 12 % of the rows written since."
    assert found.evidence[0].value == 10_952_166_400


def test_rows_alone_take_a_width() -> None:
    found = reason_of(judge(facts(table(bytes=(), rows=(rows_of(4_000_000),)))), "RV103")
    assert found.message == "About 4.0 million rows at an assumed width of 160 B: 610.4 MiB."
    assert found.remedy == "ANALYZE shop.orders"
    known = reason_of(judge(facts(table(bytes=(), rows=(rows_of(4_000_000),), avg_width=1000))), "RV103")
    assert "at a known width of 1000 B" in known.message


def test_history_says_how_long_it_takes() -> None:
    times = (900.0, 1020.0, 1020.0, 1320.0, 1020.0)
    history = tuple(run(days=day + 1, seconds=seconds) for day, seconds in enumerate(times))
    found = reason_of(judge(facts(history=history)), "RV101")
    assert found.message == "The last 5 runs took 17 min (15 min to 22 min), scaled to today's size."
    assert found.points == 45
    assert [one.signal for one in found.evidence][:3] == ["run_seconds_p50", "run_seconds_p10", "run_seconds_p90"]


@pytest.mark.parametrize("size", [GIB, GIB + GIB // 20])
def test_a_second_signal_that_agrees(size: int) -> None:
    two = (bytes_of(GIB), bytes_of(size, source="pg_relation_size"))
    found = reason_of(judge(facts(table(bytes=two))), "RV109")
    assert (found.points, found.kind) == (0, "corroborates")
    assert "by pg_relation_size (agrees)" in found.message


def test_a_second_signal_that_does_not() -> None:
    two = (bytes_of(GIB), bytes_of(4 * GIB, source="pg_relation_size"))
    judgement = judge(facts(table(bytes=two)))
    assert "4.0 GiB by pg_relation_size (4.0 x more)" in reason_of(judgement, "RV109").message
    assert judgement.work_bytes == GIB
    assert "In use: 1.0 GiB by pg_class.relpages" in reason_of(judgement, "RV803").message


def test_small_needs_both_figures() -> None:
    assert "RV110" in codes(judge(facts(table(bytes=(bytes_of(3 << 20),), rows=(rows_of(11_500),)))))
    assert "RV110" not in codes(judge(facts(table(bytes=(bytes_of(3 << 20),), rows=()))))
    assert "RV110" not in codes(judge(facts(table(bytes=(bytes_of(3 << 20),), rows=(rows_of(100_000),)))))


def test_partitions_are_named() -> None:
    here = table(kind=RelationKind.PARTITIONED, partitions=("p1", "p2"), largest_partition="p2")
    assert reason_of(judge(facts(here)), "RV106").message == "2 partitions; the largest is p2."


def test_an_unknown_delta_counts_the_whole_table_and_says_so() -> None:
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}
    found = reason_of(judge(facts(spec=spec)), "RV102")
    assert found.caveat.startswith("The delta is unknown, so the whole table is counted.")


def test_the_sources_estimate_of_a_window_is_its_delta() -> None:
    spec = {"mode": Mode.TIME_WINDOW, "time_column": "updated_at", "days_window": 3}
    days = tuple(Unit(index=place, kind=UnitKind.WINDOW, rows=1000) for place in range(3))
    judgement = judge(facts(spec=spec, units=days))
    assert (judgement.delta_rows, judgement.delta_bytes) == (3000, 3000 * GIB // 5_000_000)
    assert "RV105" in codes(judgement)


def test_every_rule_file_tells_users_what_it_is_about() -> None:
    from importlib import import_module

    for record in builtin_rules():
        module = import_module(str(record.score).partition(":")[0])
        assert module.__doc__
        assert record.codes[0] in module.__doc__ or record.codes[0][:4] in module.__doc__
