"""Checks of a source: what it says about a table is true, and every row arrives exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rivet_core.api import DigestingSession
from rivet_core.errors import RivetError
from rivet_core.facts import Fidelity, InspectItem, Mark, Mode, ReadSpec, RelationKind, Tuning, TypeKind, Unit
from rivet_core.testing.conformance.base import Conformance, fault_of
from rivet_core.testing.conformance.references import build_options, load
from rivet_core.testing.conformance.table import COLUMNS, COUNT, Row, rows

if TYPE_CHECKING:
    import pyarrow as pa

    from rivet_core.api import SourceSession, SourceSpec

BATCH_ROWS = 90
LOOKBACK = timedelta(seconds=700, microseconds=100)
"""A hundred steps of the table's times, to the microsecond."""


class SourceConformance(Conformance):
    """Set `name`, and override `options`, `table`, `insert` and `refused`."""

    CHECKS: ClassVar[int] = 18
    HOOK: ClassVar[str] = "rivet_sources"
    secret: ClassVar[str] = ""
    """A piece of text of `refused` that must never be shown: the password. Empty for a source that has none."""

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """What stands under the source in a config, `type` left out. It may make the database."""
        raise NotImplementedError("override the fixture `options`")

    @pytest.fixture
    def table(self) -> str:
        """Create the table of `conformance.table` with the rows of `rows()`; return its name as a config would write it."""
        raise NotImplementedError("override the fixture `table`")

    @pytest.fixture
    def insert(self) -> Callable[[Sequence[Row]], None]:
        """Return a function that adds rows to the table."""
        raise NotImplementedError("override the fixture `insert`")

    @pytest.fixture
    def refused(self) -> Mapping[str, Any]:
        """Options that cannot be connected with: a wrong password that contains `secret`, or a file that is not there."""
        raise NotImplementedError("override the fixture `refused`")

    @pytest.fixture
    def session(self, record: SourceSpec, options: Mapping[str, Any], table: str, tmp_path: Path) -> Iterator[SourceSession]:
        """The source, opened as core opens it, once its table is there."""
        opened: SourceSession = load(record.connect)(build_options(record.options, options, tmp_path))
        yield opened
        opened.close()

    @pytest.fixture
    def spec(self, table: str) -> ReadSpec:
        """A full read of the table, in small batches and without pauses."""
        return ReadSpec(export="conformance", table=table, tuning=Tuning(batch_rows=BATCH_ROWS, pause_share=0.0))

    def test_it_has_what_sessions_have(self, session: SourceSession) -> None:
        """Every method of `SourceSession` is there."""
        wanted = ("limit", "inspect", "probe", "units", "read", "cancel", "close")
        missing = [name for name in wanted if not callable(getattr(session, name, None))]
        assert not missing, f"the session has no {', '.join(missing)}"

    def test_it_describes_every_column(self, session: SourceSession, table: str) -> None:
        """Names in order, kinds, nullability, the primary key."""
        facts = session.inspect([InspectItem(name=table, table=table)]).tables[table]
        assert not facts.problem, facts.problem
        assert tuple(column.name for column in facts.columns) == COLUMNS
        kinds = {column.name: column.kind for column in facts.columns}
        assert kinds["id"] is TypeKind.INTEGER
        assert kinds["label"] is TypeKind.TEXT
        assert kinds["changed_at"] in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
        assert [column.nullable for column in facts.columns] == [False, True, False]
        assert facts.primary_key == ("id",)
        assert facts.is_unique("id")
        assert all(column.fidelity in (Fidelity.EXACT, Fidelity.TEXT) for column in facts.columns)

    def test_inspect_asks_a_constant_number_of_questions(self, session: SourceSession, table: str) -> None:
        """Statements do not grow with the number of tables."""
        few = session.inspect([InspectItem(name=table, table=table)]).statements
        names = [f"not_there_{number}" for number in range(25)]
        many = session.inspect([InspectItem(name=name, table=name) for name in (table, *names)]).statements
        assert many <= few + 1, f"{few} statements for one table, {many} for {len(names) + 1}"

    def test_a_missing_table_is_one_marked_row(self, session: SourceSession, table: str) -> None:
        """It does not spoil the others."""
        names = (table, "not_there_at_all")
        facts = session.inspect([InspectItem(name=name, table=name) for name in names])
        assert set(facts.tables) == set(names)
        assert facts.tables["not_there_at_all"].kind is RelationKind.MISSING
        assert facts.tables["not_there_at_all"].problem
        assert not facts.tables[table].problem

    def test_probe_says_what_server_it_is(self, session: SourceSession) -> None:
        """Engine, address and moment."""
        server = session.probe()
        assert server.engine
        assert server.address, "the address names the implicit source group"
        assert server.observed_at is not None
        assert server.observed_at.tzinfo is not None

    def test_a_full_read_brings_every_value(self, session: SourceSession, spec: ReadSpec) -> None:
        """Each row once, text and microseconds untouched."""
        assert _read(session, spec).found == sorted(rows(), key=lambda row: row.id)

    def test_chunks_cover_each_row_exactly_once(self, session: SourceSession, spec: ReadSpec) -> None:
        """Units are numbered from 0, tile the key, and hold every row once."""
        chunked = replace(spec, mode=Mode.CHUNKED, chunk_column="id", chunk_size=130)
        units = session.units(chunked, ())
        assert [unit.index for unit in units] == list(range(len(units)))
        assert 4 <= len(units) <= 40, f"{len(units)} units for {COUNT} rows in chunks of 130"
        assert [Unit.from_json(unit.to_json()) for unit in units] == list(units), "a unit does not survive the plan file"
        assert _read(session, chunked, units).found == sorted(rows(), key=lambda row: row.id)

    def test_since_is_exact(self, session: SourceSession, spec: ReadSpec, insert: Callable[[Sequence[Row]], None]) -> None:
        """After a read up to a mark, the next one brings what came later, ties included, and nothing else."""
        incremental = replace(spec, mode=Mode.INCREMENTAL, cursor=("changed_at",))
        first = _read(session, incremental)
        assert first.found == sorted(rows(), key=lambda row: row.id)
        assert first.marks, "a read that brought rows returned no marks"
        assert [Mark.from_json({key: str(value) for key, value in mark.to_json().items()}) for mark in first.marks] == list(
            first.marks
        )
        assert _read(session, incremental, committed=first.marks).found == []
        later = rows(COUNT + 1, 50)  # the first of them shares its time with the last row read
        insert(later)
        second = _read(session, incremental, committed=first.marks)
        assert second.found == sorted(later, key=lambda row: row.id)
        assert second.marks != first.marks

    def test_only_the_asked_columns_arrive(self, session: SourceSession, spec: ReadSpec) -> None:
        """`columns` holds, in its order: what is left out may be a secret. A cursor outside of them moves all the same."""
        asked = ("label", "id")
        narrow = replace(spec, columns=asked)
        for wanted in (narrow, replace(narrow, mode=Mode.INCREMENTAL, cursor=("changed_at",))):
            found: list[tuple[int, str | None]] = []
            marks = None
            for unit in session.units(wanted, ()):
                stream = session.read(wanted, unit)
                try:
                    assert tuple(stream.schema.names) == asked, f"asked for {asked}, {tuple(stream.schema.names)} came"
                    found += [(values["id"], values["label"]) for batch in stream for values in batch.to_pylist()]
                    marks = stream.marks or marks
                finally:
                    stream.close()
            assert sorted(found, key=lambda pair: pair[0]) == [(row.id, row.label) for row in rows()]
            assert marks or wanted.mode is not Mode.INCREMENTAL, "a read that brought rows returned no marks"

    def test_a_lookback_reads_the_last_stretch_again(self, session: SourceSession, spec: ReadSpec) -> None:
        """All rows of it, its first moment included, rather more than less; or `units` refuses. Ignored, late rows are lost."""
        incremental = replace(spec, mode=Mode.INCREMENTAL, cursor=("changed_at",))
        marks = _read(session, incremental).marks
        assert marks, "a read that brought rows returned no marks"
        since = rows()[-1].changed_at - LOOKBACK
        try:
            found = _read(session, replace(incremental, lookback_seconds=LOOKBACK.total_seconds()), committed=marks).found
        except RivetError:
            return
        assert found, "nothing was read again"
        assert found == [row for row in rows() if row.id >= found[0].id], "a row of the stretch is missing, or came twice"
        assert found[0].changed_at <= since, f"asked for what is since {since}, the first row is of {found[0].changed_at}"

    def test_nothing_new_moves_no_cursor(self, session: SourceSession, spec: ReadSpec) -> None:
        """An empty read has no marks."""
        incremental = replace(spec, mode=Mode.INCREMENTAL, cursor=("changed_at",))
        first = _read(session, incremental)
        assert not _read(session, incremental, committed=first.marks).marks

    def test_all_units_have_one_schema(self, session: SourceSession, spec: ReadSpec) -> None:
        """The schema known before the first row is that of every batch of every unit."""
        chunked = replace(spec, mode=Mode.CHUNKED, chunk_column="id", chunk_size=300)
        schemas = {str(session_schema) for session_schema in _read(session, chunked).schemas}
        assert len(schemas) == 1, f"several schemas: {schemas}"

    def test_batches_are_bounded(self, session: SourceSession, spec: ReadSpec) -> None:
        """`batch_rows` holds."""
        sizes = _read(session, spec).batch_rows
        assert max(sizes) <= BATCH_ROWS, f"a batch of {max(sizes)} rows where {BATCH_ROWS} were asked for"

    def test_a_digest_is_that_of_what_is_read(self, session: SourceSession, spec: ReadSpec) -> None:
        """A source with `digest()` answers for each unit what its rows add up to; one without is `unknown` to a reconcile."""
        from rivet_core.sql.canonical import MODULUS, digest_of

        if not isinstance(session, DigestingSession):
            return
        chunked = replace(spec, mode=Mode.CHUNKED, chunk_column="id", chunk_size=300)
        found = []
        for unit in session.units(chunked, ()):
            found.append(session.digest(chunked, unit, COLUMNS))
            columns = [name for name in COLUMNS if name not in found[-1].left_out]
            assert {"id", "label"} <= {*columns}, "numbers and text have a canonical text"
            stream = session.read(chunked, unit)
            try:
                read = digest_of(stream, columns)
            finally:
                stream.close()
            assert (found[-1].rows, found[-1].total) == (read.rows, read.total), f"unit {unit.index} adds up to something else"
        whole = session.digest(spec, session.units(spec, ())[0], COLUMNS)
        assert (whole.rows, whole.total) == (COUNT, sum(digest.total for digest in found) % MODULUS)

    def test_threads_read_at_once(self, session: SourceSession, spec: ReadSpec) -> None:
        """Several units at a time, with fewer connections than threads."""
        session.limit(2)
        chunked = replace(spec, mode=Mode.CHUNKED, chunk_column="id", chunk_size=130)
        units = session.units(chunked, ())
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda unit: _read(session, chunked, (unit,)).found, units))
        assert sorted((row for part in parts for row in part), key=lambda row: row.id) == list(rows())

    def test_a_stream_can_be_left_early_and_closed_twice(self, session: SourceSession, spec: ReadSpec) -> None:
        """The connection comes back: the session reads on, with one connection."""
        session.limit(1)
        for _ in range(3):
            stream = session.read(spec, session.units(spec, ())[0])
            next(iter(stream))
            stream.close()
            stream.close()
        assert len(_read(session, spec).found) == COUNT
        session.close()
        session.close()

    def test_a_refused_connection_is_explained_and_shows_no_secret(
        self, record: SourceSpec, refused: Mapping[str, Any], tmp_path: Path
    ) -> None:
        """A `RivetError` with a hint; the password is in none of its texts."""
        with pytest.raises(RivetError) as caught:
            load(record.connect)(build_options(record.options, refused, tmp_path)).probe()
        assert caught.value.message
        assert caught.value.hint, "an error needs a hint: what to do about it"
        if self.secret:
            assert self.secret in str(refused), "`refused` does not hold `secret`, so the check would prove nothing"
            assert self.secret not in fault_of(caught.value), "the password is shown"


class _Read:
    """What the units of one read brought."""

    def __init__(self) -> None:
        self.found: list[Row] = []
        self.schemas: list[pa.Schema] = []
        self.batch_rows: list[int] = [0]
        self.marks: tuple[Mark, ...] = ()


def _read(
    session: SourceSession, spec: ReadSpec, units: Sequence[Unit] | None = None, committed: Sequence[Mark] | None = ()
) -> _Read:
    result = _Read()
    for unit in session.units(spec, committed or ()) if units is None else units:
        stream = session.read(spec, unit)
        try:
            result.schemas.append(stream.schema)
            for batch in stream:
                assert batch.schema.equals(stream.schema), f"a batch has {batch.schema}, the stream says {stream.schema}"
                result.batch_rows.append(batch.num_rows)
                result.found += [_row(values) for values in batch.to_pylist()]
            result.marks = stream.marks or result.marks
        finally:
            stream.close()
    result.found.sort(key=lambda row: row.id)
    return result


def _row(values: Mapping[str, Any]) -> Row:
    moment = values["changed_at"]
    if isinstance(moment, str):  # a source without a type for moments of time delivers its text
        moment = datetime.fromisoformat(moment)
    return Row(id=values["id"], label=values["label"], changed_at=moment.replace(tzinfo=None))
