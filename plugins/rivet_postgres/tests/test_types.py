"""Every type arrives exactly, as the server's text, or is refused by name; in every mode alike."""

from __future__ import annotations

import math
import struct
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Fidelity, Mode


def column(source, type_, *values, **keys):
    """Store literals of a type, read them back."""
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, v {type_})")
    for number, value in enumerate(values):
        source.execute(f"INSERT INTO t VALUES ({number}, {value})")
    table = source.full("t", **keys).sort_by("id")
    return table.schema.field("v").type, table["v"].to_pylist()


SCALARS = [
    ("smallint", ["-32768", "32767", "NULL"], pa.int16(), [-32768, 32767, None]),
    ("integer", ["-2147483648", "NULL"], pa.int32(), [-2147483648, None]),
    ("bigint", ["-9223372036854775808"], pa.int64(), [-9223372036854775808]),
    ("oid", ["4294967295", "NULL"], pa.int64(), [4294967295, None]),
    ("boolean", ["true", "false", "NULL"], pa.bool_(), [True, False, None]),
    ("text", ["''", "'a%b:x{}'", "E'tab\\tquote'' é🚲'", "NULL"], pa.string(), ["", "a%b:x{}", "tab\tquote' é🚲", None]),
    ("varchar(5)", ["'ab '"], pa.string(), ["ab "]),
    ("char(5)", ["'ab'"], pa.string(), ["ab   "]),
    ("name", ["'x'"], pa.string(), ["x"]),
    ('"char"', ["'x'", "''"], pa.string(), ["x", ""]),
    ("bytea", ["'\\x00ff00'", "''", "NULL"], pa.binary(), [b"\x00\xff\x00", b"", None]),
    ("date", ["'2024-02-29'", "'0044-03-15'", "NULL"], pa.date32(), [date(2024, 2, 29), date(44, 3, 15), None]),
    ("timestamp", ["'2024-02-29 23:59:59.999999'"], pa.timestamp("us"), [datetime(2024, 2, 29, 23, 59, 59, 999999)]),  # noqa: DTZ001
    ("timestamptz", ["'2024-01-01 05:30+05:30'"], pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=UTC)]),
    ("time", ["'23:59:59.999999'", "'00:00'"], pa.time64("us"), [time(23, 59, 59, 999999), time(0)]),
    ("timetz", ["'12:00:00.5+02'"], pa.string(), ["12:00:00.5+02"]),
    ("numeric(4,0)", ["2013"], pa.decimal128(4, 0), [Decimal(2013)]),
    ("numeric(32,16)", ["1.0000000000000001"], pa.decimal128(32, 16), [Decimal("1.0000000000000001")]),
    ("numeric(18,6)", ["-0.000001", "NULL"], pa.decimal128(18, 6), [Decimal("-0.000001"), None]),
    ("numeric", ["1e400", "'NaN'", "1.10"], pa.string(), ["1" + "0" * 400, "NaN", "1.10"]),
    ("uuid", ["'00112233-4455-6677-8899-aabbccdd0000'"], pa.uuid(), [uuid.UUID("00112233-4455-6677-8899-aabbccdd0000")]),
    ("bit(5)", ["B'10101'"], pa.string(), ["10101"]),
    ("varbit", ["B'101'"], pa.string(), ["101"]),
    ("inet", ["'10.0.0.1'", "'10.0.0.1/8'", "NULL"], pa.string(), ["10.0.0.1", "10.0.0.1/8", None]),
    ("cidr", ["'10.0.0.0/8'"], pa.string(), ["10.0.0.0/8"]),
    ("macaddr", ["'08:00:2b:01:02:03'"], pa.string(), ["08:00:2b:01:02:03"]),
    ("int4range", ["'[1,5)'", "'empty'"], pa.string(), ["[1,5)", "empty"]),
    ("tstzrange", ["'[2024-01-01 00:00+00,)'"], pa.string(), ['["2024-01-01 00:00:00+00",)']),
    ("tsvector", ["'a:1 b:2'"], pa.string(), ["'a':1 'b':2"]),
    ("point", ["'(1,2)'"], pa.string(), ["(1,2)"]),
    ("pg_lsn", ["'16/B374D848'"], pa.string(), ["16/B374D848"]),
]


@pytest.mark.parametrize(("type_", "literals", "arrow", "values"), SCALARS, ids=[case[0] for case in SCALARS])
def test_scalar(source, type_, literals, arrow, values):
    assert column(source, type_, *literals) == (arrow, values)


def test_t03_money_is_exact_whatever_the_locale(source, database):
    for locale in ("C", "en_US.UTF-8"):
        available = database.execute("SELECT count(*) FROM pg_collation WHERE collcollate = %s", [locale])[0][0]
        if locale != "C" and not available:
            continue
        database.execute(f"ALTER DATABASE \"{database.name}\" SET lc_monetary = '{locale}'")
        database.execute("DROP TABLE IF EXISTS t")
        values = column(source, "money", "'-1234567.89'::numeric::money", "'92233720368547758.07'::numeric::money")
        assert values == (pa.decimal128(19, 2), [Decimal("-1234567.89"), Decimal("92233720368547758.07")])


def test_t04_json_passes_untouched(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, j jsonb, jt json)")
    source.execute("""INSERT INTO t VALUES (1, '{"n":1234567890123456789}', '{"n":1,"n":1.10}'), (2, '1E400', '1E400'),
                      (3, 'null', 'null'), (4, NULL, NULL)""")
    table = source.full("t").sort_by("id")
    j, jt = table["j"].to_pylist(), table["jt"].to_pylist()
    assert j[0] == '{"n": 1234567890123456789}'
    assert jt[0] == '{"n":1,"n":1.10}'
    assert len(j[1]) == 401
    assert (j[2], j[3], jt[2], jt[3]) == ("null", None, "null", None)


def test_t05_arrays(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, a int[], m int[][], s text[], u uuid[], n numeric(5,1)[])")
    source.execute("""INSERT INTO t VALUES (1, '{1,NULL,3}', '{{1,2},{3,4}}', '{}', NULL, '{1.5,NULL}'),
                      (2, NULL, NULL, '{NULL,"NULL","a,b",""}', '{}', '{}')""")
    table = source.full("t").sort_by("id")
    assert table.schema.field("a").type == pa.list_(pa.int32())
    assert table["a"].to_pylist() == [[1, None, 3], None]
    assert table["m"].to_pylist() == ["{{1,2},{3,4}}", None]
    assert table["s"].to_pylist() == [[], [None, "NULL", "a,b", ""]]
    assert table["u"].to_pylist() == [None, []]
    assert table["n"].to_pylist() == [[Decimal("1.5"), None], []]


def test_t05_more_arrays(source):
    source.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    source.execute("CREATE DOMAIN pos AS int CHECK (VALUE > 0)")
    source.execute("""CREATE TABLE t (c char(3)[], e mood[], i inet[], d pos[], o oid[], y money[], j jsonb[], v interval[],
                      b box[], f float8[], ts timestamptz[])""")
    source.execute("""INSERT INTO t VALUES ('{ab,c}', '{sad,NULL}', '{10.0.0.1}', '{1,2}', '{4294967295}',
        ARRAY[1.5::numeric::money], ARRAY['{"a": "x,y"}'::jsonb], '{1 mon}',
        '{(1,1),(0,0)}', '{NaN,-0}', '{2024-01-01 00:00+00}')""")
    row = source.full("t").to_pylist()[0]
    assert row["c"] == ["ab ", "c  "]
    assert row["e"] == ["sad", None]
    assert row["i"] == ["10.0.0.1"]
    assert row["d"] == [1, 2]
    assert row["o"] == [4294967295]
    assert row["y"] == [Decimal("1.50")]
    assert row["j"] == ['{"a": "x,y"}']
    assert row["v"] == ["P1M"]
    assert row["b"] == "{(1,1),(0,0)}"
    assert math.isnan(row["f"][0])
    assert row["ts"] == [datetime(2024, 1, 1, tzinfo=UTC)]


def test_t05_two_dimensions_in_a_list_column_are_refused_never_flattened(source):
    source.execute('CREATE TABLE t(id int PRIMARY KEY, "odd:name" int[])')
    source.execute("INSERT INTO t VALUES (1, '{1}'), (2, '{{1,2},{3,4}}')")
    with pytest.raises(SourceError, match="several dimensions") as caught:
        source.full("t")
    assert caught.value.error_class == "data"
    assert "odd:name" in caught.value.message
    assert source.full("t", overrides={"odd:name": "text"})["odd:name"].to_pylist() == ["{1}", "{{1,2},{3,4}}"]


def test_t06_intervals_stay_apart(source):
    literals = ["'1 mon'", "'30 days'", "'720:00:00'", "'1 mon -1 days +02:03:04.000005'", "'-00:00:01'"]
    assert column(source, "interval", *literals) == (pa.string(), ["P1M", "P30D", "PT720H", "P1M-1DT2H3M4.000005S", "PT-1S"])


def test_t12_floats_bit_for_bit(source):
    literals = ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "5e-324", "0.1"]
    _, values = column(source, "float8", *literals)
    bits = [struct.pack("<d", value) for value in values]
    assert bits[1:] == [struct.pack("<d", v) for v in (math.inf, -math.inf, -0.0, 5e-324, 0.1)]
    assert math.isnan(values[0])


def test_t13_generated_columns_in_their_place(source):
    source.execute(
        """CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a * 2) STORED, c int GENERATED ALWAYS AS IDENTITY, d text)"""
    )
    source.execute("INSERT INTO t(a, d) VALUES (5, 'x')")
    assert source.full("t").to_pylist() == [{"a": 5, "b": 10, "c": 1, "d": "x"}]
    marks = {c.name: c.generated for c in source.facts("t")["t"].columns}
    assert marks == {"a": "", "b": "stored", "c": "identity", "d": ""}


def test_t14_negative_scale_and_large_precision(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, a numeric(5,-2), b numeric(30,30), c numeric(60,10), d numeric(3,5))")
    source.execute("INSERT INTO t VALUES (1, 12300, 0.01, 12345678901234567890123456789012345678901234567890.5, 0.00123)")
    table = source.full("t")
    types = [table.schema.field(name).type for name in "abcd"]
    assert types == [pa.decimal128(7, 0), pa.decimal128(30, 30), pa.decimal256(60, 10), pa.decimal128(5, 5)]
    values = [table[name][0].as_py() for name in "abcd"]
    wide = Decimal("12345678901234567890123456789012345678901234567890.5")
    assert values == [Decimal(12300), Decimal("0.01"), wide, Decimal("0.00123")]


def test_t15_time_24_is_never_midnight(source):
    with pytest.raises(SourceError, match="24:00:00") as caught:
        column(source, "time", "'24:00:00'", "'00:00:00'")
    assert "v" in caught.value.message
    assert source.full("t", out_of_range="text")["v"].to_pylist() == ["24:00:00", "00:00:00"]


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_infinities_follow_the_policy(source, type_):
    with pytest.raises(SourceError, match="column v"):
        column(source, type_, "'infinity'", "'-infinity'", "'2024-01-01'", "NULL")
    texts = source.full("t", out_of_range="text")["v"].to_pylist()
    assert texts[:2] == ["infinity", "-infinity"]
    assert texts[2].startswith("2024-01-01")
    spec = source.spec("t", out_of_range="null_counted")
    table, stream = source.read_unit(spec, source.session.units(spec, ())[0])
    assert [value is None for value in table["v"].to_pylist()] == [True, True, False, True]
    assert stream.counts == {"v: null_counted": 2}
    assert table.schema.field("v").nullable


def test_infinity_inside_an_array_is_found(source):
    with pytest.raises(SourceError, match="column v"):
        column(source, "date[]", "'{2024-01-01,infinity}'")


def test_far_timestamps_are_exact_or_refused(source):
    source.execute("CREATE TABLE t (v timestamp, d date)")
    source.execute("INSERT INTO t VALUES ('294246-12-31', '5874897-12-31'), ('4713-01-01 BC', '4713-01-01 BC')")
    table = source.full("t")
    micros, days = table["v"].cast(pa.int64()).to_pylist(), table["d"].cast(pa.int32()).to_pylist()
    expected = source.execute("SELECT (EXTRACT(epoch FROM v) * 1000000)::int8, d - date '1970-01-01' FROM t")
    assert list(zip(micros, days, strict=True)) == expected
    source.execute("INSERT INTO t VALUES ('294276-12-31', NULL)")
    with pytest.raises(SourceError, match="column v"):
        source.full("t")


def test_nan_in_a_numeric_with_precision_follows_the_policy(source):
    with pytest.raises(SourceError, match="NaN"):
        column(source, "numeric(10,2)", "'NaN'", "1.5")
    assert source.full("t", out_of_range="null_counted")["v"].to_pylist() == [None, Decimal("1.50")]
    assert source.full("t", out_of_range="text")["v"].to_pylist() == ["NaN", "1.50"]


def test_t17_user_types_keep_the_servers_text(source):
    source.execute("""CREATE DOMAIN year_d AS int; CREATE TYPE mood AS ENUM ('sad', 'ok');
        CREATE TYPE addr AS (street text, no int);
        CREATE TABLE t (d year_d, e mood, a addr, r int4range, ts tstzrange, i inet, b bit(5), c char(5))""")
    source.execute("""INSERT INTO t VALUES (5, 'ok', ROW('Main, "St"', NULL), '[1,5)', '[2024-01-01 00:00+00,)', '10.0.0.1/8',
        B'10101', 'ab')""")
    table = source.full("t")
    assert table.schema.field("d").type == pa.int32()
    assert list(table.to_pylist()[0].values()) == [
        5, "ok", '("Main, ""St""",)', "[1,5)", '["2024-01-01 00:00:00+00",)', "10.0.0.1/8", "10101", "ab   ",
    ]  # fmt: skip


def test_domains_over_domains_and_arrays(source):
    source.execute("""CREATE DOMAIN money2 AS numeric(10,2); CREATE DOMAIN price AS money2 CHECK (VALUE >= 0);
        CREATE DOMAIN tags AS text[]; CREATE DOMAIN code AS char(4); CREATE DOMAIN codes AS char(4)[];
        CREATE TABLE t (p price, g tags, c code, cs codes, ca code[]);
        INSERT INTO t VALUES (1.5, '{a,NULL}', 'ab', '{abcd,x}', '{abcd}')""")
    table = source.full("t")
    assert table.schema.field("p").type == pa.decimal128(10, 2)
    assert table.to_pylist() == [{"p": Decimal("1.50"), "g": ["a", None], "c": "ab  ", "cs": ["abcd", "x   "], "ca": ["abcd"]}]


def test_extension_types_are_text(source):
    source.execute("CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION citext", admin=True)
    source.execute("CREATE TABLE t (h hstore, l ltree, c citext, ha hstore[])")
    source.execute("""INSERT INTO t VALUES ('a=>1, b=>NULL', 'Top.Science', 'AbC', ARRAY['a=>1'::hstore])""")
    assert source.full("t").to_pylist() == [{"h": '"a"=>"1", "b"=>NULL', "l": "Top.Science", "c": "AbC", "ha": ['"a"=>"1"']}]


def test_fidelity_is_known_before_a_row_is_read(source):
    source.execute("CREATE TABLE t (i int, n numeric, p numeric(5,2), x inet, u uuid, a int[], e text)")
    found = {c.name: (c.fidelity, c.arrow_type) for c in source.facts("t")["t"].columns}
    assert found == {
        "i": (Fidelity.EXACT, "int32"),
        "n": (Fidelity.TEXT, "string"),
        "p": (Fidelity.EXACT, "decimal128(5, 2)"),
        "x": (Fidelity.TEXT, "string"),
        "u": (Fidelity.EXACT, "fixed_size_binary[16] (uuid)"),
        "a": (Fidelity.EXACT, "list<item: int32>"),
        "e": (Fidelity.EXACT, "string"),
    }


def test_field_metadata_and_nullability(source):
    source.execute("CREATE TABLE t (id int NOT NULL, v varchar(3)); COMMENT ON COLUMN t.v IS 'what it is'")
    schema = source.full("t").schema
    assert not schema.field("id").nullable
    assert schema.field("v").nullable
    assert schema.field("v").metadata == {b"rivet.source_type": b"character varying(3)", b"rivet.comment": b"what it is"}


EVERYTHING = """CREATE TABLE t (id int PRIMARY KEY, n numeric(20,4), m money, d date, ts timestamptz NOT NULL, u uuid, j jsonb,
    a text[], b bytea, iv interval, f float8, e "char", o oid, big numeric(50,3))"""
FILL = """INSERT INTO t SELECT g, g / 7.0, (g / 3)::numeric::money, date '2024-01-01' + g,
    timestamptz '2024-01-01 00:00+00' + g * interval '1.5 s',
    md5(g::text)::uuid, jsonb_build_object('g', g), CASE WHEN g % 3 > 0 THEN ARRAY['x', NULL, g::text] END,
    decode(md5(g::text), 'hex'),
    make_interval(months => g), g / 3.0, 'x', g, g * 1.5 FROM generate_series(1, 500) g"""


@pytest.fixture
def many(source):
    source.execute(EVERYTHING)
    source.execute(FILL)
    return source


@pytest.mark.parametrize(
    "keys",
    [
        {"mode": Mode.FULL},
        {"mode": Mode.INCREMENTAL, "cursor": ("ts",)},
        {"mode": Mode.INCREMENTAL, "cursor": ("n",)},
        {"mode": Mode.CHUNKED, "chunk_count": 7},
        {"mode": Mode.FULL, "query": "SELECT * FROM t -- all of it"},
    ],
    ids=["full", "incremental", "incremental-numeric", "chunked", "query"],
)
def test_all_modes_give_the_same_rows(many, keys):
    keys = {"table": None if "query" in keys else "t", **keys}
    table, _ = many.read(many.spec(**keys))
    reference = many.full("t").sort_by("id")
    result = table.sort_by("id")
    assert [field.type for field in result.schema] == [field.type for field in reference.schema]
    assert result.to_pylist() == reference.to_pylist()
    assert result.num_rows == 500


def test_t16_two_independent_readers_agree(many, tmp_path):
    table = many.full("t").sort_by("id").drop_columns(["big"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == table.to_pylist()
    rows = duckdb.sql(f"SELECT id, n, m, d, a, b, f, o, u, epoch_us(ts) FROM '{tmp_path}/t.parquet' ORDER BY id").fetchall()
    expected = [
        (r["id"], r["n"], r["m"], r["d"], r["a"], r["b"], r["f"], r["o"], r["u"], round(r["ts"].timestamp() * 1e6))
        for r in table.to_pylist()
    ]
    assert rows == expected


def test_psycopg_agrees_value_by_value(many):
    rows = many.execute("SELECT id, n, m::numeric, d, ts, u, j::text, a, b, f, o FROM t ORDER BY id")
    names = ["id", "n", "m", "d", "ts", "u", "j", "a", "b", "f", "o"]
    result = many.full("t").sort_by("id").select(names).to_pylist()
    assert [tuple(row.values()) for row in result] == rows


def test_overrides_fail_loudly(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, n numeric, i int, s text)")
    source.execute("INSERT INTO t VALUES (1, 1.50, 1, '2024-01-01'), (2, 2.25, 0, '2024-01-02')")
    asked = {"n": "decimal(10,2)", "i": "bool", "s": "date"}
    table = source.full("t", overrides=asked)
    assert table.to_pylist()[0] == {"id": 1, "n": Decimal("1.50"), "i": True, "s": date(2024, 1, 1)}
    assert source.full("t", overrides={"i": "decimal(3,1)"}).to_pylist()[0]["i"] == Decimal("1.0")
    assert source.full("t", overrides={"i": "text", "n": "float8"}).to_pylist()[0]["n"] == 1.5
    for bad in ({"n": "decimal(10,1)"}, {"n": "bigint"}, {"s": "uuid"}, {"id": "bool"}):
        with pytest.raises(SourceError, match=next(iter(bad))) as caught:
            source.full("t", overrides=bad)
        assert caught.value.error_class == "data"


def test_an_override_to_json_takes_json_only(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, s text, n numeric, j jsonb, b bytea)")
    source.execute("""INSERT INTO t VALUES (1, '{"a": 1.10}', 1.50, '[1]', '{}'), (2, NULL, NULL, NULL, NULL)""")
    table = source.full("t", overrides=dict.fromkeys("snj", "json"))
    assert [str(table.schema.field(name).type) for name in "snj"] == ["extension<arrow.json>"] * 3
    assert table.to_pylist()[0] == {"id": 1, "s": '{"a": 1.10}', "n": "1.50", "j": "[1]", "b": b"{}"}
    source.execute("INSERT INTO t VALUES (3, '{''a'': 1}', 'NaN', '[1]', '{}')")
    for name in "snb":
        with pytest.raises(SourceError, match=rf"the column {name} .* does not fit .*: a value is no JSON"):
            source.full("t", overrides={name: "json"})
    source.full("t", overrides={"j": "json"})


def test_overrides_to_floats_name_the_column_whose_value_does_not_fit(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, n numeric(40,3), b bigint, d float8, s text)")
    source.execute("INSERT INTO t VALUES (1, 1.5, 1, 'NaN', '2.25'), (2, NULL, NULL, '-Infinity', 'Infinity')")
    table = source.full("t", overrides={"n": "float", "b": "double", "d": "float", "s": "double"})
    assert str(table.to_pylist()) == str(
        [
            {"id": 1, "n": 1.5, "b": 1.0, "d": float("nan"), "s": 2.25},
            {"id": 2, "n": None, "b": None, "d": float("-inf"), "s": float("inf")},
        ]
    )
    source.execute("INSERT INTO t VALUES (3, 1e36, 9007199254740993, 1e300, '1e-400')")
    for name, wanted in (("b", "double"), ("d", "float"), ("s", "double"), ("s", "float")):
        with pytest.raises(SourceError, match=rf"the column {name} .* does not fit"):
            source.full("t", overrides={name: wanted})


@pytest.mark.parametrize(
    ("column", "wanted"), [("bigint", "timestamptz"), ("int", "date"), ("date", "int"), ("oid", "timestamp")]
)
def test_overrides_between_numbers_and_moments_are_refused_for_they_say_no_unit(source, column, wanted):
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, c {column})")
    with pytest.raises(ConfigError, match=r"columns\.c: .* does not say the unit"):
        source.full("t", overrides={"c": wanted})


def test_overridden_columns_may_be_null_where_the_policy_empties_them(source):
    source.execute("CREATE TABLE t (d date NOT NULL, n numeric NOT NULL, i int NOT NULL)")
    source.execute("INSERT INTO t VALUES ('infinity', 'NaN', 1)")
    table = source.full("t", out_of_range="null_counted", overrides={"d": "date", "n": "decimal(5,2)", "i": "decimal(5,2)"})
    assert [field.nullable for field in table.schema] == [True, True, False]
    assert table.to_pylist() == [{"d": None, "n": None, "i": Decimal("1.00")}]


def test_rows_without_columns_are_refused_by_name(source):
    """No file keeps them: the query's were gone without a word, and the table was said to be missing."""
    source.execute("CREATE TABLE bare (); INSERT INTO bare DEFAULT VALUES; CREATE TABLE other (id int)")
    query = "SELECT FROM generate_series(1, 3)"
    facts = source.facts("bare", "other")
    assert "has no columns" in facts["bare"].problem
    assert not facts["other"].problem
    assert "has no columns" in source.facts("q", query=query)["q"].problem
    for keys in ({"table": "bare"}, {"query": query}):
        with pytest.raises(ConfigError, match="has no columns"):
            source.full(**keys)
    assert source.full("other").num_rows == 0


def test_a_role_that_quotes_all_identifiers_is_read_or_named(source, database):
    """ADBC looks for its types by their names, over a connection where nothing can be set before."""
    source.execute(f"ALTER ROLE {database.user} SET quote_all_identifiers = on", admin=True)
    try:
        source.reopen()
        source.execute("CREATE TABLE t(id int PRIMARY KEY, c text); INSERT INTO t VALUES (1, 'x')")
        if source.engine == "adbc":
            with pytest.raises(SourceError, match="quote_all_identifiers is on"):
                source.full("t")
        else:
            assert source.full("t").to_pylist() == [{"id": 1, "c": "x"}]
    finally:
        source.execute(f"ALTER ROLE {database.user} RESET quote_all_identifiers", admin=True)
        source.reopen()


def test_null_elements_stay_null_whatever_the_role_says_of_array_input(source, database):
    """Arrays of such types are read through their text, and with array_nulls off NULL in it would be a word of four letters."""
    source.execute(f"ALTER ROLE {database.user} SET array_nulls = off", admin=True)
    try:
        source.reopen()
        source.execute("CREATE TYPE mood AS ENUM ('sad', 'NULL')")
        source.execute("CREATE TABLE t(id int PRIMARY KEY, m mood[], i interval[], j jsonb[])")
        source.execute("""INSERT INTO t VALUES (1, ARRAY['sad', NULL, 'NULL']::mood[], ARRAY[NULL, '1 day'::interval],
                          ARRAY['{}'::jsonb, NULL])""")
        row = source.full("t").to_pylist()[0]
        assert row == {"id": 1, "m": ["sad", None, "NULL"], "i": [None, "P1D"], "j": ["{}", None]}
    finally:
        source.execute(f"ALTER ROLE {database.user} RESET array_nulls", admin=True)
