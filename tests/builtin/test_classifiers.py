"""The five verdicts of scoring section 5, from catalog facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planning_facts import BY_TIME, ID, PRIMARY, UPDATED, table

from rivet_core.builtin.classifiers import classify
from rivet_core.facts import ColumnFacts, CursorQuality, CursorRef, IndexFacts, TypeKind

STRONG, TIME, MULTI, FALLBACK, NONE = CursorQuality


def column(name: str, kind: TypeKind, source_type: str = "", **changes: Any) -> ColumnFacts:
    return ColumnFacts(name=name, source_type=source_type or str(kind), kind=kind, **({"nullable": False} | changes))


def judged(one: ColumnFacts, *indexes: IndexFacts, mode: str = "single_column") -> CursorQuality:
    here = table(columns=(one,), indexes=indexes)
    return classify(here, CursorRef(columns=(one.name,), mode=mode)).quality


def unique(name: str, **changes: Any) -> IndexFacts:
    return IndexFacts(name="u", columns=(name,), unique=True, **changes)


@pytest.mark.parametrize("given", ["identity", "sequence", "auto_increment"])
def test_a_key_that_the_database_gives_is_strong(given: str) -> None:
    assert judged(replace(ID, generated=given), PRIMARY) is STRONG


def test_a_version_7_uuid_is_strong_and_a_random_one_is_not() -> None:
    ordered = column("id", TypeKind.UUID, default="uuidv7()")
    assert judged(ordered, PRIMARY) is STRONG
    assert judged(replace(ordered, default="gen_random_uuid()"), PRIMARY) is FALLBACK
    assert judged(replace(ordered, default=None), PRIMARY) is FALLBACK


@pytest.mark.parametrize(
    ("one", "index"),
    [
        (replace(ID, generated=""), PRIMARY),
        (replace(ID, nullable=True, null_frac=0.0), unique("id")),
        (ID, IndexFacts(name="i", columns=("id",))),
        (ID, unique("id", partial=True)),
        (ID, unique("id", valid=False)),
        (ID, unique("id", method="hash")),
        (ID, IndexFacts(name="i", columns=("region", "id"), unique=True)),
    ],
)
def test_a_key_that_lacks_one_thing_is_a_fallback(one: ColumnFacts, index: IndexFacts) -> None:
    assert judged(one, index) is FALLBACK


@pytest.mark.parametrize("kind", [TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.DATE])
def test_a_time_that_leads_an_index_is_weak_time(kind: TypeKind) -> None:
    assert judged(replace(UPDATED, kind=kind), BY_TIME) is TIME
    assert judged(replace(UPDATED, kind=kind)) is FALLBACK


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, TIME), (0.05, TIME), (0.06, FALLBACK), (1.0, FALLBACK), (None, FALLBACK)]
)
def test_nulls_beyond_a_few_percent_or_of_unknown_share_make_a_fallback(share: float | None, expected: CursorQuality) -> None:
    assert judged(replace(UPDATED, nullable=True, null_frac=share), BY_TIME) is expected


def test_unix_seconds_serve_as_the_time_of_a_window() -> None:
    seconds = column("updated_at", TypeKind.INTEGER)
    assert judged(seconds, BY_TIME, mode="time_window") is TIME
    assert judged(seconds, BY_TIME) is FALLBACK


def test_i05_text_is_a_fallback_that_names_the_collation() -> None:
    """I05: '9' sorts after '11'."""
    text = column("updated_at", TypeKind.TEXT)
    found = classify(table(columns=(text,)), CursorRef(columns=("updated_at",)))
    assert found.quality is FALLBACK
    assert "collation" in found.why


@pytest.mark.parametrize(
    "kind",
    [
        TypeKind.JSON,
        TypeKind.BOOLEAN,
        TypeKind.BYTES,
        TypeKind.ARRAY,
        TypeKind.ENUM,
        TypeKind.INTERVAL,
        TypeKind.TIME,
        TypeKind.OTHER,
    ],
)
def test_i10_types_without_an_order_of_progress_are_none_and_named(kind: TypeKind) -> None:
    """I10: json, boolean and bytea cannot be cursors; the type is in the answer."""
    one = column("id", kind, source_type=f"my {kind}")
    found = classify(table(columns=(one,)), CursorRef(columns=("id",)))
    assert found.quality is NONE
    assert f"my {kind}" in found.why


def test_coalesce_is_ambiguous_and_needs_two_ordered_columns() -> None:
    both = CursorRef(columns=("updated_at", "id"), mode="coalesce")
    assert classify(table(), both).quality is MULTI
    flag = column("id", TypeKind.BOOLEAN)
    assert classify(table(columns=(flag, UPDATED)), both).quality is NONE
    assert classify(table(columns=(UPDATED,)), both).quality is NONE


def test_a_pair_is_judged_by_its_first_column() -> None:
    assert classify(table(), CursorRef(columns=("updated_at", "id"), mode="pair")).quality is TIME


def test_an_unknown_column_is_none_on_thin_evidence() -> None:
    found = classify(table(), CursorRef(columns=("gone",)))
    assert (found.quality, found.evidence_quality) == (NONE, 20)
    assert classify(table(), CursorRef(columns=())).quality is NONE


def test_a_view_is_judged_by_what_explain_says_about_its_index() -> None:
    here = table(indexes=(), index_for_range={"updated_at": True})
    assert classify(here, CursorRef(columns=("updated_at",))).quality is TIME


def test_every_verdict_cites_its_facts() -> None:
    found = classify(table(), CursorRef(columns=("id",)))
    assert {one.signal for one in found.evidence} == {"id.type", "id.leads_index", "id.unique", "id.nullable", "id.generated"}
