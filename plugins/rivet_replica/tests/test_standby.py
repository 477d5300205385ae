"""The rules on a real streaming standby, through the plan as a user makes it: each fact comes from the source's probe."""

from __future__ import annotations

import time

import pytest

CONFIG = """
source: {{type: postgres, url_env: STANDBY_URL}}
destination: {{type: local, path: out}}
plugins: {{options: {{rivet_replica: {{{options}}}}}}}
exports:
  - {{name: t, table: t}}
"""


@pytest.fixture
def table(postgres, postgres_standby, postgres_standby_server, rivet):
    """A table on the standby, and a project that reads it."""
    postgres.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    postgres.execute("INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) g")
    postgres.execute("VACUUM ANALYZE t")
    # Other sessions are shown to those with the right only.
    postgres.execute(f'GRANT pg_read_all_stats TO "{postgres.user}"', admin=True)
    postgres_standby_server.catch_up()
    rivet.environ["STANDBY_URL"] = postgres_standby.url
    yield postgres
    postgres.execute(f'REVOKE pg_read_all_stats FROM "{postgres.user}"', admin=True)


def reasons(rivet, options: str = "") -> dict[str, dict]:
    rivet.config(CONFIG.format(options=options))
    plan = rivet.run("plan", "--json", "--refresh").assert_done().json()
    found = plan["exports"][0]["reasons"]
    return {reason["code"]: reason for reason in found if reason["code"].startswith("X-replica-")}


def test_a_quiet_standby_gets_nothing(rivet, table):
    assert reasons(rivet) == {}


def test_what_replay_has_not_reached_is_lag(rivet, table, postgres_standby_server):
    postgres_standby_server.pause()
    try:
        table.execute("INSERT INTO t VALUES (-1, 0)")
        time.sleep(1.2)
        found = reasons(rivet, "max_lag_seconds: 1, lag_points: 6")["X-replica-001"]
    finally:
        postgres_standby_server.resume()
    assert (found["points"], found["dimension"], found["provider"]) == (6, "risk", "rivet_replica")
    assert found["evidence"][0]["signal"] == "replica_lag"
    assert 1.0 <= found["evidence"][0]["value"] < 300.0
    postgres_standby_server.catch_up()
    assert reasons(rivet, "max_lag_seconds: 1") == {}


def test_cancelled_reads_are_counted(rivet, table, postgres_standby, postgres_standby_server):
    admin = postgres_standby_server.admin()
    before = cancelled(postgres_standby)
    for sql in ("ALTER SYSTEM SET max_standby_streaming_delay = '50ms'", "SELECT pg_reload_conf()"):
        admin.execute(sql)
    try:
        with postgres_standby.connect() as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM t")
            with pytest.raises(Exception, match="conflict with recovery"):
                read_until_cancelled(reader, table)
        deadline = time.monotonic() + 20
        while cancelled(postgres_standby) == before and time.monotonic() < deadline:
            time.sleep(0.1)
        found = reasons(rivet)["X-replica-002"]
    finally:
        for sql in ("ALTER SYSTEM RESET max_standby_streaming_delay", "SELECT pg_reload_conf()"):
            admin.execute(sql)
    assert found["evidence"][0]["value"] > before
    assert "has cancelled reads" in found["message"]


def read_until_cancelled(reader, primary) -> None:
    for _ in range(100):
        primary.execute("UPDATE t SET n = n + 1")
        primary.execute("VACUUM t")
        time.sleep(0.05)
        reader.execute("SELECT count(*) FROM t")


def cancelled(standby) -> int:
    rows = standby.execute(
        "SELECT confl_snapshot + confl_lock FROM pg_stat_database_conflicts WHERE datname = current_database()"
    )
    return int(rows[0][0])


def test_a_transaction_that_stays_open(rivet, table, postgres_standby):
    with postgres_standby.connect() as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM t")
        time.sleep(1.2)
        found = reasons(rivet, "long_transaction_seconds: 1")["X-replica-003"]
    assert "on the standby, where replay may have to wait for it" in found["message"]
    assert found["evidence"][0]["value"] >= 1.0


def test_connections_that_should_stay_free(rivet, table):
    found = reasons(rivet, "headroom: 0.99")["X-replica-004"]
    assert [one["signal"] for one in found["evidence"]] == ["used_connections", "max_connections"]
    assert found["evidence"][1]["value"] > 0


def test_an_unknown_option_is_an_error_with_the_nearest_one(rivet, table):
    rivet.config(CONFIG.format(options="max_lag_second: 3"))
    rivet.run("plan").assert_failed(2, "max_lag_second", "max_lag_seconds")
