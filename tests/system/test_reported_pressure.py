"""What reads did to sources and readers in public reports (cases P02-P04, P06), on both kinds of server."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pyarrow.parquet as pq
import pytest

from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.standby import StandbyServer
from tests.system.campaigns import counts, dataset, wait_for, wait_until
from tests.system.either import Shop
from tests.system.resident import peak_bytes

MIB = 1 << 20


def slowly(shop: Shop, rows: int = 20_000) -> None:
    """Fill `t` and read it in short pages with a rest behind each, for about four seconds."""
    shop.sql("CREATE TABLE t(id int PRIMARY KEY, v varchar(800))")
    shop.sql(f"INSERT INTO t {shop.series(rows, 'n, ' + quoted('x' * 800))}")
    seconds, rest = (0.001, 20) if shop.kind == "postgres" else (0.02, 400)
    tuning = {"page_seconds": seconds, "pause_share": 0, "throttle_ms": rest, "batch_size_memory_mb": 1}
    shop.export(mode="chunked", tuning=tuning)


def quoted(text: str) -> str:
    return f"'{text}'"


def test_p02_no_transaction_outlives_a_page_and_none_is_left_after_ctrl_c(any_shop: Shop) -> None:
    slowly(any_shop)
    process = any_shop.project.start("run", "--events")
    wait_for(process, "progress")
    oldest = 0.0
    for _ in range(30):
        oldest = max([oldest, *(float(age) for _, age, _ in any_shop.sessions() if age is not None)])
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert oldest < 1.0, "a transaction was open for longer than a page"
    wait_until(lambda: not any_shop.sessions())
    assert not any_shop.project.files("out/t/_rivet/*")


def test_p02_a_read_of_a_standby_holds_nothing_back_on_the_primary(
    rivet: Project,
    postgres: PostgresDatabase,
    postgres_standby: PostgresDatabase,
    postgres_standby_server: StandbyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With feedback on, the standby's oldest snapshot is what stops vacuum on the primary: it must move on while we read."""
    primary = Shop(rivet, postgres, "postgres", monkeypatch)
    slowly(primary)
    admin = postgres_standby_server.admin()
    for sql in ("ALTER SYSTEM SET hot_standby_feedback = on", "ALTER SYSTEM SET wal_receiver_status_interval = 1"):
        admin.execute(sql)
    admin.execute("SELECT pg_reload_conf()")
    try:
        postgres_standby_server.catch_up()
        shop = Shop(rivet, postgres_standby, "postgres", monkeypatch)
        shop.export(mode="chunked", tuning={"page_seconds": 0.001, "pause_share": 0, "throttle_ms": 20})
        thread = threading.Thread(target=shop.apply)
        thread.start()
        wait_until(lambda: shop.told("progress"))
        seen = set()
        while thread.is_alive():
            postgres.execute("UPDATE t SET v = v WHERE id = 1")
            seen.add(held_back(postgres))
            time.sleep(0.3)
        thread.join()
        assert counts_done(shop)
        assert len(seen) > 2, "the standby's horizon stood still"
    finally:
        # One by one: what the standby follows stands in the same file.
        for name in ("hot_standby_feedback", "wal_receiver_status_interval"):
            admin.execute(f"ALTER SYSTEM RESET {name}")
        admin.execute("SELECT pg_reload_conf()")


def held_back(primary: PostgresDatabase) -> str:
    query = "SELECT coalesce(min(xmin::text), '') FROM pg_replication_slots"
    return str(primary.execute(query, admin=True)[0][0])


def counts_done(shop: Shop) -> bool:
    return len(shop.told("export_finished")) == 1


@pytest.mark.parametrize("engine", ["auto", "rows"])
@pytest.mark.parametrize("key", [True, False])
def test_p03_a_reader_that_pauses_for_longer_than_net_write_timeout_loses_nothing(
    mysql: MariaDatabase, engine: str, key: bool
) -> None:
    from rivet_core.facts import ReadSpec, Tuning
    from rivet_mysql.options import MysqlOptions
    from rivet_mysql.session import connect

    rows = 60_000
    mysql.execute(f"CREATE TABLE t(id int {'PRIMARY KEY' if key else ''}, v varchar(500))")
    mysql.execute(f"INSERT INTO t SELECT seq, REPEAT('x', 500) FROM seq_1_to_{rows}")
    before = mysql.execute("SELECT @@GLOBAL.net_write_timeout")[0][0]
    mysql.execute("SET GLOBAL net_write_timeout = 1", admin=True)
    session = connect(MysqlOptions(url=mysql.url, engine=engine))
    try:
        spec = ReadSpec(export="t", table="t", tuning=Tuning(batch_bytes=1 << 20, pause_share=0, page_seconds=60))
        (unit,) = session.units(spec, ())
        seen = 0
        for place, batch in enumerate(session.read(spec, unit)):
            seen += batch.num_rows
            if place == 1:
                time.sleep(3)
    finally:
        session.close()
        mysql.execute(f"SET GLOBAL net_write_timeout = {before}", admin=True)
    assert seen == rows


def test_p04_one_region_of_wide_rows_stays_under_the_limit(any_shop: Shop) -> None:
    """100,000 rows of 100 bytes, then rows of 5 MB; 512 MB are the limit."""
    wide = 120 if any_shop.kind == "postgres" else 60
    any_shop.sql(f"CREATE TABLE t(id int PRIMARY KEY, v {'text' if any_shop.kind == 'postgres' else 'longtext'})")
    any_shop.sql(f"INSERT INTO t {any_shop.series(100_000, 'n, ' + quoted('x' * 100))}")
    any_shop.sql(f"INSERT INTO t {any_shop.series(wide, 'n + 100000, ' + repeated(any_shop))}")
    any_shop.export(groups={"max_connections": 1})
    used = peak_bytes(any_shop.project, "run")
    assert used < 512 * MIB, f"{used / MIB:.0f} MiB"
    (file,) = any_shop.project.files("out/t/run=*/*.parquet")
    assert pq.read_metadata(any_shop.project.path / file).num_rows == 100_000 + wide


def repeated(shop: Shop) -> str:
    return "repeat('x', 5000000)" if shop.kind == "postgres" else "REPEAT('x', 5000000)"


ADDED = "ALTER TABLE t ADD COLUMN w int"
DROPPED = "ALTER TABLE t DROP COLUMN v"


@pytest.mark.parametrize("change", [ADDED, DROPPED])
def test_p06_a_change_of_the_table_gets_through_within_a_page(any_shop: Shop, change: str) -> None:
    """The ALTER waits for one page, a reader behind it waits for the ALTER, and columns of two moments are never mixed."""
    slowly(any_shop)
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(any_shop.apply()))
    thread.start()
    wait_until(lambda: any_shop.told("progress"))
    begun = time.monotonic()
    any_shop.sql(change)
    any_shop.sql("SELECT count(*) FROM t")
    assert time.monotonic() - begun < 3.0
    assert thread.is_alive() or change == DROPPED
    thread.join(60)
    (export,) = outcomes[0].exports
    if change == ADDED:
        assert counts(outcomes[0]) == {"done": 1}
        assert dataset(any_shop, "t").schema.names == ["id", "v"]
        assert export.rows == 20_000
    else:
        assert export.status == "failed"
        assert "v" in export.error["message"]
        assert not any_shop.project.files("out/t/_rivet/current.json")
