from __future__ import annotations

import sqlite3

import pytest

from rivet_core.builtin.sqlite import sizes
from rivet_core.facts import InspectItem, RelationKind, TableFacts, TypeKind


def look(session, *names: str, columns: tuple[str, ...] = ()) -> dict[str, TableFacts]:
    return dict(session.inspect([InspectItem(name=name, table=name, columns=columns) for name in names]).tables)


def test_the_number_of_statements_does_not_grow_with_the_tables(database, open_session) -> None:
    def count(tables: int) -> int:
        script = "".join(
            f"CREATE TABLE t{i} (id INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i{i} ON t{i} (a);" for i in range(tables)
        )
        session = open_session(database(f"{script} ANALYZE", name=f"{tables}.db"))
        facts = session.inspect([InspectItem(name=f"t{i}", table=f"t{i}") for i in range(tables)])
        assert all(len(table.indexes) == 2 and len(table.columns) == 2 for table in facts.tables.values())
        return facts.statements

    assert count(1) == count(1200) <= 6


def test_keys_indexes_and_nullability(database, open_session) -> None:
    script = """
        CREATE TABLE alias (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 3, s TEXT COLLATE NOCASE);
        CREATE UNIQUE INDEX alias_n ON alias (n);
        CREATE INDEX alias_part ON alias (s) WHERE s IS NOT NULL;
        CREATE INDEX alias_expr ON alias (lower(s), n);
        CREATE INDEX alias_s ON alias (s);
        CREATE TABLE plain (id INT PRIMARY KEY, v);
        CREATE TABLE wr (a TEXT, b INTEGER, c REAL, PRIMARY KEY (b, a)) WITHOUT ROWID;
        CREATE TABLE strict_one (k TEXT PRIMARY KEY) STRICT;
        CREATE TABLE keyless (v INTEGER);
        CREATE TABLE gen (a INTEGER, b INTEGER AS (a + 1) STORED, c INTEGER AS (a) VIRTUAL);
    """
    facts = look(open_session(database(script)), "alias", "plain", "wr", "strict_one", "keyless", "gen")
    alias = facts["alias"]
    assert (alias.primary_key, alias.is_unique("id"), alias.leads_index("id")) == (("id",), True, True)
    assert {c.name: (c.nullable, c.generated, c.default) for c in alias.columns} == {
        "id": (False, "auto_increment", None),
        "n": (False, "default", "3"),
        "s": (True, "", None),
    }
    by_name = {index.name: index for index in alias.indexes}
    assert (by_name["alias_n"].unique, by_name["alias_part"].partial, by_name["alias_expr"].columns) == (True, True, ("", "n"))
    assert by_name["alias_s"].method == "btree collate nocase"
    assert not alias.leads_index("s")
    assert (facts["plain"].primary_key, facts["plain"].columns[0].nullable) == (("id",), True)
    assert (facts["wr"].primary_key, [c.nullable for c in facts["wr"].columns]) == (("b", "a"), [False, False, True])
    assert facts["strict_one"].columns[0].nullable is False
    assert facts["keyless"].primary_key == ()
    assert any("hidden rowid" in note for note in facts["keyless"].notes)
    assert [c.generated for c in facts["gen"].columns] == ["", "stored", "virtual"]


def test_rows_and_bytes_come_with_their_source_and_quality(database, open_session, monkeypatch) -> None:
    rows = [(i, "x" * 100) for i in range(3000)]
    script = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
        CREATE INDEX i ON t (v);
        CREATE TABLE w (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID;
    """
    path = database(
        script, ("INSERT INTO t VALUES (?, ?)", rows), ("INSERT INTO w VALUES (?, ?)", [(str(i), v) for i, v in rows])
    )
    facts = look(open_session(path), "t", "w")
    for name in ("t", "w"):
        (counted,) = facts[name].rows
        assert (counted.value, counted.source, counted.quality, counted.basis) == (3000, "dbstat", 95, "live")
        assert 300_000 < facts[name].bytes[0].value < 500_000
        assert 100 <= (facts[name].avg_width or 0) <= 110
    # A file too large to walk: the span of the rowid bounds the rows, and nothing is said about a table without one.
    monkeypatch.setattr(sizes, "DBSTAT_BYTES", 0)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM t WHERE id % 2 = 1")
    connection.close()
    facts = look(open_session(path), "t", "w")
    (span,) = facts["t"].rows
    assert (span.signal, span.value, span.quality) == ("rowid_span", 2999, 45)
    assert any("upper bound" in note for note in facts["t"].notes)
    assert (facts["w"].rows, facts["t"].bytes) == ((), ())
    with sqlite3.connect(path) as connection:
        connection.execute("ANALYZE")
    connection.close()
    facts = look(open_session(path), "t", "w")
    first = facts["t"].rows[0]
    assert (first.source, first.value, first.quality, first.observed_at) == ("sqlite_stat1", 1500, 50, None)
    assert facts["w"].rows[0].value == 3000
    assert facts["t"].column("v").n_distinct == pytest.approx(1, abs=0.1)


def test_sparse_rowids_never_claim_more_rows_than_the_file_can_hold(database, open_session, monkeypatch) -> None:
    monkeypatch.setattr(sizes, "DBSTAT_BYTES", 0)
    path = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (-9000000000), (9223372036854775807); CREATE TABLE e (a)"
    )
    facts = look(open_session(path), "t", "e")
    assert facts["t"].rows[0].value == path.stat().st_size // sizes.SMALLEST_ROW_BYTES
    assert (facts["e"].rows[0].value, facts["e"].rows[0].quality) == (0, 95)


def test_overflow_pages_are_out_of_line(database, open_session) -> None:
    path = database("CREATE TABLE t (b BLOB)", ("INSERT INTO t VALUES (?)", [(bytes(100_000),)] * 5))
    table = look(open_session(path), "t")["t"]
    assert (table.out_of_line_bytes or 0) > 400_000
    assert table.bytes[0].value > (table.out_of_line_bytes or 0)
    assert table.rows[0].value == 5


def test_a_missing_table_names_the_nearest(database, open_session) -> None:
    facts = look(
        open_session(database("CREATE TABLE customers (id); CREATE TABLE orders (id)")),
        "costumers",
        "zzz",
        "main.order",
        "orders",
    )
    assert facts["costumers"].kind is RelationKind.MISSING
    assert facts["costumers"].problem == "no table or view costumers in the database; did you mean customers?"
    assert facts["main.order"].remedy == "write `table: orders`"
    assert facts["zzz"].remedy == "its tables are: customers, orders"
    assert facts["orders"].problem == ""


def test_one_broken_view_does_not_hide_the_rest(database, open_session) -> None:
    script = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME);
        CREATE INDEX i ON t (at);
        CREATE VIEW bad AS SELECT * FROM gone;
        CREATE VIEW v AS SELECT id, at, upper(at) AS u FROM t;
    """
    facts = look(open_session(database(script)), "bad", "v", "t", columns=("at", "u"))
    assert "no such table" in facts["bad"].problem
    view = facts["v"]
    assert (view.kind, [(c.name, c.kind) for c in view.columns]) == (
        RelationKind.VIEW,
        [("id", TypeKind.INTEGER), ("at", TypeKind.TIMESTAMP), ("u", TypeKind.OTHER)],
    )
    assert view.index_for_range == {"at": True, "u": False}
    assert facts["t"].columns


def test_queries_are_described_and_costed_without_reading(database, open_session) -> None:
    rows = [(i, f"2026-01-01 00:{i % 60:02d}:00", i * 3) for i in range(5000)]
    script = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME, n DECIMAL(8,2)); CREATE INDEX i ON t (at); CREATE TABLE other (x)"
    )
    session = open_session(database(script, ("INSERT INTO t VALUES (?, ?, ?)", rows)))
    query = (
        "SELECT id, at AS moment, n, CAST(n AS INTEGER) AS whole, CAST(n AS REAL) AS part, n || '' AS joined FROM t AS x -- all"
    )
    item = InspectItem(name="q", query=query, columns=("moment", "n"))
    before = session.inspect([])
    facts = session.inspect([item])
    table = facts.tables["q"]
    assert table.kind is RelationKind.QUERY
    assert [(c.name, c.kind, c.arrow_type) for c in table.columns][:5] == [
        ("id", TypeKind.INTEGER, "int64"),
        ("moment", TypeKind.TIMESTAMP, "string"),
        ("n", TypeKind.DECIMAL, "string"),
        ("whole", TypeKind.INTEGER, "int64"),
        ("part", TypeKind.FLOAT, "double"),
    ]
    assert table.index_for_range == {"moment": True, "n": False}
    assert table.scan_bytes is not None
    assert 100_000 < table.scan_bytes.value < 400_000
    assert facts.statements - before.statements < 16
    bad = session.inspect([InspectItem(name="q", query="SELECT nope FROM t"), InspectItem(name="t", table="t")])
    assert "no such column" in bad.tables["q"].problem
    assert bad.tables["t"].problem == ""


def test_virtual_tables_are_read_as_they_describe_themselves(database, open_session) -> None:
    session = open_session(database("CREATE VIRTUAL TABLE f USING fts5 (title, body); INSERT INTO f VALUES ('a', 'b')"))
    table = look(session, "f")["f"]
    assert [c.name for c in table.columns] == ["title", "body"]
    assert table.scan_bytes is None
