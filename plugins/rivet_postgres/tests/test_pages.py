"""Pages inside a unit: short statements, exact whatever moves meanwhile, and smaller after a conflict."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivet_core.errors import SourceError
from rivet_core.facts import Mode, Tuning, Unit, UnitKind
from rivet_core.sql import pages

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)
SMALL = Tuning(page_seconds=0.0001, pause_share=0.0, statement_timeout_seconds=60, lock_timeout_seconds=5)
"""Pages of the fewest rows there can be, or nearly."""

KEYS = {
    "integer": ("id int PRIMARY KEY", "({g} * 7)", "id"),
    "bigint down to its end": ("id bigint PRIMARY KEY", "(9223372036854775807 - {g})", "id"),
    "composite": ("a smallint, id int, PRIMARY KEY (a, id)", "({g} % 3)::smallint, {g}", "a, id"),
    "text": ("id text PRIMARY KEY", "(chr(65 + {g} % 50) || {g})", "id"),
    "padded": ("id char(12) PRIMARY KEY", "('k' || {g})", "id"),
    "uuid": ("id uuid PRIMARY KEY", "md5({g}::text)::uuid", "id"),
    "numeric": ("id numeric PRIMARY KEY", "({g} * 1.25)", "id"),
    "time": ("id timestamptz PRIMARY KEY", "(timestamptz '2024-01-01' + {g} * interval '1.5 s')", "id"),
    "float": ("id float8 PRIMARY KEY", "({g} * 0.1)", "id"),
    "hidden": ("id date PRIMARY KEY", "(date '1990-01-01' + {g}::int)", "id"),
}


def fill(source, definition, values, rows):
    source.execute(f"CREATE TABLE t({definition}, v text)")
    source.execute(f"INSERT INTO t SELECT {values.format(g='g')}, 'v' || g FROM generate_series(1, {rows}) g")
    source.execute("ANALYZE t")


def reads(log):
    return [sql for sql in log.statements() if sql.startswith("COPY") and "_timeout" not in sql and "\nLIMIT 1)" not in sql]


@pytest.mark.parametrize("kind", KEYS)
def test_pages_along_every_kind_of_key_are_the_table_once(source, kind):
    definition, values, key = KEYS[kind]
    fill(source, definition, values, 1000)
    columns = ("v",) if kind == "hidden" else ()
    log = source.database.log.mark()
    table = source.full("t", tuning=SMALL, columns=columns)
    assert table.column_names == (["v"] if columns else [*key.split(", "), "v"])
    assert sorted(table["v"].to_pylist()) == sorted(f"v{g}" for g in range(1, 1001))
    assert len(reads(log)) > 5
    assert all("LIMIT" in sql for sql in reads(log))


def test_values_that_no_output_type_keeps_can_still_be_keys(source):
    source.execute("CREATE TABLE t(id timestamptz PRIMARY KEY, v int)")
    source.execute("INSERT INTO t SELECT timestamptz '2024-01-01' + g * interval '1 s', g FROM generate_series(1, 500) g")
    source.execute("INSERT INTO t VALUES ('-infinity', 0), ('infinity', 501)")
    table = source.full("t", tuning=SMALL, out_of_range="null_counted")
    assert sorted(table["v"].to_pylist()) == list(range(502))
    assert table["id"].null_count == 2


@pytest.mark.parametrize(
    "definition",
    [
        "id int",
        "id int UNIQUE",
        "id int NOT NULL UNIQUE",
        "id int PRIMARY KEY DEFERRABLE",
        "id int NOT NULL, EXCLUDE USING btree (id WITH =)",
        "id interval PRIMARY KEY",
        "id boolean PRIMARY KEY",
    ],
)
def test_without_a_primary_key_it_is_one_statement(source, definition):
    source.execute(f"CREATE TABLE t({definition})")
    log = source.database.log.mark()
    assert source.full("t", tuning=SMALL).num_rows == 0
    assert [sql for sql in reads(log) if "LIMIT" in sql] == []


def test_views_and_queries_and_snapshots_are_one_statement(source):
    fill(source, "id int PRIMARY KEY", "{g}", 500)
    source.execute("CREATE VIEW w AS SELECT * FROM t")
    for keys in ({"table": "w"}, {"query": "SELECT * FROM t"}, {"table": "t", "snapshot": "consistent"}):
        log = source.database.log.mark()
        assert source.full(tuning=SMALL, **keys).num_rows == 500
        # A snapshot's transaction goes on: an empty statement proves the end of the rows.
        assert len([sql for sql in reads(log) if "COPY (SELECT 1)" not in sql]) == 1


def test_each_page_is_a_transaction_of_its_own_off_the_index(source):
    fill(source, "id int PRIMARY KEY", "{g}", 1000)
    log = source.database.log.mark()
    source.full("t", tuning=SMALL)
    sent = log.statements()
    assert sum(sql == "COMMIT" for sql in sent) == len(reads(log)) > 5
    page = next(sql for sql in reads(log) if ">" in sql)
    select = page[page.index("SELECT") : page.index(") TO STDOUT")]
    plan = source.execute(f"SET enable_seqscan = off; SET enable_sort = off; EXPLAIN {select}")
    assert "Index Scan using t_pkey" in " ".join(line for (line,) in plan)
    assert "Sort" not in " ".join(line for (line,) in plan)


def test_a_page_grows_towards_its_seconds_and_an_overrun_is_cut(source):
    source.execute(
        "CREATE TABLE t(id int PRIMARY KEY, v text); INSERT INTO t SELECT g, repeat('x', 2000) FROM generate_series(1, 5000) g"
    )
    tuning = Tuning(page_seconds=0.02, pause_share=0, batch_bytes=1 << 18)
    stream = source.session.read(source.spec("t", tuning=tuning), WHOLE)
    rows = 0
    for batch in stream:
        rows += batch.num_rows
        time.sleep(0.01)  # a consumer that is slower than the server
    assert rows == 5000


def test_an_incremental_read_along_the_key_moves_its_cursor_over_pages(source):
    fill(source, "id int PRIMARY KEY", "{g}", 1000)
    table, marks = source.incremental("t", "id", tuning=SMALL)
    assert table["id"].to_pylist() == list(range(1, 1001))
    assert marks[0].value == "1000"
    source.execute("INSERT INTO t SELECT g, 'v' || g FROM generate_series(1001, 1500) g")
    table, marks = source.incremental("t", "id", committed=marks, tuning=SMALL)
    assert table["id"].to_pylist() == list(range(1001, 1501))
    assert marks[0].value == "1500"
    table, marks = source.incremental("t", "id", committed=marks, tuning=SMALL)
    assert (table.num_rows, marks) == (0, None)


def test_a_cursor_that_updates_move_is_read_in_one_statement(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, at timestamptz NOT NULL)")
    source.execute("INSERT INTO t SELECT g, timestamptz '2024-01-01' + g * interval '1 s' FROM generate_series(1, 500) g")
    log = source.database.log.mark()
    assert source.incremental("t", "at", tuning=SMALL)[0].num_rows == 500
    assert len(reads(log)) == 1


def test_rows_added_behind_the_end_do_not_keep_a_read_going(source):
    fill(source, "id int PRIMARY KEY", "{g}", 1000)
    stream = source.session.read(source.spec("t", tuning=SMALL), WHOLE)
    seen, last = [], 1000
    for batch in stream:
        seen += batch.column(0).to_pylist()
        source.execute(f"INSERT INTO t SELECT g, 'new' FROM generate_series({last + 1}, {last + 500}) g")
        last += 500
        assert len(seen) < 3000
    assert set(range(1, 1001)) <= set(seen)
    assert len(seen) == len(set(seen))


def test_a_lock_makes_pages_smaller_and_the_read_goes_on(source, monkeypatch):
    monkeypatch.setattr(pages, "FIRST_ROWS_PER_SECOND", 1000)
    fill(source, "id int PRIMARY KEY", "{g}", 5000)
    tuning = Tuning(page_seconds=0.5, pause_share=0, lock_timeout_seconds=0.2)
    stream = source.session.read(source.spec("t", tuning=tuning), WHOLE)
    batches = iter(stream)
    seen = next(batches).column(0).to_pylist()
    with source.database.connect() as blocker:
        blocker.autocommit = False
        # The page that runs keeps its lock; the next one has to wait.
        locking = threading.Thread(target=lambda: blocker.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE"))
        locking.start()
        time.sleep(0.1)
        threading.Timer(0.4, blocker.rollback).start()
        for batch in batches:
            seen += batch.column(0).to_pylist()
        locking.join()
    assert seen == list(range(1, 5001))
    assert stream.notes == () or "lock" in stream.notes[0]


def test_a_lock_that_stays_fails_the_page_and_not_the_unit_again(source, monkeypatch):
    monkeypatch.setattr(pages, "FIRST_ROWS_PER_SECOND", 1000)
    fill(source, "id int PRIMARY KEY", "{g}", 5000)
    stream = source.session.read(source.spec("t", tuning=Tuning(pause_share=0, lock_timeout_seconds=0.1)), WHOLE)
    batches = iter(stream)
    next(batches)
    with source.database.connect() as blocker:
        blocker.autocommit = False
        locking = threading.Thread(target=lambda: blocker.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE"))
        locking.start()
        with pytest.raises(SourceError) as caught:
            list(batches)
        locking.join()
        blocker.rollback()
    assert (caught.value.transient, caught.value.error_class) == (False, "conflict")
    assert source.full("t").num_rows == 5000


class Writer(threading.Thread):
    """Updates, deletes and inserts rows of `t` until it is stopped; knows which rows it deleted."""

    def __init__(self, source, key, values, rows, seed):
        super().__init__(daemon=True)
        self._source, self._key, self._values, self._rows, self._seed = source, key, values, rows, seed
        self.deleted: set[int] = set()
        self.over = threading.Event()
        self.error: Exception | None = None

    def run(self):
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def _write(self):
        with self._source.database.connect() as connection:
            number = self._rows
            for step in range(100_000):
                if self.over.is_set():
                    return
                place = (step * 7919 + self._seed) % self._rows + 1
                connection.execute("UPDATE t SET v = v, pad = pad || 'x' WHERE mod(n, 50) = %s", [place % 50])
                if step % 3 == 0:
                    connection.execute("DELETE FROM t WHERE n = %s", [place])
                    self.deleted.add(place)
                number += 1
                row = f"{self._values.format(g='g')}, 'v' || g, '', g"
                connection.execute(f"INSERT INTO t SELECT {row} FROM generate_series({number}, {number}) g")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([kind for kind in KEYS if kind not in ("bigint down to its end",)]),
    rows=st.integers(0, 1000),
    chunks=st.integers(1, 4),
    workers=st.sampled_from([1, 4]),
    seed=st.integers(0, 1000),
)
def test_each_row_there_at_the_start_and_not_deleted_appears_once(source, kind, rows, chunks, workers, seed):
    definition, values, _ = KEYS[kind]
    source.execute("DROP TABLE IF EXISTS t")
    source.execute(f"CREATE TABLE t({definition}, v text, pad text, n int)")
    source.execute(f"INSERT INTO t SELECT {values.format(g='g')}, 'v' || g, '', g FROM generate_series(1, {rows}) g; ANALYZE t")
    source.reopen()
    spec = source.spec("t", tuning=SMALL, mode=Mode.CHUNKED, chunk_count=chunks)
    units = list(source.session.units(spec, ()))
    writer = Writer(source, definition, values, max(rows, 1), seed)
    writer.start()
    seen: list[str] = []

    def work():
        while units:
            try:
                unit = units.pop()
            except IndexError:
                return
            seen.extend(source.read_unit(spec, unit)[0]["v"].to_pylist())

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.over.set()
    writer.join()
    assert writer.error is None
    assert len(seen) == len(set(seen))
    assert {f"v{n}" for n in range(1, rows + 1) if n not in writer.deleted} <= set(seen)


def test_the_schema_is_that_of_one_statement(source):
    source.execute("CREATE TABLE t(id numeric(10, 2) PRIMARY KEY, u uuid, j jsonb, a int[], x text)")
    source.execute("INSERT INTO t SELECT g, gen_random_uuid(), '{}', ARRAY[g], 'x' FROM generate_series(1, 400) g")
    paged, single = source.full("t", tuning=SMALL), source.full("t", snapshot="consistent")
    assert paged.schema.equals(single.schema, check_metadata=True)
    assert paged.sort_by("x").num_rows == single.num_rows == 400
    assert pa.types.is_decimal(paged.schema.field("id").type)


def test_a_key_that_may_not_be_read_is_not_paged_along(source, database):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, v text, u int NOT NULL UNIQUE); INSERT INTO t VALUES (1, 'a', 7)")
    role = f"only_v_of_{database.name}"
    source.execute(f'CREATE ROLE "{role}"; GRANT "{role}" TO {database.user}', admin=True)
    source.execute(f'GRANT USAGE ON SCHEMA public TO "{role}"; GRANT SELECT (v) ON t TO "{role}"')
    try:
        source.execute(f"ALTER ROLE {database.user} IN DATABASE \"{database.name}\" SET role = '{role}'", admin=True)
        source.reopen()
        assert source.full("t", columns=("v",)).to_pylist() == [{"v": "a"}]
    finally:
        source.execute(f'ALTER ROLE {database.user} IN DATABASE "{database.name}" RESET role', admin=True)
        source.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"', admin=True)
