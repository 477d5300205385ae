"""Every type of section 4 with the values that other tools get wrong, by both engines, in full mode."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from rivet_core.errors import ConfigError, SourceError

pytestmark = pytest.mark.mysql
ZERO = "SET sql_mode = '';"
naive = datetime.fromisoformat


def test_t01_tinyint_1_is_a_number(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, f tinyint(1))")
    mysql.execute("INSERT INTO t VALUES (1,-1),(2,0),(3,1),(4,2),(5,127),(6,NULL)")
    got = read("t")
    assert got.schema.field("f").type == pa.int8()
    assert got.column("f") == [-1, 0, 1, 2, 127, None]


def test_t01_bool_only_by_override_and_then_strictly(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, f tinyint(1))")
    mysql.execute("INSERT INTO t VALUES (1,0),(2,1),(3,NULL)")
    assert read("t", overrides={"f": "bool"}).column("f") == [False, True, None]
    mysql.execute("INSERT INTO t VALUES (4,2)")
    with pytest.raises(SourceError, match=r"column f.*only 0 and 1") as raised:
        read("t", overrides={"f": "bool"})
    assert raised.value.error_class == "data"


def test_t02_bits(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, b1 bit(1), b64 bit(64), b9 bit(9))")
    mysql.execute("INSERT INTO t VALUES (1,b'0',b'1',b'101'),(2,b'1',0xFFFFFFFFFFFFFFFF,b'111111111'),(3,NULL,NULL,NULL)")
    got = read("t")
    assert got.schema.types[1:] == [pa.bool_(), pa.uint64(), pa.uint64()]
    assert got.rows() == [(1, False, 1, 5), (2, True, 18446744073709551615, 511), (3, None, None, None)]


def test_integers_at_both_ends(mysql, read):
    sizes = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
    signed = ", ".join(f"s{bits} {name}, u{bits} {name} unsigned" for name, bits in sizes.items())
    mysql.execute(f"CREATE TABLE t(id int primary key, {signed}, z int(8) unsigned zerofill)")
    low = [value for bits in sizes.values() for value in (-(2 ** (bits - 1)), 0)]
    high = [value for bits in sizes.values() for value in (2 ** (bits - 1) - 1, 2**bits - 1)]
    for key, values in ((1, low), (2, high)):
        mysql.execute(f"INSERT INTO t VALUES ({key}, {', '.join(map(str, values))}, 42)")
    got = read("t")
    assert got.rows() == [(1, *low, 42), (2, *high, 42)]
    assert got.schema.types[1:5] == [pa.int8(), pa.uint8(), pa.int16(), pa.uint16()]
    assert got.schema.types[9:] == [pa.int64(), pa.uint64(), pa.uint32()]


def literal(value):
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def test_floats_keep_every_bit(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, f float, d double, m double(10,2))")
    doubles = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -2.5e-310, 123456789.123456789, 2.0**53 + 2]
    singles = [struct.unpack("f", struct.pack("f", v))[0] for v in (0.1, 1 / 3, 16777217.0, 3.4028234e38, 1e-45, 7.0, 8.1)]
    for key, (single, double) in enumerate(zip(singles, doubles, strict=True)):
        mysql.execute(f"INSERT INTO t VALUES ({key}, {literal(single)}, {literal(double)}, 12.34)")
    got = read("t")
    assert got.schema.types[1:] == [pa.float32(), pa.float64(), pa.float64()]
    assert [struct.pack("f", v) for v in got.column("f")] == [struct.pack("f", v) for v in singles]
    assert [struct.pack("d", v) for v in got.column("d")] == [struct.pack("d", v) for v in doubles]
    assert set(got.column("m")) == {12.34}


def test_decimals_of_every_width(mysql, read):
    mysql.execute(
        "CREATE TABLE t(id int primary key, a decimal(10,2), b decimal(38,10), c decimal(65,30), z decimal(8,2) zerofill)"
    )
    big = "12345678901234567890123456789012345.123456789012345678901234567890"
    mysql.execute(f"INSERT INTO t VALUES (1,-1.50,1234567890123456789012345678.0123456789,{big},1.5),(2,NULL,NULL,NULL,NULL)")
    got = read("t")
    assert got.schema.types[1:] == [pa.decimal128(10, 2), pa.decimal128(38, 10), pa.decimal256(65, 30), pa.decimal128(8, 2)]
    assert got.rows()[0] == (
        1,
        Decimal("-1.50"),
        Decimal("1234567890123456789012345678.0123456789"),
        Decimal(big),
        Decimal("1.50"),
    )
    assert got.rows()[1] == (2, None, None, None, None)


def test_t07_year_is_an_integer_and_0000_is_0(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, y year)")
    mysql.execute("INSERT INTO t VALUES (1,1901),(2,2155),(3,'0000'),(4,NULL)")
    got = read("t")
    assert got.column("y") == [1901, 2155, 0, None]
    assert got.schema.field("y").type == pa.int16()


def test_t08_set_and_enum_are_text(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, s set('b','a','c'), e enum('x','y',''))")
    mysql.execute(f"{ZERO} INSERT INTO t VALUES (1,'a,b','x'),(2,'','no such member'),(3,NULL,NULL)")
    got = read("t")
    assert got.rows() == [(1, "b,a", "x"), (2, "", ""), (3, None, None)]
    assert got.schema.types[1:] == [pa.string(), pa.string()]


def test_t09_character_sets(mysql, read):
    mysql.execute(
        "CREATE TABLE t(id int primary key, l varchar(50) CHARACTER SET latin1, u varchar(50) CHARACTER SET utf8mb4,"
        " k varchar(50) CHARACTER SET ucs2, x text CHARACTER SET latin1)"
    )
    mysql.execute("INSERT INTO t VALUES (1,'café','\U0001f600','Ж','ä'),(2,0x80,'€','',0x80)")
    assert read("t").rows() == [(1, "café", "\U0001f600", "Ж", "ä"), (2, "€", "€", "", "€")]


def test_t10_binary_is_exact(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, u binary(16), v varbinary(16), b longblob)")
    mysql.execute(
        "INSERT INTO t VALUES (1,UNHEX('00112233445566778899AABBCCDD0000'),UNHEX('FF00'),UNHEX('00')),(2,NULL,'',NULL)"
    )
    got = read("t")
    assert got.rows() == [(1, bytes.fromhex("00112233445566778899AABBCCDD0000"), b"\xff\x00", b"\x00"), (2, None, b"", None)]
    assert set(got.schema.types[1:]) == {pa.binary()}


def test_t11_geometry_is_wkb_with_its_srid_beside_it(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, p point)")
    mysql.execute("INSERT INTO t VALUES (1, ST_GeomFromText('POINT(1 2)', 4326)), (2, NULL)")
    got = read("t")
    wkb = b"\x01" + struct.pack("<I", 1) + struct.pack("<dd", 1.0, 2.0)
    assert got.column("p") == [wkb, None]
    assert got.schema.field("p").metadata[b"rivet.srid"] == b"4326"
    assert read("t", overrides={"p": "text"}).column("p") == ["SRID=4326;POINT(1 2)", None]


def test_t11_two_srids_in_one_column_are_no_silent_loss(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, p point)")
    mysql.execute("INSERT INTO t VALUES (1, ST_GeomFromText('POINT(1 2)', 4326)), (2, ST_GeomFromText('POINT(1 2)', 3857))")
    with pytest.raises(SourceError, match="SRID 4326 and of SRID 3857") as raised:
        read("t")
    assert "p: text" in raised.value.hint


def test_t13_generated_columns_stand_where_they_are(mysql, read):
    mysql.execute(
        "CREATE TABLE t(id int primary key, a int, v int GENERATED ALWAYS AS (a*2) VIRTUAL,"
        " s int GENERATED ALWAYS AS (a*3) STORED, z int)"
    )
    mysql.execute("INSERT INTO t(id, a, z) VALUES (1, 5, 7)")
    assert read("t").table.to_pylist() == [{"id": 1, "a": 5, "v": 10, "s": 15, "z": 7}]


def test_time_is_a_signed_duration(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, t time(6), s time)")
    mysql.execute("INSERT INTO t VALUES (1,'-838:59:59','838:59:59'),(2,'-00:00:00.5','00:00:00'),(3,'01:02:03.000004',NULL)")
    got = read("t")
    assert got.schema.field("t").type == pa.duration("us")
    assert got.column("t") == [-timedelta(hours=838, minutes=59, seconds=59), timedelta(microseconds=-500000),
                               timedelta(hours=1, minutes=2, seconds=3, microseconds=4)]  # fmt: skip
    assert got.column("s") == [timedelta(hours=838, minutes=59, seconds=59), timedelta(0), None]


def test_moments_are_exact_and_timestamps_are_utc(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, d date, dt datetime(6), ts timestamp(6) NULL)")
    mysql.execute(
        "SET time_zone = '+05:30'; INSERT INTO t VALUES (1,'9999-12-31','1000-01-01 00:00:00.000001','2024-07-01 12:00:00.5')"
    )
    got = read("t")
    assert got.schema.types[1:] == [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    moment = datetime(2024, 7, 1, 6, 30, 0, 500000, tzinfo=UTC)
    assert got.rows() == [(1, date(9999, 12, 31), naive("1000-01-01 00:00:00.000001"), moment)]


@pytest.mark.parametrize("null", ["NULL", "NOT NULL"])
def test_zero_dates_become_null_and_are_counted(mysql, read, null):
    mysql.execute(
        f"{ZERO} CREATE TABLE t(id int primary key, d date {null}, dt datetime {null}, ts timestamp {null} DEFAULT 0)"
    )
    mysql.execute(
        f"{ZERO} INSERT INTO t VALUES (1,'0000-00-00','2024-00-10',0),(2,'2024-02-00','2024-01-01','2024-01-01 10:00:00')"
    )
    if null == "NULL":
        mysql.execute("INSERT INTO t VALUES (3,NULL,NULL,NULL)")
    got = read("t")
    expected = [(1, None, None, None), (2, None, naive("2024-01-01 00:00:00"), datetime(2024, 1, 1, 10, tzinfo=UTC))]
    assert got.rows()[:2] == expected
    assert got.counts == {"d: zero date to null": 2, "dt: zero date to null": 1, "ts: zero date to null": 1}
    assert got.schema.field("d").nullable


def test_zero_dates_by_the_other_policies(mysql, read):
    mysql.execute(f"{ZERO} CREATE TABLE t(id int primary key, d date, dt datetime(3))")
    mysql.execute(f"{ZERO} INSERT INTO t VALUES (1,'0000-00-00','2024-01-02 03:04:05.678')")
    assert read("t", out_of_range="text").rows() == [(1, "0000-00-00", "2024-01-02 03:04:05.678")]
    with pytest.raises(SourceError, match=r"column d: 1 zero or partial dates") as raised:
        read("t", out_of_range="fail")
    assert raised.value.error_class == "data"
    assert not raised.value.transient


def test_text_is_untouched(mysql, read):
    texts = ["", "NULL", 'a"b,c\n', "back\\slash", "quote's", "tab\t", "nul\0", "x" * 70_000, None]
    mysql.execute("CREATE TABLE t(id int primary key, c longtext, j json)")
    for key, value in enumerate(texts):
        mysql.execute('INSERT INTO t VALUES (%s, %s, \'{"n": 1234567890123456789, "n":1.10}\')', (key, value))
    got = read("t")
    assert got.column("c") == texts
    assert set(got.column("j")) == {'{"n": 1234567890123456789, "n":1.10}'}


def test_overrides_hold_values_to_their_type(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, n bigint, c varchar(20), d decimal(12,4))")
    mysql.execute("INSERT INTO t VALUES (1, 7, '12.50', 1.2500), (2, NULL, NULL, NULL)")
    assert read("t", overrides={"c": "json"}).column("c") == ["12.50", None]
    got = read("t", overrides={"n": "int16", "c": "decimal(10,2)", "d": "decimal(10,2)"})
    assert got.schema.types[1:] == [pa.int16(), pa.decimal128(10, 2), pa.decimal128(10, 2)]
    assert got.rows() == [(1, 7, Decimal("12.50"), Decimal("1.25")), (2, None, None, None)]
    mysql.execute("INSERT INTO t VALUES (3, 40000, '1', 0.0001)")
    for name, wanted in (("n", "int16"), ("d", "decimal(10,2)")):
        with pytest.raises(SourceError, match=f"column {name}: .* cannot become"):
            read("t", overrides={name: wanted})
    with pytest.raises(ConfigError, match="no column 'x'"):
        read("t", overrides={"x": "int16"})


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [
        ("c double", "1e300", "float"),
        ("c varchar(9)", "'1e400'", "double"),
        ("c varchar(9)", "'1e-400'", "double"),
        ("c float", "0.1", "bool"),
        ("c datetime(3)", "'2024-01-31 00:00:00.001'", "date"),
        ("c float", "123456.789", "decimal(8,1)"),
        ("c varchar(9)", "'{''a'': 1}'", "json"),
        ("c datetime", "'2024-01-31 00:00:00'", "json"),
    ],
)
def test_overrides_refuse_what_would_arrive_as_another_value(mysql, read, column, value, wanted):
    mysql.execute(f"CREATE TABLE t(id int primary key, {column})")
    mysql.execute(f"INSERT INTO t VALUES (1, {value})")
    with pytest.raises(SourceError, match=r"column c: .* cannot become"):
        read("t", overrides={"c": wanted})


@pytest.mark.parametrize(
    ("column", "wanted"),
    [("bigint", "timestamp"), ("int", "date"), ("time", "timestamp"), ("date", "int"), ("datetime", "bigint")],
)
def test_overrides_between_numbers_and_moments_are_refused_for_they_say_no_unit(mysql, read, column, wanted):
    mysql.execute(f"CREATE TABLE t(id int primary key, c {column})")
    with pytest.raises(ConfigError, match=r"columns\.c: .* does not say the unit"):
        read("t", overrides={"c": wanted})


def test_overrides_of_floats_keep_all_their_digits(mysql, read):
    """The server's own text of a FLOAT has six."""
    mysql.execute("CREATE TABLE t(id int primary key, f float, g float)")
    mysql.execute("INSERT INTO t VALUES (1, 123456.789, 16777217), (2, 0.1, -0.5), (3, NULL, NULL)")
    got = read("t", overrides={"f": "text", "g": "decimal(10,1)"})
    assert got.column("f") == ["123456.79", "0.1", None]
    assert got.column("g") == [Decimal("16777216.0"), Decimal("-0.5"), None]


@pytest.mark.parametrize(
    ("charset", "good", "bad"),
    [
        ("ascii", "613F", "61E9"),
        ("cp1251", "CFF03F", "98"),
        ("greek", "C13F", "D23F"),
        ("cp932", "82A03FFA54", "FCFC"),  # FA54 has a letter that goes back to other bytes
        ("gbk", "C4E33F", "FEFE"),
    ],
)
def test_bytes_without_a_letter_are_no_question_marks(mysql, read, charset, good, bad):
    mysql.execute(f"CREATE TABLE t(id int PRIMARY KEY, c varchar(9) NOT NULL, l longtext) CHARACTER SET {charset}")
    a, b = f"_{charset} X'{good}'", f"_{charset} X'{bad}'"
    mysql.execute(f"SET sql_mode=''; INSERT INTO t VALUES (0, {a}, {b}), (1, {b}, NULL), (2, {a}, {a})")
    good, bad = bytes.fromhex(good), bytes.fromhex(bad)
    stored = mysql.execute("SELECT HEX(c) FROM t ORDER BY id")
    assert [value for (value,) in stored] == [value.hex().upper() for value in (good, bad, good)]
    letters = mysql.execute("SELECT CONVERT(c USING utf8mb4) FROM t WHERE id = 0")[0][0]
    got = read("t", out_of_range="null_counted")
    assert got.rows() == [(0, letters, None), (1, None, None), (2, letters, letters)]
    assert got.counts == {"c: text without letters to null": 1, "l: text without letters to null": 1}
    for policy in ("fail", "text"):
        with pytest.raises(SourceError, match="have bytes without a letter"):
            read("t", out_of_range=policy)
    kept = read("t", overrides={"c": "binary", "l": "binary"})
    assert kept.rows() == [(0, good, bad), (1, bad, None), (2, good, good)]
    assert read("t", overrides={"c": "text"}).column("c") == [letters, None, letters]


def test_metadata_and_nullability_come_along(mysql, read):
    mysql.execute("CREATE TABLE t(id int unsigned primary key, c char(5) COMMENT 'a letter')")
    schema = read("t").schema
    assert not schema.field("id").nullable
    assert schema.field("id").metadata[b"rivet.source_type"] == b"int(10) unsigned"
    assert schema.field("c").metadata[b"rivet.comment"] == b"a letter"


def test_days_that_their_month_does_not_have_follow_the_policy_too(mysql, read):
    """ALLOW_INVALID_DATES lets them in; no date of Arrow can keep them."""
    mysql.execute("CREATE TABLE t(id int PRIMARY KEY, d date, at datetime(3) NOT NULL)")
    mysql.execute("INSERT INTO t SELECT seq, '2024-02-29', '2024-01-31 23:59:59.999' FROM seq_1_to_1000")
    mysql.execute(
        "SET sql_mode = 'ALLOW_INVALID_DATES'; UPDATE t SET d = '2023-02-29' WHERE id = 1;"
        " UPDATE t SET d = '2024-02-30', at = '2024-04-31 10:00:00' WHERE id = 900"
    )
    got = read("t")
    assert got.counts == {"d: zero date to null": 2, "at: zero date to null": 1}
    assert [row[0] for row in got.rows() if row[1] is None] == [1, 900]
    assert got.rows()[899][2] is None
    with pytest.raises(SourceError, match="zero or partial dates"):
        read("t", out_of_range="fail")
    assert read("t", out_of_range="text").rows()[899][1:] == ("2024-02-30", "2024-04-31 10:00:00.000")
