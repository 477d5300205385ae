from __future__ import annotations

from planning_facts import GIB, ID, PRIMARY, UPDATED, bytes_of, facts, rows_of, table, with_cursor

from rivet_core.builtin.rules.advice import as_config
from rivet_core.facts import IndexFacts, Mode, RelationKind, Role
from rivet_core.planning.suggest import suggest

HUGE = (bytes_of(50 * GIB),)
SMALL = (bytes_of(1 << 20),)


def test_a_large_full_read_with_a_moving_time_becomes_incremental() -> None:
    advice = suggest(with_cursor(facts(table(bytes=HUGE, updates=5, deletes=0))))
    assert (advice.mode, advice.cursor, advice.better) == ("incremental", "updated_at", True)
    assert as_config(advice) == "mode: incremental, cursor_column: updated_at, tuning: {profile: balanced}"


def test_a_strong_key_is_a_cursor_only_where_nothing_is_updated() -> None:
    here = table(bytes=HUGE, columns=(ID,), indexes=(PRIMARY,))
    still = with_cursor(facts(table(bytes=HUGE, columns=(ID,), indexes=(PRIMARY,), updates=0, deletes=0)))
    assert suggest(still).cursor == "id"
    for moving in (here, table(bytes=HUGE, columns=(ID,), indexes=(PRIMARY,), updates=9, deletes=0)):
        advice = suggest(with_cursor(facts(moving)))
        assert (advice.mode, advice.chunk_by) == ("chunked", "id")


def test_deletes_speak_against_any_cursor() -> None:
    advice = suggest(with_cursor(facts(table(bytes=HUGE, updates=5, deletes=7))))
    assert (advice.mode, advice.chunk_by) == ("chunked", "id")


def test_a_small_table_stays_whole() -> None:
    assert not suggest(with_cursor(facts(table(bytes=SMALL)))).better
    chunked = with_cursor(facts(table(bytes=SMALL), spec={"mode": Mode.CHUNKED, "chunk_column": "id"}))
    assert suggest(chunked).mode == "full"


def test_an_unknown_size_counts_as_large() -> None:
    assert suggest(with_cursor(facts(table(bytes=(), rows=())))).better


def test_a_chunk_column_without_an_index_gives_way_to_the_key() -> None:
    spec = {"mode": Mode.CHUNKED, "chunk_column": "updated_at"}
    advice = suggest(with_cursor(facts(table(bytes=HUGE, indexes=(PRIMARY,)), spec=spec)))
    assert (advice.mode, advice.chunk_by, advice.better) == ("chunked", "id", True)


def test_the_leading_column_of_a_composite_key_serves_as_chunk_key() -> None:
    composite = IndexFacts(name="pk", columns=("region", "id"), unique=True, primary=True)
    region = ID.__class__(name="region", source_type="smallint", kind=ID.kind, nullable=False)
    spec = {"mode": Mode.CHUNKED, "chunk_by_key": True}
    here = table(bytes=HUGE, columns=(region, ID), indexes=(composite,), rows=(rows_of(27_000_000),))
    assert not suggest(with_cursor(facts(here, spec=spec))).better


def test_a_weak_cursor_gives_way_to_a_better_one() -> None:
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "note"}
    note = UPDATED.__class__(name="note", source_type="text", kind="text")
    advice = suggest(with_cursor(facts(table(bytes=HUGE, columns=(ID, UPDATED, note)), spec=spec)))
    assert (advice.mode, advice.cursor) == ("incremental", "updated_at")


def test_a_query_is_left_as_it_is_written() -> None:
    query = table(kind=RelationKind.QUERY, bytes=(), rows=(), columns=(), indexes=())
    assert not suggest(with_cursor(facts(query, spec={"table": None, "query": "select 1"}))).better


def test_a_heavy_read_on_a_primary_is_asked_to_be_gentle() -> None:
    advice = suggest(with_cursor(facts(table(bytes=HUGE), server={"role": Role.PRIMARY})))
    assert (advice.profile, advice.better) == ("safe", True)
    assert suggest(with_cursor(facts(table(bytes=HUGE), server={"role": Role.STANDBY}))).profile == "balanced"


def test_a_cursor_that_sees_updates_is_never_given_up_for_one_that_does_not() -> None:
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"}
    unindexed = table(bytes=HUGE, columns=(ID, UPDATED), indexes=(PRIMARY,), updates=0, deletes=0)
    assert suggest(with_cursor(facts(unindexed, spec=spec))).cursor != "id"
