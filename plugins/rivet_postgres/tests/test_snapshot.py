"""`snapshot: consistent`: all units see one moment, and nothing stays open afterwards."""

from __future__ import annotations

import pytest

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mode, UnitKind


def idle_in_transaction(source):
    return source.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'", admin=True
    )[0][0]


def test_units_see_one_moment_whatever_moves(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, k int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
    source.execute("CREATE INDEX ON t (k); ANALYZE t")
    spec = source.spec("t", mode=Mode.CHUNKED, chunk_column="k", chunk_count=4, snapshot="consistent")
    units = source.session.units(spec, ())
    seen = source.read_unit(spec, units[0])[0]["id"].to_pylist()
    source.execute("UPDATE t SET k = 101 - k; DELETE FROM t WHERE id = 50; INSERT INTO t VALUES (1000, 1000)")
    for unit in units[1:]:
        seen += source.read_unit(spec, unit)[0]["id"].to_pylist()
    assert sorted(seen) == list(range(1, 101))
    assert idle_in_transaction(source) == 1
    source.session.end("e")
    assert idle_in_transaction(source) == 0
    assert sorted(source.full("t")["id"].to_pylist()) == [*range(1, 50), *range(51, 101), 1000]


def test_c06_block_ranges_of_a_heap_without_a_key(source):
    source.execute(
        "CREATE TABLE t(id int, pad text); INSERT INTO t SELECT g / 3, repeat('x', 300) FROM generate_series(1, 5000) g"
    )
    spec = source.spec("t", mode=Mode.CHUNKED, chunk_count=5, snapshot="consistent")
    units = source.session.units(spec, ())
    assert [unit.kind for unit in units] == [UnitKind.CTID] * 5
    sizes = []
    for unit in units:
        sizes.append(source.read_unit(spec, unit)[0].num_rows)
        source.execute("UPDATE t SET pad = pad || 'y'")
    assert sum(sizes) == 5000
    assert min(sizes) > 500


def test_block_ranges_need_a_snapshot(source):
    source.execute("CREATE TABLE t(id int); INSERT INTO t SELECT generate_series(1, 5000)")
    with pytest.raises(ConfigError, match="no key") as caught:
        source.session.units(source.spec("t", mode=Mode.CHUNKED, chunk_count=5), ())
    assert caught.value.code == "needs_snapshot"
    assert len(source.session.units(source.spec("t", mode=Mode.CHUNKED, chunk_count=1), ())) == 1


def test_units_read_at_once_need_a_second_connection(source):
    source.execute("CREATE TABLE t(id int)")
    source.session.limit(1)
    with pytest.raises(ConfigError, match="second connection"):
        source.full("t", snapshot="consistent", parallel=2)


def test_units_read_one_after_the_other_share_one_connection(source):
    source.execute("CREATE TABLE t(id int, pad text); INSERT INTO t SELECT g, repeat('x', 300) FROM generate_series(1, 5000) g")
    spec = source.spec("t", mode=Mode.CHUNKED, chunk_count=5, snapshot="consistent")
    units = source.session.units(spec, ())
    source.session.limit(1)
    seen = []
    for unit in units:
        seen += source.read_unit(spec, unit)[0]["id"].to_pylist()
        source.execute("UPDATE t SET pad = pad || 'y'; INSERT INTO t VALUES (0, 'new')")
        assert connections(source) == idle_in_transaction(source) == 1
    assert sorted(seen) == list(range(1, 5001))
    source.session.end("e")
    assert idle_in_transaction(source) == 0
    assert source.full("t").num_rows == 5005


def test_one_connection_broken_off_is_one_lost_snapshot(source):
    source.execute("CREATE TABLE t(id int, pad text); INSERT INTO t SELECT g, repeat('x', 300) FROM generate_series(1, 5000) g")
    spec = source.spec("t", mode=Mode.CHUNKED, chunk_count=2, snapshot="consistent")
    units = source.session.units(spec, ())
    source.session.limit(1)
    source.session.read(spec, units[0]).close()
    with pytest.raises(SourceError, match="held the snapshot was cut off"):
        source.read_unit(spec, units[1])
    source.session.end("e")
    assert source.read_unit(spec, units[0])[0].num_rows > 1000
    source.session.end("e")


def connections(source):
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'rivet/%'"
    return source.execute(query, admin=True)[0][0]


def end_idle_transactions(source):
    """Cut them off and wait until they are gone: until then an exported snapshot can still be read, and rightly so."""
    ended = source.execute(
        """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
           WHERE datname = current_database() AND state = 'idle in transaction'""",
        admin=True,
    )
    assert ended == [(True,)]


def test_a_snapshot_that_died_is_an_error(source):
    source.execute("CREATE TABLE t(id int)")
    for parallel in (1, 2):
        source.full("t", snapshot="consistent", parallel=parallel)
        end_idle_transactions(source)
        with pytest.raises(SourceError) as first:
            source.full("t", snapshot="consistent", parallel=parallel)
        assert (first.value.error_class, first.value.transient) == ("connection", parallel == 1)
        with pytest.raises(SourceError, match="snapshot") as again:
            source.full("t", snapshot="consistent", parallel=parallel)
        assert not again.value.transient
        source.session.end("e")


@pytest.mark.parametrize("parallel", [1, 2])
def test_closing_the_session_ends_it(source, parallel):
    source.execute("CREATE TABLE t(id int)")
    source.full("t", snapshot="consistent", parallel=parallel)
    source.session.close()
    assert idle_in_transaction(source) == 0
