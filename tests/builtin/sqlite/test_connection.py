"""A source is never written: no byte of it, and no file beside it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from rivet_core.builtin.sqlite.pool import Pool
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import SourceError
from rivet_core.facts import InspectItem, Mode, ReadSpec, Tuning, Unit, UnitKind
from tests.builtin.sqlite.reading import read_unit, rows_of

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)
SPEC = ReadSpec(export="e", table="t")


def use_everything(session: SqliteSession) -> int:
    session.inspect(
        [InspectItem(name="t", table="t"), InspectItem(name="q", query="SELECT upper(v) AS u FROM t", columns=("u",))]
    )
    for mode, keys in ((Mode.FULL, {}), (Mode.INCREMENTAL, {"cursor": ("id",)}), (Mode.CHUNKED, {"chunk_size": 100})):
        spec = ReadSpec(export="e", table="t", mode=mode, **keys)
        count = sum(read_unit(session, spec, unit)[0].num_rows for unit in session.units(spec, ()))
    session.close()
    return count


def make(path: Path, *, wal: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"v{i}") for i in range(1000)])
    connection.commit()
    return connection


def fingerprint(directory: Path) -> dict[str, tuple[str, int, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns, path.stat().st_size)
        for path in directory.iterdir()
    }


@pytest.mark.parametrize("wal", [False, True], ids=["rollback journal", "closed wal"])
@pytest.mark.parametrize("read_only", [False, True], ids=["writable directory", "read-only directory"])
def test_reading_changes_no_byte_and_makes_no_file(tmp_path: Path, wal: bool, read_only: bool) -> None:
    path = tmp_path / "odd name?#%41.db"
    make(path, wal=wal).close()
    before = fingerprint(tmp_path)
    if read_only:
        path.chmod(0o444)
        tmp_path.chmod(0o555)
    try:
        assert use_everything(SqliteSession(path)) == 1000
        assert fingerprint(tmp_path) == before
    finally:
        tmp_path.chmod(0o755)


def test_another_user_without_any_write_right_can_read_a_wal_database() -> None:
    place = Path(tempfile.mkdtemp(prefix="rivet-"))
    try:
        make(place / "s.db", wal=True).close()
        place.chmod(0o555)
        code = (
            "import os, sys\nfrom pathlib import Path\nfrom rivet_core.builtin.sqlite.connection import open_connection\n"
            "os.getuid() or os.setuid(65534)\n"
            "assert not os.access(Path(sys.argv[1]).parent, os.W_OK)\n"
            "print(open_connection(Path(sys.argv[1])).execute('SELECT count(*) FROM t').fetchone()[0])"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", code, str(place / "s.db")], env=environment, capture_output=True, text=True, check=False
        )
        assert (ran.stdout.strip(), ran.stderr) == ("1000", "")
        assert [found.name for found in place.iterdir()] == ["s.db"]
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


def test_a_live_wal_database_shows_what_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    writer = make(path, wal=True)
    session = SqliteSession(path)
    writer.execute("INSERT INTO t VALUES (5000, 'new')")
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 1000
    writer.commit()
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 1001
    session.close()
    writer.close()


def test_a_writer_that_comes_in_during_a_read_without_locks_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    make(path, wal=True).close()
    session = SqliteSession(path)
    stream = session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=100)), WHOLE)
    batches = iter(stream)
    next(batches)
    writer = sqlite3.connect(path)
    writer.execute("DELETE FROM t WHERE id > 500")
    writer.commit()
    with pytest.raises(SourceError, match="was written while it was being read") as caught:
        list(batches)
    assert caught.value.transient
    assert stream.marks is None
    # Tried again it goes by the writer's log, like any reader.
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 501
    writer.close()
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 501
    session.close()


def test_pages_that_a_writer_moved_are_no_damage(tmp_path: Path) -> None:
    """Half of the old file and half of the new one look damaged, to SQLite as well as to whoever checks the values."""
    path = tmp_path / "w.db"
    with closing(make(path, wal=True)) as writer:
        writer.execute("UPDATE t SET v = printf('%.*c', 3000, 'x')")
        writer.commit()
    session = SqliteSession(path)
    stream = session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=10)), WHOLE)
    batches = iter(stream)
    next(batches)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("DELETE FROM t")
        writer.execute("VACUUM")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(SourceError, match="was written while it was being read") as caught:
        list(batches)
    assert caught.value.transient
    session.close()


def test_writers_that_come_and_go_cannot_keep_a_reader_out(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    make(path, wal=True).close()
    session = SqliteSession(path)
    spec = ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=100))
    counts, codes = [], []
    for _ in range(3):
        batches = iter(session.read(spec, WHOLE))
        try:
            rows = next(batches).num_rows
            with sqlite3.connect(path) as writer:
                writer.execute("INSERT INTO t (v) VALUES ('more')")
            writer.close()
            counts.append(rows + sum(batch.num_rows for batch in batches))
        except SourceError as error:
            codes.append(error.code)
    assert (codes, counts) == (["source_changed"], [1001, 1002])
    assert session.inspect([InspectItem(name="t", table="t")]).tables["t"].rows[0].value == 1003
    session.close()


def test_a_database_replaced_between_reads_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    make(path, wal=True).close()
    session = SqliteSession(path)
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 1000
    other = make(tmp_path / "o.db", wal=True)
    other.execute("DELETE FROM t WHERE id >= 10")
    other.commit()
    other.close()
    (tmp_path / "o.db").replace(path)
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 10
    session.close()


def test_a_lock_is_waited_for_and_then_named(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    writer = make(path)
    session = SqliteSession(path)
    writer.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()
    with pytest.raises(SourceError, match="is locked by a writer") as caught:
        read_unit(session, ReadSpec(export="e", table="t", tuning=Tuning(lock_timeout_seconds=0.3)), WHOLE)
    assert 0.25 < time.monotonic() - begun < 5
    assert (caught.value.transient, caught.value.error_class) == (True, "conflict")
    writer.rollback()
    assert read_unit(session, SPEC, WHOLE)[0].num_rows == 1000
    session.close()
    writer.close()


def test_a_transaction_that_crashed_is_not_rolled_back_by_a_reader(tmp_path: Path) -> None:
    """A hot journal: the writer died between its journal and its commit."""
    path = tmp_path / "h.db"
    make(path).close()
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA cache_size = 10');"
        "c.execute('UPDATE t SET v = hex(zeroblob(2000))'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    journal = tmp_path / "h.db-journal"
    assert journal.exists()
    before = fingerprint(tmp_path)
    with pytest.raises(SourceError, match="did not finish") as caught:
        SqliteSession(path).probe()
    assert "never writes" in caught.value.hint
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize(
    ("what", "told", "error_class"),
    [
        ("missing", "does not exist", "missing"),
        ("directory", "is a directory", "missing"),
        ("text", "is not an SQLite database", "other"),
    ],
)
def test_what_is_no_database_is_said_and_not_made(tmp_path: Path, what: str, told: str, error_class: str) -> None:
    path = tmp_path / "x.db"
    if what == "directory":
        path.mkdir()
    elif what == "text":
        path.write_text("id,name\n1,a\n" * 100)
    with pytest.raises(SourceError, match=told) as caught:
        SqliteSession(path).probe()
    assert caught.value.hint
    assert caught.value.error_class == error_class
    assert path.exists() == (what != "missing")


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    make(path).close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 4] = b"\xa5" * 8192
    path.write_bytes(data)
    session = SqliteSession(path)
    with pytest.raises(SourceError, match="is damaged") as caught:
        read_unit(session, SPEC, WHOLE)
    assert "integrity_check" in caught.value.hint
    session.close()


def test_the_limit_holds_under_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.db"
    make(path).close()
    session = SqliteSession(path)
    session.limit(2)
    spec = ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=100))
    with ThreadPoolExecutor(8) as threads:
        tables = list(threads.map(lambda _: read_unit(session, spec, WHOLE)[0], range(24)))
    assert {tuple(rows_of(table)) for table in tables} == {tuple((i, f"v{i}") for i in range(1000))}
    session.close()
    session.close()
    with pytest.raises(SourceError, match="is closed"):
        session.probe()


def test_a_pool_never_holds_more_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    make(path).close()
    pool = Pool(path, limit=3)
    held = [pool.acquire() for _ in range(3)]
    waiting = threading.Thread(target=lambda: pool.release(pool.acquire()))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    pool.limit(2)
    pool.release(held.pop())
    time.sleep(0.1)
    assert waiting.is_alive(), "one came back, but two are out and two is the limit now"
    pool.release(held.pop())
    waiting.join(5)
    assert not waiting.is_alive()
    pool.release(held.pop())
    pool.close()
