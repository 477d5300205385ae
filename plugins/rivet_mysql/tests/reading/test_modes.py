"""Units and pages: every row once, in every mode, by both engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mode, Tuning, UnitKind

pytestmark = pytest.mark.mysql
TOP = 18446744073709551615


def numbers(mysql, rows=5000):
    mysql.execute("CREATE TABLE t(id int primary key, c varchar(30))")
    mysql.execute(f"INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_{rows}")


def test_a_full_read_takes_several_pages_and_delivers_each_row_once(mysql, read):
    numbers(mysql)
    got = read("t")
    assert got.column("id") == list(range(1, 5001))


def test_c03_unsigned_keys_above_2_63(mysql, read):
    values = [1, 9223372036854775807, 9223372036854775808, TOP]
    mysql.execute("CREATE TABLE t(id bigint unsigned primary key)")
    mysql.execute(f"INSERT INTO t VALUES {', '.join(f'({v})' for v in values)}")
    for options in ({"chunk_size": 1}, {"chunk_count": 3}, {"chunk_size": 100}):
        got = read("t", mode=Mode.CHUNKED, **options)
        assert sorted(got.column("id")) == values
    assert 3 <= len(read("t", mode=Mode.CHUNKED, chunk_count=3).units) <= 9


def test_chunks_tile_sparse_and_negative_keys(mysql, read):
    mysql.execute("CREATE TABLE t(id bigint primary key)")
    keys = sorted({-5, -1, 0, *range(100, 2000), 10**15, 9223372036854775807, -9223372036854775808})
    mysql.execute(f"INSERT INTO t VALUES {', '.join(f'({v})' for v in keys)}; ANALYZE TABLE t")
    got = read("t", mode=Mode.CHUNKED, chunk_count=7)
    assert sorted(got.column("id")) == keys
    assert len(got.units) > 1


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("a int, b varchar(20), PRIMARY KEY (a, b)", "SELECT seq DIV 100, CONCAT('k', seq) FROM seq_1_to_3000"),
        ("a varchar(40) PRIMARY KEY, b int", "SELECT CONCAT('Key \\'\\\\', seq), seq FROM seq_1_to_3000"),
        ("a binary(16) PRIMARY KEY, b int", "SELECT UNHEX(MD5(seq)), seq FROM seq_1_to_3000"),
        (
            "a datetime(6) PRIMARY KEY, b int",
            "SELECT '2024-01-01' + INTERVAL seq * 1000003 MICROSECOND, seq FROM seq_1_to_3000",
        ),
        ("a decimal(20,5) PRIMARY KEY, b int", "SELECT seq / 7, seq FROM seq_1_to_3000"),
        ("a int, b int", "SELECT seq, seq FROM seq_1_to_3000"),
        ("a enum('c','b','a'), b int, PRIMARY KEY (a, b)", "SELECT ELT(1 + seq % 3, 'a', 'b', 'c'), seq FROM seq_1_to_3000"),
    ],
)
def test_any_key_is_read_once(mysql, read, declared, values):
    mysql.execute(f"CREATE TABLE t({declared}); INSERT INTO t {values}")
    got = read("t").rows()
    assert len(got) == 3000
    assert sorted(map(str, got)) == sorted(str(row) for row in read("t", mode=Mode.CHUNKED).rows())
    assert len(set(got)) == 3000


def test_incremental_by_a_unique_column(mysql, read):
    numbers(mysql, 2000)
    first = read("t", mode=Mode.INCREMENTAL, cursor=("id",))
    assert [unit.kind for unit in first.units] == [UnitKind.CURSOR]
    assert first.column("id") == list(range(1, 2001))
    (mark,) = first.marks[0]
    assert (mark.column, mark.type, mark.value) == ("id", "int(11)", "2000")
    mysql.execute("INSERT INTO t VALUES (2001, 'new')")
    second = read("t", mode=Mode.INCREMENTAL, cursor=("id",), committed=first.marks[0])
    assert second.rows() == [(2001, "new")]
    third = read("t", mode=Mode.INCREMENTAL, cursor=("id",), committed=second.marks[0])
    assert third.rows() == []
    assert third.marks == [None]


@pytest.mark.parametrize("kind", ["set('b','a','c')", "enum('b','a','b,a','c','a,c')"])
def test_what_sorts_by_number_breaks_no_ties(mysql, read, kind):
    mysql.execute(f"CREATE TABLE t(s {kind} primary key, u int not null, KEY (u))")
    mysql.execute("INSERT INTO t VALUES ('b', 1), ('a', 1), ('c', 1)")
    first = read("t", mode=Mode.INCREMENTAL, cursor=("u",))
    mysql.execute("INSERT INTO t VALUES ('a,c', 1), ('b,a', 1)")
    second = read("t", mode=Mode.INCREMENTAL, cursor=("u",), committed=first.marks[0])
    assert {*first.column("s"), *second.column("s")} == {"b", "a", "c", "a,c", "b,a"}


@pytest.mark.parametrize("index", ["", ", KEY (u)"])
def test_incremental_by_a_pair_loses_no_tie(mysql, read, index):
    mysql.execute(f"CREATE TABLE t(id int primary key, u datetime(6) NULL{index})")
    mysql.execute("INSERT INTO t SELECT seq, '2024-01-01 00:00:00.123456' + INTERVAL (seq DIV 900) SECOND FROM seq_1_to_2700")
    mysql.execute("INSERT INTO t VALUES (9001, NULL)")
    first = read("t", mode=Mode.INCREMENTAL, cursor=("u",))
    assert sorted(first.column("id")) == [*range(1, 2701), 9001]
    assert [unit.kind for unit in first.units] == [UnitKind.CURSOR, UnitKind.NULLS]
    marks = first.marks[0]
    assert [mark.value for mark in marks] == ["2024-01-01 00:00:03.123456", "2700"]
    mysql.execute(
        "INSERT INTO t VALUES (2701, '2024-01-01 00:00:03.123456'), (9, '2024-01-01 00:00:03.123457')"
        " ON DUPLICATE KEY UPDATE u = VALUES(u)"
    )
    second = read("t", mode=Mode.INCREMENTAL, cursor=("u",), committed=marks, null_cursor="skip")
    assert second.column("id") == [2701, 9]
    assert second.counts == {"u: null cursor skipped": 1}
    with pytest.raises(SourceError, match="null_cursor is fail"):
        read("t", mode=Mode.INCREMENTAL, cursor=("u",), committed=marks, null_cursor="fail")


@pytest.mark.parametrize("column", ["date", "datetime(3)", "timestamp(3)"])
@pytest.mark.parametrize("null", ["NOT NULL", "NULL"])
@pytest.mark.parametrize("index", ["", ", KEY (u)"])
def test_zero_dates_are_no_cursor(mysql, read, column, null, index):
    """They sort before every mark: written later, no run past a cursor would ever meet them."""
    mysql.execute(f"CREATE TABLE t(id int primary key, u {column} {null}{index})")
    mysql.execute("SET sql_mode=''; INSERT INTO t VALUES (1, '2024-01-01'), (2, '0000-00-00'), (3, '2024-01-02')")
    spec = {"mode": Mode.INCREMENTAL, "cursor": ("u",)}
    first = read("t", **spec)
    assert [table.column("id").to_pylist() for table in first.tables] == [[1, 3], [2]]
    assert first.counts == {"u: zero date to null": 1}
    mysql.execute("SET sql_mode=''; INSERT INTO t VALUES (4, '0000-00-00')")
    second = read("t", committed=first.marks[0], **spec)
    assert [table.column("id").to_pylist() for table in second.tables] == [[], [2, 4]]
    skipped = read("t", committed=first.marks[0], null_cursor="skip", **spec)
    assert (skipped.rows(), skipped.counts) == ([], {"u: null cursor skipped": 2})
    with pytest.raises(SourceError, match="null_cursor is fail"):
        read("t", committed=first.marks[0], null_cursor="fail", **spec)
    with pytest.raises(SourceError, match="out_of_range is fail"):
        read("t", committed=first.marks[0], out_of_range="fail", **spec)
    kept = read("t", committed=first.marks[0], out_of_range="text", **spec)
    assert [value[:10] for value in kept.column("u")] == ["0000-00-00"] * 2


def test_a_text_cursor_is_not_left_at_bytes_without_a_letter(mysql, read):
    """Its mark would be question marks, which sort elsewhere: rows between the two would be missed."""
    mysql.execute("CREATE TABLE t(c varchar(9) CHARACTER SET ascii PRIMARY KEY, n int)")
    mysql.execute("SET sql_mode=''; INSERT INTO t VALUES ('a?', 1), (_ascii X'62E9', 2), ('c?', 3)")
    spec = {"mode": Mode.INCREMENTAL, "cursor": ("c",), "allow_text_cursor": True}
    first = read("t", **spec)
    assert (first.column("c"), first.marks[0][0].value) == (["a?", None, "c?"], "c?")
    mysql.execute("SET sql_mode=''; INSERT INTO t VALUES (_ascii X'64E9', 4)")
    with pytest.raises(SourceError, match="the cursor c reached a text with bytes without a letter"):
        read("t", committed=first.marks[0], **spec)


def test_dates_of_the_year_zero_are_cursors(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, u datetime NOT NULL)")
    mysql.execute("SET sql_mode=''; INSERT INTO t VALUES (1, '0000-05-01'), (2, '0000-00-00'), (3, '0000-00-15')")
    spec = {"mode": Mode.INCREMENTAL, "cursor": ("u",)}
    first = read("t", **spec)
    assert [table.column("id").to_pylist() for table in first.tables] == [[1], [2, 3]]
    again = read("t", committed=first.marks[0], lookback_seconds=86400.0 * 400, **spec)
    assert [table.column("id").to_pylist() for table in again.tables] == [[1], [2, 3]]


def test_incremental_without_a_key_delivers_the_boundary_again(mysql, read):
    mysql.execute("CREATE TABLE t(u timestamp(3) NOT NULL, n int)")
    mysql.execute("SET time_zone='+00:00'; INSERT INTO t VALUES ('2024-01-01 00:00:00.5', 1), ('2024-01-01 00:00:01.250', 2)")
    first = read("t", mode=Mode.INCREMENTAL, cursor=("u",))
    assert first.marks[0][0].value == "2024-01-01 00:00:01.250000+00"
    mysql.execute("SET time_zone='+00:00'; INSERT INTO t VALUES ('2024-01-01 00:00:01.250', 3)")
    assert sorted(read("t", mode=Mode.INCREMENTAL, cursor=("u",), committed=first.marks[0]).column("n")) == [2, 3]


def test_incremental_coalesce_and_lookback(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, a datetime NULL, b datetime NULL)")
    mysql.execute(
        "INSERT INTO t VALUES (1,NULL,'2024-01-01'),(2,'2024-01-03','2024-01-01'),(3,NULL,NULL),(4,'2024-01-02',NULL)"
    )
    spec = {"mode": Mode.INCREMENTAL, "cursor": ("a", "b"), "cursor_mode": "coalesce"}
    first = read("t", **spec)
    assert first.column("id") == [1, 4, 2, 3]
    assert [mark.value for mark in first.marks[0]] == ["2024-01-03 00:00:00", "2"]
    again = read("t", committed=first.marks[0], lookback_seconds=86400.0, null_cursor="skip", **spec)
    assert again.column("id") == [4, 2]


def test_float_decimal_and_unsigned_cursors_keep_all_digits(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, f float NOT NULL, d decimal(30,10) NOT NULL, u bigint unsigned NOT NULL)")
    mysql.execute(f"INSERT INTO t VALUES (1, 0.1, 0.1, 1), (2, 16777216, 12345678901234567890.0123456789, {TOP})")
    for column in ("f", "d", "u"):
        first = read("t", mode=Mode.INCREMENTAL, cursor=(column,))
        assert first.column("id") == [1, 2]
        assert read("t", mode=Mode.INCREMENTAL, cursor=(column,), committed=first.marks[0]).rows() == []
    assert read("t").column("d")[1] == Decimal("12345678901234567890.0123456789")


def test_cursors_without_order_are_refused(mysql, read_once):
    mysql.execute("CREATE TABLE t(id int primary key, e enum('a'), j json, c varchar(9), b varbinary(9))")
    for column, reason in (("e", "sorts by"), ("c", "text sorts by collation"), ("b", "no order"), ("zz", "no column")):
        with pytest.raises(ConfigError, match=reason):
            read_once("t", mode=Mode.INCREMENTAL, cursor=(column,))
    with pytest.raises(ConfigError, match="sorts by"):
        read_once("t", mode=Mode.INCREMENTAL, cursor=("e",), allow_text_cursor=True)


@pytest.mark.parametrize("index", ["", ", KEY (u)"])
def test_a_time_window_is_cut_by_days(mysql, read, index):
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    mysql.execute(f"CREATE TABLE t(id int primary key, u datetime, n bigint{index})")
    for key, moment in enumerate((today - timedelta(days=3), today - timedelta(days=2), today - timedelta(seconds=1), today)):
        seconds = int(moment.replace(tzinfo=UTC).timestamp())
        mysql.execute("INSERT INTO t VALUES (%s, %s, %s)", (key, moment, seconds))
    got = read("t", mode=Mode.TIME_WINDOW, time_column="u", days_window=2)
    assert len(got.units) == 3
    assert [table.column("id").to_pylist() for table in got.tables] == [[1], [2], [3]]
    unix = read("t", mode=Mode.TIME_WINDOW, time_column="n", time_column_type="unix", days_window=2)
    assert unix.column("id") == [1, 2, 3]


def test_a_query_passes_through_untouched(mysql, read):
    numbers(mysql, 3000)
    query = "SELECT id, c AS `per%cent`, '{}:x %s' AS b, CAST(id/3 AS DECIMAL(10,3)) d FROM t -- the end;\n;  # done"
    got = read(query=query)
    assert got.table.num_rows == 3000
    assert got.rows()[2] == (3, "row 3", "{}:x %s", Decimal("1.000"))
    assert got.table.column_names == ["id", "per%cent", "b", "d"]


def test_n01_n02_names_are_taken_exactly(mysql, read):
    mysql.execute(
        "CREATE TABLE `Users`(id int); CREATE TABLE users(id int);"
        " INSERT INTO `Users` VALUES (1); INSERT INTO users VALUES (1),(2)"
    )
    mysql.execute("CREATE TABLE `user`(`order` int, `group` text, `a``b.c` int); INSERT INTO `user` VALUES (1, 'g', 3)")
    assert len(read("Users").rows()) == 1
    assert len(read("users").rows()) == 2
    assert len(read(f"`{mysql.name}`.`users`").rows()) == 2
    assert len(read(f"{mysql.name}.Users").rows()) == 1
    assert read("user").table.to_pylist() == [{"order": 1, "group": "g", "a`b.c": 3}]
    assert read("user", columns=("group", "order")).table.to_pylist() == [{"group": "g", "order": 1}]


def test_one_statement_is_one_snapshot(mysql, read):
    numbers(mysql, 4000)
    assert read("t", snapshot="consistent").column("id") == list(range(1, 4001))
    assert len(read("t", snapshot="consistent", mode=Mode.CHUNKED, chunk_count=4).units) == 1


def test_an_empty_table_has_a_schema(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, c text)")
    got = read("t")
    assert got.rows() == []
    assert got.schema.names == ["id", "c"]


def test_a_view_is_read_in_one_statement(mysql, read):
    numbers(mysql, 3000)
    mysql.execute("CREATE VIEW v AS SELECT id, c FROM t WHERE id > 10")
    assert len(read("v").rows()) == 2990


def test_large_values_stay_bounded(mysql, read):
    mysql.execute("CREATE TABLE t(id int primary key, b longblob)")
    mysql.execute("INSERT INTO t SELECT seq, REPEAT(CHAR(seq), 2000000) FROM seq_1_to_12")
    got = read("t", tuning=Tuning(batch_bytes=4 << 20, pause_share=0.0))
    assert [len(value) for value in got.column("b")] == [2000000] * 12
    assert max(chunk.nbytes for chunk in got.table.column("b").chunks) <= 40 << 20


@pytest.mark.parametrize("declared", ["longtext", "varchar(16000) CHARACTER SET latin1", "varbinary(20000)"])
def test_p04_wide_rows_behind_short_ones_make_pages_shorter(mysql, read_once, declared):
    """Pages that the fast engine holds as a whole are measured at the server: a long run of short rows makes no promise."""
    mysql.execute(f"CREATE TABLE t(id int primary key, v {declared})")
    mysql.execute("INSERT INTO t SELECT seq, REPEAT('x', IF(seq > 3000, 15000, 10)) FROM seq_1_to_3300")
    got = read_once("t", tuning=Tuning(batch_bytes=1 << 18, pause_share=0.0, page_seconds=60.0))
    assert got.column("id") == list(range(1, 3301))
    batches = [chunk.nbytes for chunk in got.table.column("v").chunks]
    assert max(batches) <= 2 * (1 << 18)
