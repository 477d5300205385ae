"""What the server adds up is what is read: policies for values out of range, overrides, encodings, every kind of unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import Mode, Unit, UnitKind
from rivet_core.sql.canonical import digest_of
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect


def agree(source, spec, columns, left_out=()):
    """Compare the digest of every unit with that of its rows; return the rows."""
    rows = 0
    covered = [name for name in columns if name not in left_out]
    for unit in source.session.units(spec, ()):
        said = source.session.digest(spec, unit, columns)
        table, _ = source.read_unit(spec, unit)
        read = digest_of(table.to_batches(), covered)
        assert (said.rows, said.total, said.left_out) == (read.rows, read.total, tuple(left_out)), unit
        rows += said.rows
    return rows


@pytest.mark.parametrize("policy", ["null_counted", "text"])
def test_values_out_of_range(source, policy):
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz, n numeric(8,2), h time, l timestamp[]);"
        "INSERT INTO t VALUES (1, 'infinity', '-infinity', 'infinity', 'NaN', '24:00', '{infinity,2024-01-01}'),"
        " (2, '2024-01-01', '294276-12-31', '-infinity', 1.10, '12:00', '{NULL}'),"
        " (3, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    names = ("id", "d", "ts", "tz", "n", "h", "l")
    assert agree(source, source.spec("t", out_of_range=policy), names) == 3


def test_a_value_that_a_read_would_refuse_is_not_taken_for_null(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, d date); INSERT INTO t VALUES (1, NULL)")
    spec = source.spec("t")
    (unit,) = source.session.units(spec, ())
    before = source.session.digest(spec, unit, ("id", "d"))
    source.execute("UPDATE t SET d = 'infinity'")
    assert source.session.digest(spec, unit, ("id", "d")) != before


def test_overrides(source):
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, whole numeric, exact numeric, wide int, rough numeric(10,3), said date, flag int,"
        " moment text, single numeric, halved float8, counted int8);"
        "INSERT INTO t VALUES (1, 12.00, 1.10, 7, 0.125, '2024-01-01', 1, '2024-01-01', 0.1, 0.1, 16777216),"
        " (2, 0, -5, 0, 2, NULL, 0, NULL, 7038531e-26, 'NaN', -1)"
    )
    chosen = {
        "whole": "int64",
        "exact": "decimal(10,2)",
        "wide": "decimal(12,0)",
        "rough": "double",
        "said": "text",
        "flag": "bool",
        "moment": "date",
        "single": "float",
        "halved": "float",
        "counted": "float",
    }
    spec = source.spec("t", overrides=chosen)
    names = ("id", "whole", "exact", "wide", "rough", "said", "flag", "moment", "single", "halved", "counted")
    assert agree(source, spec, names, left_out=("flag", "moment")) == 2


def test_every_kind_of_unit(source):
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, at timestamptz, n int); CREATE INDEX ON t (at);"
        "INSERT INTO t SELECT i, CASE WHEN i % 10 > 0 THEN now() - i * interval '1 hour' END, i % 7"
        " FROM generate_series(1, 200) AS i;"
        "ANALYZE t"
    )
    names = ("at", "n", "id")
    assert agree(source, source.spec("t", mode=Mode.CHUNKED, chunk_column="id", chunk_count=4), names) == 200
    assert agree(source, source.spec("t", mode=Mode.INCREMENTAL, cursor=("at",)), names) == 200
    assert agree(source, source.spec("t", mode=Mode.TIME_WINDOW, time_column="at", days_window=3), names) > 20
    asked = source.spec(query="SELECT at, n, id FROM t WHERE n % 2 = 0 -- '%s; {}\n")
    assert agree(source, asked, names) > 50
    upto = source.session.units(source.spec("t", mode=Mode.CHUNKED, chunk_column="id", chunk_count=4), ())[0].upper
    unit = Unit(index=0, kind=UnitKind.RANGE, columns=("id",), upper=upto)
    assert source.session.digest(source.spec("t"), unit, names).rows == int(upto[0].value)


def test_a_column_that_is_gone_is_named(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY)")
    spec = source.spec("t")
    with pytest.raises(ConfigError, match="no column 'total'"):
        source.session.digest(spec, source.session.units(spec, ())[0], ("id", "total"))


def test_as_many_columns_as_a_table_may_have(source):
    names = [f"c{number}" for number in range(900)]
    source.execute(f"CREATE TABLE t ({', '.join(f'{name} int' for name in names)}); INSERT INTO t (c0, c899) VALUES (1, 2)")
    assert agree(source, source.spec("t"), tuple(names)) == 1


def test_text_of_another_encoding_is_hashed_in_utf8(source):
    there = replace(source.database, name=f"{source.database.name}_latin1")
    create = f"CREATE DATABASE {there.name} OWNER {there.user} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
    source.database.execute(create, admin=True)
    session = connect(PostgresOptions.model_validate({"url": there.url, "engine": source.engine}))
    try:
        there.execute(
            "CREATE TABLE t (id int PRIMARY KEY, a text, b char(4)); INSERT INTO t VALUES (1, 'é', 'ü'), (2, '', NULL)"
        )
        spec = source.spec("t")
        (unit,) = session.units(spec, ())
        stream = session.read(spec, unit)
        assert session.digest(spec, unit, ("id", "a", "b")) == digest_of(stream, ("id", "a", "b"))
        stream.close()
    finally:
        session.close()
        source.database.execute(f"DROP DATABASE {there.name} WITH (FORCE)", admin=True)
