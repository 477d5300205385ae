"""What the server adds up is what is read: zero dates, padding, overrides, every kind of unit, rows too long to hash."""

from __future__ import annotations

import pytest

from rivet_core.errors import SourceError
from rivet_core.facts import Mode, ReadSpec
from rivet_core.sql.canonical import digest_of
from rivet_mysql.options import MysqlOptions
from rivet_mysql.session import connect


def agree(session, columns, left_out=(), **keys):
    """Compare the digest of every unit with that of its rows; return the number of rows."""
    spec = ReadSpec(export="e", **keys)
    rows = 0
    for unit in session.units(spec, ()):
        said = session.digest(spec, unit, columns)
        stream = session.read(spec, unit)
        read = digest_of(stream, [name for name in columns if name not in left_out])
        stream.close()
        assert (said.rows, said.total, said.left_out) == (read.rows, read.total, tuple(left_out)), unit
        rows += said.rows
    return rows


@pytest.mark.parametrize("policy", ["null_counted", "text"])
def test_zero_and_partial_dates(session, mysql, policy):
    mysql.execute("CREATE TABLE t (id int PRIMARY KEY, d date, at datetime(6), ts timestamp(6) NULL)")
    mysql.execute(
        "SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES (1, '0000-00-00', '2024-00-10 01:02:03', '0000-00-00'),"
        " (2, '2024-01-01', '2024-01-01 00:00:00.5', '2024-01-01 00:00:00.5'), (3, NULL, NULL, NULL)"
    )
    assert agree(session, ("id", "d", "at", "ts"), table="t", out_of_range=policy) == 3


def test_padding_of_numbers_is_not_part_of_them(session, mysql):
    mysql.execute("CREATE TABLE t (id int PRIMARY KEY, z int(8) zerofill, d decimal(8,2) zerofill, y year)")
    mysql.execute("INSERT INTO t VALUES (1, 7, 1.50, 2024), (2, 0, 0, 0), (3, NULL, NULL, NULL)")
    assert agree(session, ("z", "d", "y", "id"), table="t") == 3


def test_overrides(session, mysql):
    mysql.execute(
        "CREATE TABLE t (id int PRIMARY KEY, flag tinyint(1), wide int, said date, text_number varchar(9), raw blob, f float)"
    )
    mysql.execute("INSERT INTO t VALUES (1, 1, 7, '2024-01-01', '1.50', 'é', 123456.789), (2, 0, NULL, NULL, NULL, NULL, 7)")
    chosen = {"flag": "bool", "wide": "decimal(12,2)", "said": "text", "text_number": "decimal(6,2)", "raw": "text"}
    names = ("id", "flag", "wide", "said", "text_number", "raw", "f")
    for wanted in ("text", "decimal(12,4)"):
        assert agree(session, names, ("text_number", "raw", "f"), table="t", overrides=chosen | {"f": wanted}) == 2


def test_every_kind_of_unit(session, mysql):
    mysql.execute("CREATE TABLE t (id int PRIMARY KEY, at datetime(6), n int, KEY (at))")
    mysql.execute("INSERT INTO t SELECT seq, IF(seq % 10, now() - INTERVAL seq HOUR, NULL), seq % 7 FROM seq_1_to_200")
    names = ("at", "n", "id")
    assert agree(session, names, table="t", mode=Mode.CHUNKED, chunk_column="id", chunk_count=4) == 200
    assert agree(session, names, table="t", mode=Mode.INCREMENTAL, cursor=("at",)) == 200
    assert agree(session, names, table="t", mode=Mode.TIME_WINDOW, time_column="at", days_window=3) > 20
    assert agree(session, names, query="SELECT at, n, id FROM t WHERE n % 2 = 0 -- '%s; {}\n") > 50


def test_a_row_too_long_to_hash_is_an_error_and_no_difference(mysql):
    limit = int(mysql.execute("SELECT @@max_allowed_packet")[0][0])
    mysql.execute("CREATE TABLE t (id int PRIMARY KEY, a longblob)")
    mysql.execute(f"INSERT INTO t VALUES (1, 'short'), (2, REPEAT('x', {limit // 2 + 100}))")
    session = connect(MysqlOptions(url=mysql.url))
    spec = ReadSpec(export="e", table="t")
    try:
        (unit,) = session.units(spec, ())
        with pytest.raises(SourceError, match="max_allowed_packet"):
            session.digest(spec, unit, ("id", "a"))
    finally:
        session.close()


@pytest.mark.parametrize("mode", ["ORACLE", "ANSI,NO_BACKSLASH_ESCAPES", "TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH"])
def test_whatever_the_server_s_mode(mysql, mode):
    mysql.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(30), c char(9), s set('ä','b'), d decimal(9,2), f double, b blob,"
        " y date);"
        r"INSERT INTO t VALUES (1, 'é🚲', 'ü', 'ä,b', 1.50, 0.1, x'00ff', '2024-02-29'), (2, '', '', '', 0, 0, '', NULL),"
        r" (3, 'a\\b''c', NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    old = mysql.execute("SELECT @@GLOBAL.sql_mode", admin=True)[0][0]
    mysql.execute(f"SET GLOBAL sql_mode = '{mode}'", admin=True)
    try:
        session = connect(MysqlOptions(url=mysql.url))
        try:
            assert agree(session, ("id", "v", "c", "s", "d", "f", "b", "y"), table="t") == 3
        finally:
            session.close()
    finally:
        mysql.execute(f"SET GLOBAL sql_mode = '{old}'", admin=True)
