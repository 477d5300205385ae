"""What would be a better way to read an export, and why. Advice from metadata: it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from rivet_core.facts import CursorQuality, CursorVerdict, Evidence, ExportFacts, Mode, RelationKind, Role
from rivet_core.planning.cursors import tracks_updates
from rivet_core.planning.curve import GIB, MIB, curve
from rivet_core.planning.ranges import leads, range_column
from rivet_core.planning.wording import size_text
from rivet_core.planning.work import Work, select_work

WHOLE_LIMIT = 64 * MIB
"""A table up to this size is read whole without second thoughts."""
SPLIT_LIMIT = GIB
"""From this size on one long read is worth splitting."""
HEAVY_POINTS = 50


@dataclass(frozen=True, slots=True)
class Suggestion:
    """How to read: mode, cursor column, chunk column, tuning profile, and why. `better` says it differs from the config."""

    mode: str
    cursor: str | None
    chunk_by: str | None
    profile: str
    why: str
    better: bool
    evidence: tuple[Evidence, ...] = ()

    def as_dict(self) -> dict[str, str | None]:
        """Return the `suggestion` object of the plan."""
        return {"mode": self.mode, "cursor": self.cursor, "chunk_by": self.chunk_by, "profile": self.profile, "why": self.why}


_last: tuple[ExportFacts, Suggestion] | None = None


def suggest(facts: ExportFacts) -> Suggestion:
    """Return the advice for one export. An unknown size counts as large. The newest answer is kept, as for the work."""
    global _last
    kept = _last
    if kept is not None and kept[0] is facts:
        return kept[1]
    advice = _suggest(facts)
    _last = (facts, advice)
    return advice


def _suggest(facts: ExportFacts) -> Suggestion:
    work = select_work(facts)
    spec = facts.spec
    mode, cursor, chunk_by, why, extra = _way(facts, work)
    profile, profile_why = _profile(facts, work)
    same_way = mode is spec.mode and (cursor == spec.cursor_column or mode is not Mode.INCREMENTAL)
    same_way = same_way and (chunk_by == range_column(facts) or mode is not Mode.CHUNKED)
    better = not same_way or profile != spec.tuning.profile
    texts = [text for text in (why, profile_why) if text]
    signals = tuple(evidence for evidence in (work.table_bytes, work.table_rows) if evidence is not None)
    return Suggestion(
        mode=str(mode),
        cursor=cursor,
        chunk_by=chunk_by,
        profile=profile,
        why=" ".join(texts),
        better=better,
        evidence=(*signals, *extra),
    )


_Way = tuple[Mode, "str | None", "str | None", str, tuple[Evidence, ...]]


def _way(facts: ExportFacts, work: Work) -> _Way:
    spec = facts.spec
    kept: _Way = (spec.mode, spec.cursor_column, spec.chunk_column, "The configured mode fits what is known.", ())
    if facts.table.kind is RelationKind.QUERY or spec.query is not None:
        return (spec.mode, spec.cursor_column, spec.chunk_column, "A query is read as it is written.", ())
    size = table_size(work)
    if spec.mode is Mode.FULL:
        return _for_full(facts, size) if size is None or size >= SPLIT_LIMIT else kept
    if spec.mode is Mode.CHUNKED:
        return _for_chunked(facts, size, kept)
    if spec.mode is Mode.INCREMENTAL:
        return _for_incremental(facts, size, kept)
    return kept


def table_size(work: Work) -> int | None:
    """Return the bytes of the whole table, from bytes or rows, `None` when neither is known."""
    if work.size is not None:
        return work.size
    return None if work.rows is None else work.rows * work.width


def _size_words(size: int | None) -> str:
    return "The size is unknown" if size is None else f"The table holds {size_text(size)}"


def _for_full(facts: ExportFacts, size: int | None) -> _Way:
    cursor = _progress(facts)
    words = _size_words(size)
    if cursor is not None:
        column = cursor.columns[0]
        return (
            Mode.INCREMENTAL,
            column,
            None,
            f"{words}; {column} can mark progress, so only new rows need reading.",
            cursor.evidence,
        )
    key = _chunk_key(facts)
    if key is not None:
        return (Mode.CHUNKED, None, key, f"{words}; units by {key} keep statements short and can resume.", ())
    return (Mode.FULL, None, None, f"{words}, and no column marks progress or splits it; an indexed updated_at would help.", ())


def _for_chunked(facts: ExportFacts, size: int | None, kept: _Way) -> _Way:
    if size is not None and size < WHOLE_LIMIT:
        return (Mode.FULL, None, None, f"{_size_words(size)}: one short read, no units needed.", ())
    column, key = range_column(facts), _chunk_key(facts)
    if column is not None and not leads(facts.table, column) and key is not None:
        return (Mode.CHUNKED, None, key, f"{column} leads no index; {key} does.", ())
    return (Mode.CHUNKED, None, column, kept[3], ())


def _for_incremental(facts: ExportFacts, size: int | None, kept: _Way) -> _Way:
    verdict = facts.cursor
    weak = verdict is None or verdict.quality in (CursorQuality.FALLBACK_ONLY, CursorQuality.NONE)
    if not weak:
        return kept
    better = _progress(facts)
    declared = facts.spec.cursor_column
    if better is not None and better.columns[0] != declared and not _loses_updates(facts, better.columns[0]):
        column = better.columns[0]
        return (Mode.INCREMENTAL, column, None, f"{column} is a better cursor than {declared}: {better.why}", better.evidence)
    if size is not None and size < WHOLE_LIMIT:
        return (Mode.FULL, None, None, f"{_size_words(size)}: a whole read costs less than a weak cursor.", ())
    return kept


def _loses_updates(facts: ExportFacts, column: str) -> bool:
    """Whether going from the declared cursor to `column` would stop seeing updates: counters since a restart prove nothing."""
    declared = facts.table.column(facts.spec.cursor_column or "")
    candidate = facts.table.column(column)
    if declared is None or candidate is None:
        return False
    return tracks_updates(declared.name, declared.default) and not tracks_updates(candidate.name, candidate.default)


def _progress(facts: ExportFacts) -> CursorVerdict | None:
    """The candidate that would see every change: a strong key only for tables that are never updated."""
    updated = bool(facts.table.updates)
    if facts.table.deletes:
        return None
    for verdict in facts.candidates:
        column = facts.table.column(verdict.columns[0]) if verdict.columns else None
        if column is None:
            continue
        moves = tracks_updates(column.name, column.default)
        if verdict.quality is CursorQuality.STRONG_MONOTONIC and not updated and facts.table.updates is not None:
            return verdict
        if verdict.quality is CursorQuality.WEAK_TIME and moves:
            return verdict
    return None


def _chunk_key(facts: ExportFacts) -> str | None:
    """The column to cut units by: the first of the primary key, else the lead of a unique index."""
    table = facts.table
    if table.primary_key and leads(table, table.primary_key[0]):
        return table.primary_key[0]
    unique = (
        index.columns[0] for index in table.indexes if index.unique and index.usable and index.columns and index.columns[0]
    )
    return next(unique, None)


def _profile(facts: ExportFacts, work: Work) -> tuple[str, str]:
    """`safe` for heavy reads on a primary or where cleanup or replay already waits; else what is configured."""
    server = facts.server
    heavy = curve(work.p90_bytes) >= HEAVY_POINTS
    if heavy and server.role is Role.PRIMARY:
        return "safe", "It may be heavy, and the source is a primary: profile safe presses less."
    return facts.spec.tuning.profile, ""
