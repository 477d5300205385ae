"""Chunks along keys of every kind: units follow rows, and tile them, found in a fixed number of short statements."""

from __future__ import annotations

import statistics

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import Mode, Tuning, UnitKind

pytestmark = pytest.mark.mysql
ROWS = 3000

KEYS = {
    "c04-uuid-char-mixed-case": (
        "id char(36) PRIMARY KEY, n int",
        "SELECT IF(seq % 2, UPPER(u), u), seq FROM (SELECT seq, INSERT(INSERT(INSERT(INSERT(MD5(seq), 9, 0, '-'), 14, 0, '-'),"
        " 19, 0, '-'), 24, 0, '-') AS u FROM seq_1_to_3000) AS s",
    ),
    "uuid-binary": ("id binary(16) PRIMARY KEY, n int", "SELECT UNHEX(MD5(seq)), seq FROM seq_1_to_3000"),
    "words": (
        "id varchar(60) PRIMARY KEY, n int",
        "SELECT CONCAT('customer ', seq * 7, ' \\\\ it''s'), seq FROM seq_1_to_3000",
    ),
    "words-of-a-language": (
        "id varchar(60) COLLATE utf8mb4_swedish_ci PRIMARY KEY, n int",
        "SELECT CONCAT(ELT(1 + seq % 5, 'z', 'å', 'Ä', 'ö', 'a'), seq), seq FROM seq_1_to_3000",
    ),
    "words-in-latin1": (
        "id varchar(60) CHARACTER SET latin1 PRIMARY KEY, n int",
        "SELECT CONCAT(ELT(1 + seq % 4, 'é', 'E', 'f', 'ß'), seq), seq FROM seq_1_to_3000",
    ),
    "greek": (
        "id varchar(60) PRIMARY KEY, n int",
        "SELECT CONCAT(ELT(1 + seq % 6, 'δ', 'λ', 'π', 'ς', 'ψ', 'ω'), ELT(1 + seq % 5, 'β', 'ε', 'λ', 'ξ', 'ψ'), seq),"
        " seq FROM seq_1_to_3000",
    ),
    "few-regions-many-ids": ("a smallint, id int, PRIMARY KEY (a, id)", "SELECT seq % 3, seq FROM seq_1_to_3000"),
    "c08-one-value-first": ("a int, t varchar(20), PRIMARY KEY (a, t)", "SELECT 7, CONCAT('t', seq) FROM seq_1_to_3000"),
    "c05-skewed": (
        "id bigint PRIMARY KEY, n int",
        "SELECT IF(seq = 3000, 1843931943963660289, seq), seq FROM seq_1_to_3000",
    ),
    "c03-unsigned": (
        "id bigint unsigned PRIMARY KEY, n int",
        "SELECT 18446744073709551615 - seq * 3000000000000000, seq FROM seq_1_to_3000",
    ),
    "moments": (
        "id datetime(6) PRIMARY KEY, n int",
        "SELECT '2024-01-01' + INTERVAL seq * 1003 SECOND, seq FROM seq_1_to_3000",
    ),
    "decimals": ("id decimal(30,9) PRIMARY KEY, n int", "SELECT seq / 7 - 100, seq FROM seq_1_to_3000"),
    "moments-and-numbers": (
        "t timestamp, s varbinary(9), n int unsigned, PRIMARY KEY (t, s, n)",
        "SELECT '2024-05-05' + INTERVAL seq % 2 DAY, CHAR(seq % 3), seq FROM seq_1_to_3000",
    ),
}


@pytest.mark.parametrize("kind", KEYS)
def test_units_follow_rows_whatever_the_key(mysql, read, kind):
    """C03, C04, C05, C08: every row once, in units of about equally many rows."""
    declared, filling = KEYS[kind]
    mysql.execute(f"CREATE TABLE t({declared}); INSERT INTO t {filling}; ANALYZE TABLE t")
    got = read("t", mode=Mode.CHUNKED, chunk_count=8)
    assert len(set(got.rows())) == got.table.num_rows == ROWS
    sizes = [table.num_rows for table in got.tables]
    assert 6 <= len(sizes) <= 8, sizes
    assert max(sizes) <= 2.5 * statistics.median(sizes), sizes
    assert all(unit.kind is UnitKind.RANGE for unit in got.units)


def test_the_statements_do_not_grow_with_the_table(mysql, plain):
    counts = []
    for rows in (3_000, 30_000):
        mysql.execute(
            f"CREATE OR REPLACE TABLE t(id varchar(40) PRIMARY KEY); INSERT INTO t SELECT MD5(seq) FROM seq_1_to_{rows}"
        )
        mysql.execute("ANALYZE TABLE t")
        before = len(mysql.log.statements())
        units = plain.units(spec(mode=Mode.CHUNKED, chunk_count=16), ())
        counts.append(len(mysql.log.statements()) - before)
        assert len(units) > 10
    assert max(counts) <= 40


def spec(**keys):
    from rivet_core.facts import ReadSpec

    return ReadSpec(export="e", table="t", **keys)


def test_chunks_by_days_of_the_key(mysql, read, read_once):
    mysql.execute("CREATE TABLE t(at datetime(6), id int, PRIMARY KEY (at, id), u date)")
    mysql.execute(
        "INSERT INTO t SELECT '2024-02-27 23:59:59.999999' + INTERVAL seq * 6 HOUR, seq, '2024-01-01' FROM seq_0_to_19"
    )
    got = read("t", mode=Mode.CHUNKED, chunk_by_days=2)
    days = [[value.day for value in table.column("at").to_pylist()] for table in got.tables]
    assert [sorted(set(one)) for one in days] == [[27, 28], [1, 29], [2, 3]]
    assert sum(len(one) for one in days) == 20
    with pytest.raises(ConfigError, match="no key"):
        read_once("t", mode=Mode.CHUNKED, chunk_by_days=1, chunk_column="u")
    with pytest.raises(ConfigError, match="needs a date or timestamp"):
        read_once("t", mode=Mode.CHUNKED, chunk_by_days=1, chunk_column="id")
    mysql.execute("CREATE TABLE nokey(d date)")
    with pytest.raises(ConfigError, match="no primary key"):
        read_once("nokey", mode=Mode.CHUNKED, chunk_by_days=1)


def test_c07_never_more_units_with_rows_than_values(mysql, read):
    mysql.execute("CREATE TABLE t(id varchar(9) PRIMARY KEY); INSERT INTO t SELECT seq FROM seq_0_to_10; ANALYZE TABLE t")
    for count in (1, 2, 3, 10, 11, 100):
        got = read("t", mode=Mode.CHUNKED, chunk_count=count)
        assert sorted(got.column("id")) == sorted(str(n) for n in range(11))
        assert sum(table.num_rows > 0 for table in got.tables) <= 11


@pytest.mark.parametrize("collation", ["cp1251_general_ci", "geostd8_bin", "swe7_swedish_ci", "ascii_bin"])
def test_text_keys_of_bytes_that_no_letter_has_end_and_lose_no_row(mysql, read, collation):
    """Such a byte arrives as a question mark, behind which another page begins than behind the key itself."""
    charset = collation.partition("_")[0]
    mysql.execute(f"CREATE TABLE t(k varchar(9) CHARACTER SET {charset} COLLATE {collation} PRIMARY KEY, v int)")
    keys = ", ".join(
        f"(_{charset} X'{byte:02X}{tail}', {byte})" for byte in range(33, 256) for tail in ("", "61", "62", "6162", "63")
    )
    mysql.execute(f"INSERT IGNORE INTO t VALUES {keys}")
    there = [row[0] for row in mysql.execute("SELECT v FROM t ORDER BY v")]
    tuning = Tuning(batch_rows=20, batch_bytes=1000, pause_share=0.0)
    for mode in ({}, {"mode": Mode.CHUNKED, "chunk_count": 5}):
        assert sorted(read("t", tuning=tuning, **mode).column("v")) == there


def test_keys_of_dates_that_no_calendar_has(mysql, read):
    mysql.execute("CREATE TABLE t(k datetime PRIMARY KEY, v int)")
    mysql.execute("INSERT INTO t SELECT '2024-01-01' + INTERVAL seq HOUR, seq FROM seq_1_to_1500; SET sql_mode = '';")
    mysql.execute("SET sql_mode = ''; INSERT INTO t VALUES ('0000-00-00', 0), ('2023-00-00', -1), ('2024-02-00', -2)")
    for keys in ({"chunk_count": 4}, {"chunk_by_days": 10, "chunk_column": "k"}):
        got = read("t", mode=Mode.CHUNKED, **keys)
        assert len(got.units) > 2
        assert sorted(got.column("v")) == [*range(-2, 1), *range(1, 1501)]


@pytest.mark.parametrize("zero", ["0000-00-00", "2023-00-10", "2024-00-00"])
def test_a_lookback_from_a_date_that_no_calendar_has(mysql, read, zero):
    mysql.execute("CREATE TABLE t(id int PRIMARY KEY, d date)")
    mysql.execute(f"SET sql_mode = ''; INSERT INTO t VALUES (1, '{zero}')")
    keys = {"mode": Mode.INCREMENTAL, "cursor": ("d",), "lookback_seconds": 86400.0}
    first = read("t", **keys)
    mysql.execute("INSERT INTO t VALUES (2, '2024-01-02')")
    assert sorted(read("t", committed=first.marks[0] or (), **keys).column("id")) == [1, 2]
