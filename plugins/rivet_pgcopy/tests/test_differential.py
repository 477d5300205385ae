"""The same table through ADBC and through COPY decoded here: same schema, values, counts and refusals; psycopg agrees."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivet_core.facts import Tuning

from .reading import exact, read

FLOATS = ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "0.1", "'1e-45'", "3.25", "NULL"]
TYPES: dict[str, list[str]] = {
    "smallint": ["-32768", "32767", "0", "NULL"],
    "integer": ["-2147483648", "2147483647", "NULL"],
    "bigint": ["-9223372036854775808", "9223372036854775807", "NULL"],
    "oid": ["0", "4294967295", "NULL"],
    "real": FLOATS,
    "double precision": [*FLOATS, "'5e-324'", "'1.7976931348623157e308'"],
    "numeric(5,2)": ["999.99", "-0.01", "0", "NULL"],
    "numeric(38,10)": ["1234567890123456789012345678.0123456789", "-0.0000000001", "NULL"],
    "numeric(5,-2)": ["12300", "-9999900", "0", "NULL"],
    "numeric(3,5)": ["0.00123", "-0.00999", "NULL"],
    "numeric(30,30)": ["0.01", "0." + "9" * 30, "-0." + "0" * 29 + "1", "NULL"],
    "numeric(60,10)": ["9" * 50 + ".0123456789", "-1", "0", "NULL"],
    "numeric(76,38)": ["9" * 38 + "." + "9" * 38, "-" + "1" + "0" * 37, "NULL"],
    "numeric(100,2)": ["9" * 98 + ".99", "1.10", "NULL"],
    "numeric(9,3)": ["'NaN'", "1.5", "NULL"],
    "numeric": ["1e400", "1.10", "-0.000", "'NaN'", "'Infinity'", "'-Infinity'", "NULL"],
    "money": ["'-92233720368547758.08'::numeric::money", "1.5::numeric::money", "NULL"],
    "boolean": ["true", "false", "NULL"],
    "text": ["''", "'é🚲'", "E'a\\tb\\nc\\\\'", "repeat('x', 1000000)", "'NULL'", "NULL"],
    "varchar(7)": ["'ab '", "''", "NULL"],
    "char(5)": ["'ab'", "''", "NULL"],
    "name": ["'x'", "NULL"],
    '"char"': ["'x'", "''", "NULL"],
    "bytea": ["'\\x00ff00'", "''", "NULL"],
    "date": ["'2024-02-29'", "'0001-01-01'", "'4713-01-01 BC'", "'5874897-12-31'", "NULL"],
    "date not null": ["'infinity'", "'-infinity'", "'1970-01-01'"],
    "timestamp": ["'294246-12-31 23:59:59.999999'", "'4713-01-01 BC'", "'1969-12-31 23:59:59.999999'", "NULL"],
    "timestamp(3)": ["'infinity'", "'-infinity'", "'294276-12-31'", "'1970-01-01'"],
    "timestamptz": ["'2024-01-01 05:30+05:30'", "'0001-01-01 00:00+00 BC'", "NULL"],
    "timestamptz(0)": ["'infinity'", "'-infinity'", "'2024-06-01 00:00+02'", "NULL"],
    "time": ["'23:59:59.999999'", "'00:00'", "NULL"],
    "time(0)": ["'24:00:00'", "'12:00'", "NULL"],
    "timetz": ["'12:00:00.5+02'", "'24:00:00-15:59'", "NULL"],
    "interval": ["'1 mon -1 days +02:03:04.000005'", "'30 days'", "NULL"],
    "uuid": ["'00112233-4455-6677-8899-aabbccddeeff'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "NULL"],
    "json": ["""'{"n":1, "n":1.10}'""", "'null'", "'1E400'", "NULL"],
    "jsonb": ["""'{"n":1234567890123456789}'""", "'null'", "'[]'", "NULL"],
    "mood": ["'sad'", "'ok'", "NULL"],
    "price": ["1.5", "0", "NULL"],
    "code": ["'ab'", "NULL"],
    "tags": ['\'{a,NULL,"NULL","a,b"}\'', "'{}'", "NULL"],
    "inet": ["'10.0.0.1'", "'::1/64'", "NULL"],
    "bit(5)": ["B'10101'", "NULL"],
    "int4range": ["'[1,5)'", "'empty'", "NULL"],
    "point": ["'(1,2)'", "NULL"],
    "tsvector": ["'a:1 b:2'", "NULL"],
    "addr": ["ROW('Main, \"St\"', NULL)", "NULL"],
    "integer[]": ["'{1,NULL,-3}'", "'{}'", "NULL"],
    "integer[][]": ["'{{1,2},{3,4}}'", "'{}'", "NULL"],
    "bigint[]": ["'{1,2}'", "'{{1,2},{3,4}}'", "NULL"],
    "text[] not null": ["'{1,2}'", "'[0:1]={3,4}'"],
    "smallint[]": ["'[-1:0][3:4]={{1,2},{3,4}}'", "'{1}'"],
    "real[]": ["'{NaN,-0,1.5,NULL}'", "NULL"],
    "float8[]": ["'{NaN,Infinity,-Infinity,-0}'", "'{}'", "NULL"],
    "boolean[]": ["'{t,f,NULL}'", "'{}'", "NULL"],
    "text[]": ["'{}'", '\'{NULL,"NULL","a,b","",é}\'', "NULL"],
    "varchar(3)[]": ["'{ab,c}'", "NULL"],
    "char(3)[]": ["'{ab,c}'", "NULL"],
    "name[]": ["'{ab,c}'", "NULL"],
    "bytea[]": ["ARRAY['\\x00ff'::bytea, NULL, '']", "NULL"],
    "numeric(5,1)[]": ["'{1.5,NULL,-9999.9}'", "'{}'", "NULL"],
    "numeric(50,5)[]": ["'{1.5,NULL}'", "NULL"],
    "numeric(6,1)[]": ["'{1.5,NaN}'", "'{NaN}'"],
    "numeric[]": ["'{1.10,NaN,1e50}'", "NULL"],
    "money[]": ["ARRAY[1.5::numeric::money]", "'{}'", "NULL"],
    "oid[]": ["'{0,4294967295,NULL}'", "NULL"],
    "date[]": ["'{2024-02-29,NULL}'", "'{}'"],
    "date[] not null": ["'{2024-01-01,infinity}'", "'{-infinity}'"],
    "timestamp[]": ["'{2024-02-29 01:02:03.000004,NULL}'", "NULL"],
    "timestamptz[]": ["'{2024-02-29 01:02:03.000004+02}'", "NULL"],
    "time[]": ["'{24:00:00,12:00}'", "NULL"],
    "uuid[]": ["'{00112233-4455-6677-8899-aabbccddeeff,NULL}'", "NULL"],
    "jsonb[]": ["""ARRAY['{"a": "x,y"}'::jsonb, NULL]""", "NULL"],
    "mood[]": ["'{sad,NULL}'", "'{{sad,ok},{ok,sad}}'"],
    "inet[]": ["'{10.0.0.1}'", "NULL"],
    "interval[]": ["'{1 mon}'", "NULL"],
    "box[]": ["'{(1,1),(0,0);(2,2),(1,1)}'", "NULL"],
    "price[]": ["'{1,2.5}'", "NULL"],
}
SETUP = """CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE addr AS (street text, no int);
CREATE DOMAIN money2 AS numeric(10,2); CREATE DOMAIN price AS money2; CREATE DOMAIN code AS char(4);
CREATE DOMAIN tags AS text[]"""
ROWS = 24
NAMES = {f"c{at}": type_ for at, type_ in enumerate(TYPES)}


@pytest.fixture(scope="module")
def everything(shared):
    """A table with a column for each type; each row takes the next edge value of each."""
    shared.execute(SETUP)
    columns = ", ".join(f"{name} {type_}" for name, type_ in NAMES.items())
    shared.execute(f"CREATE TABLE everything (id int PRIMARY KEY, {columns})")
    for row in range(ROWS):
        values = ", ".join(literals[row % len(literals)] for literals in TYPES.values())
        shared.execute(f"INSERT INTO everything VALUES ({row}, {values})")
    return "everything"


@pytest.mark.parametrize("policy", ["fail", "null_counted", "text"])
@pytest.mark.parametrize("name", NAMES, ids=NAMES.values())
def test_each_type_alone_reads_the_same_or_is_refused_in_the_same_words(everything, sessions, name, policy):
    keys = {"columns": ("id", name), "out_of_range": policy}
    adbc, pgcopy = (read(sessions[engine], everything, **keys) for engine in ("adbc", "pgcopy"))
    assert adbc == pgcopy
    if adbc.refusal is None:
        assert len(pgcopy.columns[name]) == ROWS
    else:
        assert name in adbc.refusal[0]


def test_all_types_in_one_row(everything, sessions):
    readable = tuple(
        name
        for name in NAMES
        if read(sessions["adbc"], everything, columns=(name,), out_of_range="null_counted").refusal is None
    )
    assert len(readable) > len(NAMES) - 5
    keys = {"columns": readable, "out_of_range": "null_counted", "tuning": Tuning(batch_bytes=1 << 16, page_seconds=0)}
    adbc, pgcopy = (read(sessions[engine], everything, **keys) for engine in ("adbc", "pgcopy"))
    assert adbc == pgcopy
    assert pgcopy.counts
    assert sum(pgcopy.counts.values()) > 20


@pytest.mark.parametrize(
    "overrides",
    [
        {"v": "text"},
        {"v": "decimal(12,4)"},
        {"v": "float8"},
        {"n": "bigint"},
        {"n": "decimal(40,2)"},
        {"n": "float4"},
        {"i": "bool"},
        {"i": "decimal(3,1)"},
        {"i": "smallint"},
        {"s": "uuid"},
        {"u": "text"},
        {"d": "text"},
        {"o": "integer"},
        {"n": "text"},
    ],
)
def test_overrides_read_the_same_or_fail_in_the_same_words(shared, sessions, overrides):
    shared.execute(
        "DROP TABLE IF EXISTS overridden;"
        "CREATE TABLE overridden(v numeric, n numeric(8,2), i int, s text, u uuid, d date, o oid)"
    )
    uuid = "'00112233-4455-6677-8899-aabbccddeeff'"
    shared.execute(
        f"INSERT INTO overridden VALUES (1.5, 2.00, 1, {uuid}, {uuid}, '2024-01-01', 7), (3, 4.00, 0, {uuid}, NULL, NULL, 9)"
    )
    adbc, pgcopy = (read(session, "overridden", overrides=overrides) for session in sessions.values())
    assert adbc == pgcopy
    shared.execute("INSERT INTO overridden VALUES (1.23456, 1e5, 70000, 'x', NULL, '1970-01-01', 4294967295)")
    adbc, pgcopy = (read(session, "overridden", overrides=overrides) for session in sessions.values())
    assert adbc == pgcopy


BITS32 = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=40)
GENERATED = {
    "i2 smallint": st.integers(-(2**15), 2**15 - 1),
    "i4 integer": st.integers(-(2**31), 2**31 - 1),
    "i8 bigint": st.integers(-(2**63), 2**63 - 1),
    "f4 real": st.floats(width=32),
    "f8 double precision": st.floats(),
    "n numeric(20,5)": st.decimals(-(10**14), 10**14, places=5),
    "w numeric(60,20)": st.decimals(-(10**39), 10**39, places=20),
    "u numeric": st.decimals(allow_nan=False, allow_infinity=False, places=8),
    "b boolean": st.booleans(),
    "t text": TEXT,
    "y bytea": st.binary(max_size=40),
    "d date": st.dates(),
    "ts timestamp": st.datetimes(),
    "tz timestamptz": st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)),  # noqa: DTZ001
    "ti time": st.times(),
    "g uuid": st.uuids(),
    "j jsonb": st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=5
    ).map(json.dumps),
    "la bigint[]": st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=6),
    "lt text[]": st.lists(st.none() | TEXT, max_size=4),
    "ln numeric(12,3)[]": st.lists(st.none() | st.decimals(-(10**8), 10**8, places=3), max_size=4),
}
COLUMNS = [declared.split()[0] for declared in GENERATED]


@pytest.fixture(scope="module")
def generated(shared):
    shared.execute(f"CREATE TABLE generated (id int PRIMARY KEY, {', '.join(GENERATED)})")
    with psycopg.connect(shared.url, autocommit=True) as connection:
        yield connection


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.tuples(*(st.none() | values for values in GENERATED.values())), min_size=1, max_size=20))
def test_generated_rows_are_what_psycopg_says_through_both(generated, sessions, rows):
    generated.execute("TRUNCATE generated")
    marks = ", ".join(["%s"] * (len(COLUMNS) + 1))
    with generated.cursor() as cursor:
        cursor.executemany(f"INSERT INTO generated VALUES ({marks})", [(at, *row) for at, row in enumerate(rows)])
    found = [read(session, "generated") for session in sessions.values()]
    assert found[0] == found[1]
    texts = {"u": "u::text", "j": "j::text"}
    with generated.cursor(binary=True) as cursor:  # as text a real would come with the digits of a double
        wanted = cursor.execute(
            f"SELECT {', '.join(texts.get(name, name) for name in COLUMNS)} FROM generated ORDER BY id"
        ).fetchall()
    for at, name in enumerate(COLUMNS):
        assert found[1].columns[name] == [number(row[at]) for row in wanted], name


def number(value: object) -> object:
    """Return what psycopg gives as `reading` has it: times as the numbers Arrow keeps."""
    if isinstance(value, datetime):
        since = value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return exact(value)


def test_rows_of_five_megabytes_come_one_batch_after_another(shared, sessions):
    shared.execute("CREATE TABLE fat (id int PRIMARY KEY, v text, b bytea); ALTER TABLE fat ALTER v SET STORAGE EXTERNAL")
    shared.execute(
        "INSERT INTO fat SELECT g, repeat(chr(64 + g), 5 << 20), decode(repeat('ab', 1 << 19), 'hex') "
        "FROM generate_series(1, 12) g"
    )
    adbc, pgcopy = (read(session, "fat", tuning=Tuning(batch_bytes=8 << 20, page_seconds=0)) for session in sessions.values())
    assert adbc == pgcopy
    assert [len(value) for value in pgcopy.columns["v"]] == [5 << 20] * 12
