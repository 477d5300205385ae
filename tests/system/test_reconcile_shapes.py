"""Reconcile and repair over windows, NULLs, tables without keys, partitions, other encodings, buckets, and after Ctrl-C."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing

import pytest
import yaml

from tests.system.places import s3_options
from tests.system.test_pause import waiting_behind

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note varchar(30), at timestamp(6) NULL)"


def configure(rivet, database, kind, *exports, **more):
    rivet.environ["SHOP_URL"] = database.url
    config = {
        "source": {"type": kind, "url_env": "SHOP_URL"},
        "destination": {"type": "local", "path": "./out"},
        "exports": list(exports),
        **more,
    }
    rivet.config(yaml.safe_dump(config))


def results(rivet, exit_code=0):
    said = rivet.run("reconcile", "--json").assert_no_traceback()
    assert said.exit_code == exit_code, str(said)
    return {item["export"]: item["result"] for item in said.json()["exports"]}


def rows(rivet, export):
    return sum(file["rows"] for file in rivet.run("files", export, "--json").assert_done().json()["files"])


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_windows_and_rows_without_a_cursor(rivet, request, kind):
    database = request.getfixturevalue(kind)
    database.execute(ORDERS)
    day = "current_date - {0} * interval '1 day'" if kind == "postgres" else "current_date - interval {0} day"
    for number in range(1, 41):
        moment = "NULL" if number % 10 == 0 else day.format(number % 3)
        database.execute(f"INSERT INTO orders VALUES ({number}, 'note {number}', {moment})")
    window = {"name": "days", "table": "orders", "mode": "time_window", "time_column": "at", "days_window": 3}
    since = {"name": "since", "table": "orders", "mode": "incremental", "cursor_column": "at", "lookback": "1h"}
    configure(rivet, database, kind, window, since)
    rivet.run("run", "-q").assert_done()
    assert results(rivet) == {"days": "match", "since": "match"}
    late = "+ interval '1 hour'" if kind == "postgres" else "+ interval 1 hour"
    database.execute(f"INSERT INTO orders VALUES (100, 'late today', {day.format(0)} {late})")
    assert results(rivet) == {"days": "changed", "since": "match"}
    database.execute(f"INSERT INTO orders VALUES (101, 'late', {day.format(1)})")
    database.execute("INSERT INTO orders VALUES (102, 'never', NULL)")
    assert results(rivet, 5) == {"days": "mismatch", "since": "mismatch"}
    reports = rivet.run("repair", "--execute", "--json").assert_done().json()["exports"]
    assert [len(report["units"]) for report in reports] == [1, 2]
    assert (rows(rivet, "days"), rows(rivet, "since")) == (37, 42)
    rivet.run("run", "-q", "-e", "since").assert_done()
    database.execute(f"UPDATE orders SET at = {day.format(0)} {late} {late} WHERE id = 10")
    assert results(rivet)["since"] == "changed", "a row without a cursor got one"


def test_block_ranges_are_compared_as_a_whole_and_not_repaired(rivet, postgres):
    postgres.execute(
        "CREATE TABLE heap (n int, note text); INSERT INTO heap SELECT i, repeat('x', 500) FROM generate_series(1, 400) AS i"
    )
    postgres.execute("ANALYZE heap")
    export = {"name": "heap", "table": "heap", "mode": "chunked", "chunk_count": 3, "snapshot": "consistent"}
    configure(rivet, postgres, "postgres", export)
    rivet.run("run", "-q").assert_done()
    assert len(rivet.run("files", "heap", "--json").json()["files"]) == 3
    postgres.execute("UPDATE heap SET n = n WHERE n < 50")
    assert results(rivet) == {"heap": "match"}, "the rows are the same, wherever they lie now"
    postgres.execute("DELETE FROM heap WHERE n = 5")
    assert results(rivet, 5) == {"heap": "mismatch"}
    rivet.run("repair", "--execute").assert_failed(1, "read in one snapshot", "run the export again")


def test_partitions_and_views(rivet, postgres):
    postgres.execute(
        "CREATE TABLE parted (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (100); CREATE TABLE high PARTITION OF parted DEFAULT;"
        "INSERT INTO parted SELECT i, 'n' || i FROM generate_series(1, 300) AS i;"
        "CREATE VIEW seen AS SELECT id, upper(note) AS loud FROM parted WHERE id % 2 = 0"
    )
    tables = {"mode": "chunked", "chunk_count": 4, "chunk_column": "id"}
    configure(rivet, postgres, "postgres", {"name": "parted", "table": "parted", **tables}, {"name": "seen", "table": "seen"})
    rivet.run("run", "-q").assert_done()
    assert results(rivet) == {"parted": "match", "seen": "match"}
    postgres.execute("UPDATE parted SET note = 'other' WHERE id = 42")
    assert results(rivet, 5) == {"parted": "mismatch", "seen": "mismatch"}
    rivet.run("repair", "--execute", "-q").assert_done()


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_key_of_two_columns(rivet, request, kind):
    database = request.getfixturevalue(kind)
    database.execute("CREATE TABLE pairs (a smallint, b int, note varchar(20), PRIMARY KEY (a, b))")
    values = ", ".join(f"({number % 3}, {number}, 'n{number}')" for number in range(300))
    database.execute(f"INSERT INTO pairs VALUES {values}")
    database.execute("ANALYZE TABLE pairs" if kind == "mysql" else "ANALYZE pairs")
    export = {"name": "pairs", "table": "pairs", "mode": "chunked", "chunk_count": 5}
    configure(rivet, database, kind, export)
    rivet.run("run", "-q").assert_done()
    said = rivet.run("reconcile", "--json").assert_done().json()["exports"][0]
    assert said["result"] == "match"
    assert len(said["units"]) > 2
    database.execute("INSERT INTO pairs VALUES (7, 1, 'later')")
    assert results(rivet) == {"pairs": "changed"}
    database.execute("UPDATE pairs SET note = '' WHERE b = 0")
    assert results(rivet, 5) == {"pairs": "mismatch"}
    rivet.run("repair", "--execute", "-q").assert_done()
    assert results(rivet) == {"pairs": "changed"}


def test_a_mariadb_of_another_character_set(rivet, mysql_latin1):
    mysql_latin1.execute(
        "CREATE TABLE words (id int PRIMARY KEY, a varchar(20), b varchar(20) CHARACTER SET utf8mb4, e enum('é','ü'))"
    )
    mysql_latin1.execute("INSERT INTO words VALUES (1, 'é', 'é🚲', 'é'), (2, NULL, '', 'ü')")
    configure(rivet, mysql_latin1, "mysql", {"name": "words", "table": "words"})
    rivet.run("run", "-q").assert_done()
    assert results(rivet) == {"words": "match"}


def test_a_bucket(rivet, postgres, s3):
    postgres.execute(f"{ORDERS}; INSERT INTO orders SELECT i, 'note', now() FROM generate_series(1, 90) AS i")
    rivet.environ["RIVET_TEST_SECRET"] = s3.secret_key
    export = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_count": 3, "chunk_column": "id"}
    configure(rivet, postgres, "postgres", export, destination=s3_options(s3, s3.endpoint))
    rivet.run("run", "-q").assert_done()
    postgres.execute("UPDATE orders SET note = 'new' WHERE id = 80")
    rivet.run("repair", "--execute", "-q").assert_done()
    assert results(rivet) == {"orders": "match"}
    rivet.run("validate", "--depth", "full").assert_done()
    assert "-000.parquet" in rivet.run("gc").assert_done().stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_the_statement_and_changes_nothing(rivet, postgres, number, code):
    slow = "SELECT id, note, pg_sleep(0.02 * id)::text AS nap FROM orders"
    postgres.execute(f"{ORDERS}; INSERT INTO orders SELECT i, 'note', now() FROM generate_series(1, 9) AS i")
    configure(rivet, postgres, "postgres", {"name": "slow", "query": slow})
    rivet.run("run", "-q").assert_done()
    postgres.execute("INSERT INTO orders SELECT i, 'note', now() FROM generate_series(1000, 1030) AS i")
    process = rivet.start("repair", "--execute")
    deadline = time.monotonic() + 30
    busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%sha256%' AND pid <> pg_backend_pid()"
    while postgres.execute(busy)[0][0] == 0:
        assert time.monotonic() < deadline, "the digest never began"
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, out + err
    assert "Traceback" not in err
    assert postgres.execute(busy)[0][0] == 0
    assert rows(rivet, "slow") == 9


def test_a_group_over_its_limits_is_left_alone(rivet, postgres):
    postgres.execute(f"{ORDERS}; INSERT INTO orders SELECT i, 'note', now() FROM generate_series(1, 9) AS i")
    postgres.execute("CREATE TABLE busy (id int PRIMARY KEY, n int); INSERT INTO busy VALUES (1, 0)")
    group = {"source_groups": {"g": {"max_lock_waits": 0}}}
    export = {"name": "orders", "table": "orders", "source_group": "g"}
    configure(rivet, postgres, "postgres", export, **group)
    rivet.run("run", "-q").assert_done()
    log = postgres.log.mark()
    with waiting_behind(postgres, "SELECT n FROM busy FOR UPDATE", "UPDATE busy SET n = n + 1", 2):
        process = rivet.start("reconcile")
        time.sleep(6)
        assert process.poll() is None, "it waits"
        assert not [sql for sql in log.statements() if "sha256" in sql]
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "group g pauses: 2 sessions wait for locks" in err
    assert "orders: match" in err


@pytest.mark.parametrize("place", ["first", "later"])
def test_long_rows_of_a_csv_file(rivet, place):
    """A row may be longer than what is read of a file at once."""
    at = {"first": 1, "later": 900}[place]
    with closing(sqlite3.connect(rivet.path / "shop.db")) as connection:
        connection.execute("CREATE TABLE scans (id integer PRIMARY KEY, page blob NOT NULL, note text)")
        connection.executemany("INSERT INTO scans VALUES (?, ?, ?)", ((n, b"\x00" * 5000, f'"{n}",\n') for n in range(1, 1001)))
        connection.execute("UPDATE scans SET page = zeroblob(36000000) WHERE id = ?", (at,))
        connection.commit()
    rivet.config("""
        source: {type: sqlite, path: shop.db}
        destination: {type: local, path: ./out}
        exports: [{name: scans, table: scans, format: csv}]
        """)
    rivet.run("run", "-q").assert_done()
    assert results(rivet) == {"scans": "match"}
    (file,) = rivet.path.glob("out/scans/run=*/*.csv")
    text = file.read_bytes()
    file.write_bytes(text.replace(b'""1000""', b'""1001""'))
    assert results(rivet, 5) == {"scans": "mismatch"}
