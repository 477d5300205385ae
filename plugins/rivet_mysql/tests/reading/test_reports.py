"""Cases of public reports on MariaDB: zones (I01), keys with NULLs or none (C01, C06), pages (C09), views (C10)."""

from __future__ import annotations

import pytest

from rivet_core.facts import Mode, Tuning, UnitKind

pytestmark = pytest.mark.mysql
SMALL = Tuning(batch_rows=7, batch_bytes=1000, pause_share=0.0)


def test_i01_the_servers_zone_never_moves_the_cursor(mysql, read):
    mysql.execute("CREATE TABLE t(id int PRIMARY KEY, at timestamp(6) NOT NULL, local datetime NOT NULL)")
    mysql.execute("SET time_zone = '+00:00'; INSERT INTO t VALUES (1, '2024-01-01 00:30:00', '2024-01-01 00:30:00')")
    incremental = {"mode": Mode.INCREMENTAL, "cursor": ("at",)}
    try:
        first = read("t", **incremental)
        assert first.marks[0][0].value == "2024-01-01 00:30:00+00"
        mysql.execute("SET GLOBAL time_zone = '+05:30'", admin=True)
        mysql.execute("SET time_zone = '+00:00'; INSERT INTO t VALUES (2, '2024-01-01 00:30:01', '2024-01-01 00:30:01')")
        second = read("t", committed=first.marks[0], **incremental)
        assert second.column("id") == [2]
        assert second.marks[0][0].value == "2024-01-01 00:30:01+00"
        assert [value.hour for value in read("t").column("local")] == [0, 0]
    finally:
        mysql.execute("SET GLOBAL time_zone = SYSTEM", admin=True)


def test_c01_a_unique_key_with_nulls_loses_no_row(mysql, read):
    mysql.execute("CREATE TABLE t(k int UNIQUE, v text); INSERT INTO t VALUES (1,'a'),(2,'b'),(NULL,'c'),(NULL,'d'),(100,'e')")
    for keys in ({"chunk_count": 3}, {"chunk_size": 1}, {"chunk_column": "k", "chunk_count": 2}):
        assert sorted(read("t", mode=Mode.CHUNKED, **keys).column("v")) == ["a", "b", "c", "d", "e"]


def test_c06_a_table_without_a_key_keeps_its_duplicates_in_one_statement(mysql, read):
    mysql.execute("CREATE TABLE t(id int); INSERT INTO t SELECT LEAST(seq, 998) FROM seq_1_to_1000")
    got = read("t", mode=Mode.CHUNKED, chunk_count=4)
    assert [unit.kind for unit in got.units] == [UnitKind.WHOLE]
    assert sorted(got.column("id")) == sorted([*range(1, 998), 998, 998, 998])
    assert not any("OFFSET" in statement for statement in mysql.log.statements())


def test_c09_every_page_is_ordered_by_the_key(mysql, read):
    mysql.execute("CREATE TABLE t(id int PRIMARY KEY, v varchar(40))")
    mysql.execute("INSERT INTO t SELECT seq, 'x' FROM seq_1_to_1000 ORDER BY MD5(seq); UPDATE t SET v = 'y' WHERE id % 7 = 0")
    got = read("t", tuning=SMALL)
    assert got.column("id") == list(range(1, 1001))
    pages = [statement for statement in mysql.log.statements() if "LIMIT" in statement and "`v`" in statement]
    assert len(pages) >= 4
    assert all("ORDER BY" in page for page in pages)


def test_c10_a_computed_column_of_a_view_is_read_in_one_statement(mysql, read):
    for name in ("a", "b"):
        mysql.execute(
            f"CREATE TABLE {name}(id int PRIMARY KEY, x int); INSERT INTO {name} SELECT seq, seq % 100 FROM seq_1_to_5000"
        )
    mysql.execute("CREATE VIEW v AS SELECT a.id, a.x + b.x AS k FROM a JOIN b ON b.id = a.id")
    got = read("v", mode=Mode.CHUNKED, chunk_column="k", chunk_count=8)
    assert [unit.kind for unit in got.units] == [UnitKind.WHOLE]
    assert sorted(got.column("id")) == list(range(1, 5001))
    asked = " ".join(mysql.log.statements()).lower()
    assert "min(" not in asked
    assert "max(" not in asked
