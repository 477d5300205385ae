"""The pause rule on real servers: a lagging standby and waiting sessions hold back what would begin, and nothing else does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rivet_core.running import pressure
from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.standby import StandbyServer
from tests.system.campaigns import Campaign, counts, table, wait_until

ROWS = 20_000
PAGED = {"mode": "chunked", "tuning": {"page_seconds": 0.001, "pause_share": 0, "throttle_ms": 20}}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask every quarter of a second, so that a test needs no large table."""
    monkeypatch.setattr(pressure, "CALM_SECONDS", 0.25)
    monkeypatch.setattr(pressure, "AGAIN_SECONDS", 0.1)


@pytest.fixture
def standby(
    rivet: Project,
    postgres: PostgresDatabase,
    postgres_standby: PostgresDatabase,
    postgres_standby_server: StandbyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Campaign]:
    postgres.execute("CREATE TABLE tick(n int)")
    postgres.execute(f"CREATE TABLE t AS SELECT g AS id, repeat('x', 400) AS v FROM generate_series(1, {ROWS}) g")
    postgres.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    for number in range(3):
        postgres.execute(f"CREATE TABLE u{number} AS SELECT g AS id FROM generate_series(1, 50) g")
    postgres_standby_server.catch_up()
    yield Campaign(rivet, postgres_standby.url, monkeypatch)
    postgres_standby_server.resume()


@contextmanager
def lagging(postgres: PostgresDatabase, server: StandbyServer) -> Iterator[None]:
    """Let the standby fall behind; afterwards it has caught up."""
    server.pause()
    postgres.execute("INSERT INTO tick VALUES (1)")
    try:
        yield
    finally:
        server.resume()
        server.catch_up()


def groups(**limits: object) -> dict[str, object]:
    return {"source_groups": {"g": {"max_connections": 2, **limits}}}


def test_m16_a_lagging_replica_pauses_new_starts_until_it_has_caught_up(
    standby: Campaign, postgres: PostgresDatabase, postgres_standby_server: StandbyServer
) -> None:
    standby.config(*(table(f"u{number}") for number in range(3)), **groups(max_lag="1s"))
    plan = standby.plan()
    done: list[object] = []
    with lagging(postgres, postgres_standby_server):
        time.sleep(1.2)
        thread = threading.Thread(target=lambda: done.append(standby.apply(plan)))
        thread.start()
        wait_until(lambda: standby.told("paused"))
        time.sleep(1.0)
        assert not standby.told("export_finished")
        assert len(standby.told("export_started")) <= 2
    thread.join(30)
    outcome = done[0]
    assert counts(outcome) == {"done": 3}
    paused = standby.told("paused")[0].data
    assert (paused["group"], paused["signal"], paused["limit"]) == ("g", "replica_lag", 1.0)
    assert paused["value"] > 1.0
    assert "over max_lag 1 s" in paused["message"]
    assert standby.told("resumed")[0].data["seconds"] > 0.5
    assert "group g paused once" in outcome.pauses[0]
    assert "max_lag 1 s" in outcome.pauses[0]


@pytest.mark.parametrize("connections", [1, 2])
def test_m16_no_new_page_while_the_replica_lags(
    standby: Campaign, postgres: PostgresDatabase, postgres_standby_server: StandbyServer, connections: int
) -> None:
    standby.config(table("t", **PAGED), **groups(max_lag="1s", max_connections=connections))
    plan, done = standby.plan(), []
    thread = threading.Thread(target=lambda: done.append(standby.apply(plan)))
    thread.start()
    wait_until(lambda: standby.told("progress"))
    with lagging(postgres, postgres_standby_server):
        wait_until(lambda: standby.told("paused"))
        time.sleep(0.5)
        before = rows_seen(standby)
        time.sleep(1.0)
        assert rows_seen(standby) == before < ROWS
        assert transactions(postgres_standby_server.admin()) == []
    thread.join(60)
    assert counts(done[0]) == {"done": 1}
    assert done[0].exports[0].rows == ROWS
    assert len(standby.told("resumed")) == 1


def test_a_short_lag_pauses_nothing(
    standby: Campaign, postgres: PostgresDatabase, postgres_standby_server: StandbyServer
) -> None:
    standby.config(table("u0"), **groups(max_lag="1h"))
    with lagging(postgres, postgres_standby_server):
        assert counts(standby.apply()) == {"done": 1}
    assert standby.told("paused") == []


def test_sessions_that_wait_for_locks_pause_a_group_and_are_named(shop: Campaign, postgres: PostgresDatabase) -> None:
    postgres.execute("CREATE TABLE busy(id int PRIMARY KEY, n int)")
    postgres.execute("INSERT INTO busy VALUES (1, 0)")
    shop.config(*(table(f"u{number}") for number in range(2)), **groups(max_lock_waits=1))
    for number in range(2):
        postgres.execute(f"CREATE TABLE u{number} AS SELECT g AS id FROM generate_series(1, 50) g")
    plan, done = shop.plan(), []
    with waiting_behind(postgres, "SELECT n FROM busy FOR UPDATE", "UPDATE busy SET n = n + 1", 3):
        thread = threading.Thread(target=lambda: done.append(shop.apply(plan)))
        thread.start()
        wait_until(lambda: shop.told("paused"))
        time.sleep(0.5)
        assert not shop.told("export_finished")
    thread.join(30)
    assert counts(done[0]) == {"done": 2}
    data = shop.told("paused")[0].data
    assert (data["signal"], data["value"], data["limit"]) == ("lock_waits", 3, 1)
    assert "3 sessions wait for locks, over max_lock_waits 1" in done[0].pauses[0]


@pytest.mark.parametrize("strict", ["first", "second"])
def test_each_group_that_reads_from_a_source_has_its_own_limit(shop: Campaign, postgres: PostgresDatabase, strict: str) -> None:
    """The source is opened in the group of its first export, whose limit says nothing about the others."""
    postgres.execute("CREATE TABLE busy(id int PRIMARY KEY, n int)")
    postgres.execute("INSERT INTO busy VALUES (1, 0)")
    for number in range(2):
        postgres.execute(f"CREATE TABLE u{number} AS SELECT g AS id FROM generate_series(1, 50) g")
    limits = {group: {"max_connections": 1, "max_lock_waits": 1 if group == strict else 9} for group in ("first", "second")}
    shop.config(table("u0", source_group="first"), table("u1", source_group="second"), source_groups=limits)
    held, free = ("u0", "u1") if strict == "first" else ("u1", "u0")
    plan, done = shop.plan(), []
    with waiting_behind(postgres, "SELECT n FROM busy FOR UPDATE", "UPDATE busy SET n = n + 1", 3):
        thread = threading.Thread(target=lambda: done.append(shop.apply(plan)))
        thread.start()
        wait_until(lambda: shop.told("paused"))
        wait_until(lambda: [event.export for event in shop.told("export_finished")] == [free])
        time.sleep(0.5)
        assert [event.export for event in shop.told("export_finished")] == [free]
    thread.join(30)
    assert counts(done[0]) == {"done": 2}
    assert [event.export for event in shop.told("export_finished")] == [free, held]
    assert {event.data["group"] for event in (*shop.told("paused"), *shop.told("resumed"))} == {strict}
    assert [text.split(" paused ")[0] for text in done[0].pauses] == [f"group {strict}"]


def test_p07_what_waits_for_our_own_read_pauses_nothing(shop: Campaign, postgres: PostgresDatabase) -> None:
    """An ALTER waits for a page, and readers wait behind the ALTER: it is the read that raised this, and it goes on."""
    postgres.execute("CREATE TABLE t(id int PRIMARY KEY, v text)")
    postgres.execute(f"INSERT INTO t SELECT g, repeat('x', 400) FROM generate_series(1, {ROWS}) g")
    slow = {"name": "slow", "query": "SELECT id, v, pg_sleep(0.0002)::text AS s FROM t WHERE id <= 3000"}
    shop.config(slow, table("t", **PAGED), **groups(max_lock_waits=0, max_connections=3))
    plan = shop.plan()
    over, seen = threading.Event(), []

    def alter() -> None:
        with postgres.connect() as one:
            while not over.is_set():
                one.execute("ALTER TABLE t ALTER COLUMN v SET DEFAULT ''")
                over.wait(0.02)

    def look() -> None:
        while not over.is_set():
            with postgres.connect(admin=True) as one:
                seen.append(one.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0])
            over.wait(0.05)

    threads = [threading.Thread(target=work) for work in (alter, look)]
    for thread in threads:
        thread.start()
    try:
        outcome = shop.apply(plan)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert counts(outcome) == {"done": 2}
    assert max(seen) > 0
    assert shop.told("paused") == []


def test_p07_pages_that_sort_on_disk_keep_all_their_workers(shop: Campaign, postgres: PostgresDatabase) -> None:
    """On a server where nobody else is, a read that spills to temporary files is never slowed down by the pause rule."""
    postgres.execute("CREATE TABLE t(id int PRIMARY KEY, v text)")
    postgres.execute(f"INSERT INTO t SELECT g, repeat('x', 400) FROM generate_series(1, {ROWS}) g")
    before = temporary_files(postgres)
    spilling = {"name": "s", "query": "SELECT a.id, a.v FROM t a JOIN t b ON a.v = b.v AND a.id = b.id ORDER BY a.v, b.id"}
    postgres.execute(f'ALTER DATABASE "{postgres.name}" SET work_mem = 64', admin=True)
    shop.config(
        spilling, table("t", parallel=2, chunk_count=8, **PAGED), **groups(max_lag=0, max_lock_waits=0, max_connections=3)
    )
    assert counts(shop.apply()) == {"done": 2}
    assert temporary_files(postgres) > before
    assert shop.told("paused") == []


def test_m16_waiting_transactions_of_mariadb_pause_its_group(
    rivet: Project, mysql: MariaDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysql.execute("CREATE TABLE busy(id int PRIMARY KEY, n int)")
    mysql.execute("INSERT INTO busy VALUES (1, 0)")
    mysql.execute("CREATE TABLE u(id int PRIMARY KEY)")
    mysql.execute("INSERT INTO u SELECT seq FROM seq_1_to_50")
    shop = Campaign(rivet, mysql.url, monkeypatch)
    shop.config(
        {"name": "u", "table": "u"},
        source={"type": "mysql", "url_env": "SHOP_URL", "source_group": "g"},
        **groups(max_lock_waits=1),
    )
    plan, done = shop.plan(), []

    def update() -> None:
        mysql.execute("UPDATE busy SET n = n + 1")

    holder = mysql.connect()
    holder.begin()
    holder.cursor().execute("SELECT n FROM busy FOR UPDATE")
    writers = [threading.Thread(target=update) for _ in range(3)]
    for writer in writers:
        writer.start()
    waits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
    wait_until(lambda: int(mysql.execute(waits, admin=True)[0][1]) == 3)
    try:
        thread = threading.Thread(target=lambda: done.append(shop.apply(plan)))
        thread.start()
        wait_until(lambda: shop.told("paused"))
        assert not shop.told("export_finished")
    finally:
        holder.rollback()
        holder.close()
        for writer in writers:
            writer.join()
    thread.join(30)
    assert counts(done[0]) == {"done": 1}
    assert shop.told("paused")[0].data["value"] == 3


@contextmanager
def waiting_behind(postgres: PostgresDatabase, hold: str, wait: str, count: int) -> Iterator[None]:
    """Hold a lock, and have `count` sessions wait for it."""
    writers = [threading.Thread(target=postgres.execute, args=(wait,)) for _ in range(count)]
    with postgres.connect() as holder:
        holder.execute("BEGIN")
        holder.execute(hold)
        for writer in writers:
            writer.start()
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        wait_until(lambda: postgres.execute(query, admin=True)[0][0] >= count)
        try:
            yield
        finally:
            holder.execute("ROLLBACK")
            for writer in writers:
                writer.join()


def rows_seen(campaign: Campaign) -> int:
    return max((int(event.data["rows"]) for event in campaign.told("progress")), default=0)  # type: ignore[call-overload]


def transactions(server: PostgresDatabase) -> list[tuple[object, ...]]:
    query = "SELECT pid, state FROM pg_stat_activity WHERE application_name LIKE 'rivet/%' AND xact_start IS NOT NULL"
    return list(server.execute(query))


def temporary_files(postgres: PostgresDatabase) -> int:
    postgres.execute("SELECT pg_stat_force_next_flush()")
    query = "SELECT temp_files FROM pg_stat_database WHERE datname = current_database()"
    return int(postgres.execute(query)[0][0])
