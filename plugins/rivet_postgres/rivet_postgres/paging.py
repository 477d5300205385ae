"""Where a unit's pages are: the key they follow, how far they came, how large the next one is, and what a conflict changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rivet_core.errors import RivetError, SourceError
from rivet_core.facts import Mark, ReadSpec, Tuning, Unit
from rivet_core.sql.marks import mark_text
from rivet_core.sql.pages import PageTuner
from rivet_core.sql.select import KeyTypes, SelectItem, select_page
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.relation import Relation, Selection, server_text

CONFLICTS_IN_A_ROW = 12
"""Tries of one page without a row; by then it has `pages.FEWEST_ROWS` or so, and smaller ones would not help."""
LOCK_TRIES = 3
"""Tries of one page that waits for a lock: each has waited for the whole lock timeout."""
LOCKED, REPLAYED = "55P03", "40001"
REPLAY = "the standby cancelled pages to replay changes"
SETTINGS = "max_standby_streaming_delay and hot_standby_feedback on the standby decide how long a read may last"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSql:
    """The statements of a paged unit. `page(after, upto, limit)` is one page.

    `end` asks for the text of the last key that is there, empty when the unit has an upper bound: rows that are added
    behind it while the unit is read belong to the next run, so that a busy table does not keep a read going.
    `key` holds name, type and place of the key's columns in a batch.
    """

    page: Callable[[Sequence[Mark], Sequence[Mark], int], str]
    end: str
    key: tuple[tuple[str, str, int], ...]


def page_sql(relation: Relation, spec: ReadSpec, unit: Unit, selection: Selection, keys: KeyTypes) -> PageSql:
    """Return the statements that read a unit of a table in pages along `selection.key`."""
    names = [name for name, _, _ in selection.key]

    def page(after: Sequence[Mark], upto: Sequence[Mark], limit: int) -> str:
        return select_page(
            POSTGRES,
            source=relation.source,
            items=selection.items,
            spec=spec,
            unit=unit,
            keys=keys,
            key=names,
            after=after,
            upto=upto,
            limit=limit,
        )

    end = select_page(
        POSTGRES,
        source=relation.source,
        items=[SelectItem(name=name, verbatim=server_text(name)) for name in names],
        spec=spec,
        unit=unit,
        keys=keys,
        key=names,
        limit=1,
        descending=True,
    )
    return PageSql(page=page, end="" if unit.upper else end, key=selection.key)


class Pages:
    """The pages of one unit, while it is read."""

    def __init__(self, sql: PageSql, tuning: Tuning) -> None:
        self._sql = sql
        self._tuner = PageTuner(tuning)
        self._after: tuple[Mark, ...] = ()
        self._upto: tuple[Mark, ...] = ()
        self._bounded = not sql.end
        self._size = 0
        self._rows = 0
        self._fruitless = 0
        self.conflicts: dict[str, int] = {}
        """Conflicts met, by SQLSTATE."""

    @property
    def end_sql(self) -> str:
        """The statement that is to run before the next page, empty for none: the first page does without."""
        return "" if self._bounded or not self._after else self._sql.end

    def bound(self, row: Sequence[Any] | None) -> None:
        """Take the answer of `end_sql`."""
        self._bounded = True
        if row is not None:
            self._upto = tuple(
                Mark(column=name, type=kind, value=str(value))
                for (name, kind, _), value in zip(self._sql.key, row, strict=True)
            )

    def next_sql(self) -> str:
        """Return the statement of the next page."""
        self._size, self._rows = self._tuner.rows, 0
        return self._sql.page(self._after, self._upto, self._size)

    def passed(self, batch: pa.RecordBatch, arrays: Sequence[pa.Array]) -> None:
        """Note the last row of a batch that is delivered. Raises `SourceError` for a key without a value."""
        marks = []
        for name, kind, at in self._sql.key:
            text = mark_text(arrays[at][batch.num_rows - 1])
            if text is None:
                raise SourceError(
                    f"the key column {name} holds NULL", hint="plan again: the table was altered", error_class="data"
                )
            marks.append(Mark(column=name, type=kind, value=text))
        self._after = tuple(marks)
        self._rows += batch.num_rows
        self._fruitless = 0

    def overran(self, seconds: float) -> bool:
        """Whether the page that runs is to be cut off behind its last row."""
        return 0 < self._rows < self._size and self._tuner.overran(seconds)

    def ended(self, seconds: float, *, cut: bool = False) -> bool:
        """Note the end of a page; return whether there is another one."""
        full = cut or self._rows >= self._size
        if full:
            self._tuner.took(self._rows, seconds)
        return full

    def again(self, error: RivetError, *, standby: bool = False) -> float | None:
        """Return the seconds to wait before the page is read again from its last row, `None` when the error stands.

        A `standby` that must cancel a backend in the middle of sending rows can only cut it off, without a word.
        """
        if not isinstance(error, SourceError) or not error.transient:
            return None
        cut_off = standby and self.started and error.error_class == "connection"
        if error.error_class != "conflict" and not cut_off:
            return None
        self._fruitless += 1
        tries = LOCK_TRIES if error.sqlstate == LOCKED else CONFLICTS_IN_A_ROW
        if self._fruitless >= tries:
            return None
        state = REPLAYED if cut_off else error.sqlstate
        self.conflicts[state] = self.conflicts.get(state, 0) + 1
        self._tuner.conflicted()
        return float(min(1.0, 0.02 * 2 ** (self._fruitless - 1)))

    @property
    def started(self) -> bool:
        """Whether a row was delivered: then only this page may be tried again, not the unit."""
        return bool(self._after)

    def notes(self) -> tuple[str, ...]:
        """Say what made pages smaller."""
        found = []
        for state, count in sorted(self.conflicts.items()):
            times = "once" if count == 1 else f"{count} times"
            if state == LOCKED:
                found.append(f"a lock was waited for in vain {times}; pages became smaller")
            elif state == REPLAYED:
                found.append(f"{REPLAY}, {times}; they became smaller. {SETTINGS}")
            else:
                found.append(f"pages met a conflict ({state}) {times} and became smaller")
        return tuple(found)
