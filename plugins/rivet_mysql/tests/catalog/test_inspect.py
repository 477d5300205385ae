"""What the catalog says, what it may not say, and how many statements that takes."""

from __future__ import annotations

import re
import time

import pytest

from rivet_core.facts import Basis, Fidelity, InspectItem, RelationKind, Role, TypeKind
from rivet_mysql.options import MysqlOptions
from rivet_mysql.session import connect

pytestmark = pytest.mark.mysql


def item(name, **more):
    return InspectItem(name=name, table=name, **more)


def inspect(mysql, *names, admin=True, **queries):
    session = connect(MysqlOptions(url=mysql.admin_url if admin else mysql.url))
    try:
        return session.inspect([*map(item, names), *(InspectItem(name=k, query=q) for k, q in queries.items())])
    finally:
        session.close()


def test_columns_and_indexes_as_the_server_has_them(mysql):
    mysql.execute(
        "CREATE TABLE t(id bigint unsigned AUTO_INCREMENT PRIMARY KEY, u datetime(3) NOT NULL DEFAULT current_timestamp(3),"
        " c varchar(100) COMMENT 'what', g int AS (length(c) + 1) STORED, d decimal(10,2) NULL, v point NULL,"
        " UNIQUE KEY ud (u, d), KEY cp (c(10)), KEY dd (d DESC, u), FULLTEXT KEY f (c))"
    )
    facts = inspect(mysql, "t").tables["t"]
    assert facts.kind is RelationKind.TABLE
    assert (facts.schema, facts.relation) == (mysql.name, "t")
    columns = {column.name: column for column in facts.columns}
    assert list(columns) == ["id", "u", "c", "g", "d", "v"]
    assert columns["id"].source_type == "bigint(20) unsigned"
    assert (columns["id"].generated, columns["g"].generated, columns["u"].generated) == ("auto_increment", "stored", "default")
    assert columns["id"].default is None
    assert columns["d"].default is None
    assert columns["d"].generated == ""
    assert (columns["u"].kind, columns["u"].precision) == (TypeKind.TIMESTAMP, 3)
    assert columns["c"].comment == "what"
    assert columns["c"].collation.startswith("utf8mb4")
    assert columns["v"].fidelity is Fidelity.EXACT
    assert [column.arrow_type for column in facts.columns][:2] == ["uint64", "timestamp[us]"]
    indexes = {index.name: index for index in facts.indexes}
    assert indexes["PRIMARY"].primary
    assert indexes["PRIMARY"].usable
    assert indexes["ud"].unique
    assert indexes["ud"].columns == ("u", "d")
    assert not indexes["cp"].usable  # a prefix does not order the column
    assert not indexes["dd"].usable or indexes["dd"].columns == ("d", "u")
    assert not indexes["f"].usable
    assert facts.primary_key == ("id",)
    assert facts.leads_index("u")
    assert not facts.leads_index("c")
    assert facts.is_unique("id")


def test_s03_innodb_rows_are_shown_as_about_half_right(mysql):
    mysql.execute(
        "CREATE TABLE t(id int primary key, c varchar(100)); INSERT INTO t SELECT seq, REPEAT('x', 90) FROM seq_1_to_5000"
    )
    mysql.execute("ANALYZE TABLE t")
    facts = inspect(mysql, "t").tables["t"]
    (rows,) = facts.rows
    assert 2500 <= rows.value <= 7500
    assert (rows.quality, rows.basis, rows.source) == (50, Basis.STATISTICS, "mysql.innodb_table_stats.n_rows")
    assert rows.observed_at is not None
    assert abs(rows.observed_at.timestamp() - time.time()) < 3600
    assert any("+-50 %" in note for note in facts.notes)
    assert facts.bytes[0].value >= 5000 * 90
    assert facts.bytes[0].quality == 75
    assert 90 <= facts.avg_width <= 400


def test_a_zero_that_the_size_contradicts_is_unknown(mysql):
    mysql.execute(
        "CREATE TABLE t(id int primary key, c varchar(100)); INSERT INTO t SELECT seq, REPEAT('x', 90) FROM seq_1_to_5000"
    )
    mysql.execute("ANALYZE TABLE t")
    mysql.execute("UPDATE mysql.innodb_table_stats SET n_rows = 0 WHERE database_name = DATABASE()", admin=True)
    facts = inspect(mysql, "t").tables["t"]
    assert facts.rows == ()
    assert facts.bytes[0].value > 0
    assert any("unknown" in note for note in facts.notes)


def test_an_empty_table_is_known_to_be_empty(mysql):
    mysql.execute("CREATE TABLE t(id int primary key); ANALYZE TABLE t")
    assert inspect(mysql, "t").tables["t"].rows[0].value == 0


def test_partitions_are_summed(mysql):
    mysql.execute(
        "CREATE TABLE p(id int primary key) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (1000),"
        " PARTITION b VALUES LESS THAN MAXVALUE); INSERT INTO p SELECT seq FROM seq_1_to_4000"
    )
    mysql.execute("ANALYZE TABLE p")
    facts = inspect(mysql, "p").tables["p"]
    assert facts.kind is RelationKind.PARTITIONED
    assert facts.partitions == ("a", "b")
    assert facts.largest_partition == "b"
    assert 2000 <= facts.rows[0].value <= 6000


def test_s06_what_cannot_be_read_is_named_with_its_grant(mysql):
    mysql.execute(
        "CREATE TABLE seen(id int primary key); CREATE TABLE hidden(id int primary key); CREATE TABLE half(a int, b int)"
    )
    mysql.execute("CREATE TABLE blind(id int)")
    user = f"'r{mysql.name[-6:]}'@'%'"
    mysql.execute(
        f"CREATE USER {user} IDENTIFIED BY 'pw'; GRANT SELECT ON `{mysql.name}`.seen TO {user};"
        f" GRANT INSERT ON `{mysql.name}`.blind TO {user}; GRANT SELECT (a) ON `{mysql.name}`.half TO {user}",
        admin=True,
    )
    try:
        session = connect(MysqlOptions(url=mysql.url_with(user=user.split("'")[1], password="pw")))
        found = session.inspect([item(name) for name in ("seen", "hidden", "half", "blind", "nothing")])
        tables = found.tables
        assert tables["seen"].problem == ""
        assert f"GRANT SELECT ON mysql.innodb_table_stats TO {user}" in tables["seen"].grants
        assert tables["seen"].rows[0].source == "information_schema.TABLES.TABLE_ROWS"
        assert tables["seen"].rows[0].quality == 40
        for name in ("hidden", "nothing"):
            assert tables[name].kind is RelationKind.MISSING
            assert f"GRANT SELECT ON `{mysql.name}`.`{name}` TO {user}" in tables[name].remedy
        assert "may not read" in tables["blind"].problem
        assert [column.readable for column in tables["half"].columns] == [True]
        assert f"GRANT PROCESS ON *.* TO {user}" in found.server.grants
        assert any(grant.startswith("GRANT REPLICA MONITOR") for grant in found.server.grants)
        assert found.server.oldest_transaction_seconds is None
        assert found.server.role is Role.UNKNOWN
        session.close()
    finally:
        mysql.execute(f"DROP USER {user}", admin=True)


def test_server_facts_and_the_oldest_transaction(mysql):
    with mysql.connect() as holder, holder.cursor() as cursor:
        mysql.execute("CREATE TABLE t(id int primary key)")
        cursor.execute("START TRANSACTION")
        cursor.execute("SELECT * FROM t")
        time.sleep(1.2)
        server = inspect(mysql).server
    assert server.engine == "mariadb"
    assert "MariaDB" in server.version
    assert not server.version.startswith("5.5.5")
    assert server.role is Role.PRIMARY
    assert server.replica_lag_seconds == 0.0
    assert 1 <= server.oldest_transaction_seconds < 60
    assert server.max_connections > 10
    assert server.used_connections >= 1
    assert server.free_connections > 0
    assert server.purge_backlog is not None
    assert server.address == f"127.0.0.1:{mysql.port}"
    assert server.database == mysql.name
    assert server.grants == ()


def test_an_account_may_have_a_limit_of_its_own(mysql):
    account = f"'capped_{mysql.name}'@'%'"
    mysql.execute(f"CREATE USER {account} IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 3", admin=True)
    mysql.execute(f"GRANT SELECT ON `{mysql.name}`.* TO {account}", admin=True)
    try:
        session = connect(MysqlOptions(url=mysql.url_with(user=f"capped_{mysql.name}", password="pw")))
        server = session.probe()
        session.close()
    finally:
        mysql.execute(f"DROP USER {account}", admin=True)
    assert (server.max_connections, server.used_connections, server.free_connections) == (3, 1, 2)


def test_the_number_of_statements_does_not_grow(mysql):
    mysql.execute("; ".join(f"CREATE TABLE t{i}(id int primary key, c int, KEY (c))" for i in range(200)))
    few = inspect(mysql, *(f"t{i}" for i in range(10)))
    many = inspect(mysql, *(f"t{i}" for i in range(200)))
    assert few.statements == many.statements <= 12
    assert all(table.problem == "" and len(table.columns) == 2 for table in many.tables.values())
    assert few.seconds < 3


def test_the_general_log_agrees_with_the_count(mysql):
    mysql.execute("CREATE TABLE t(id int primary key)")
    session = connect(MysqlOptions(url=mysql.admin_url))
    session.inspect([item("t")])
    before = len(mysql.log.statements())
    found = session.inspect([item("t")])
    assert len(mysql.log.statements()) - before == found.statements
    session.close()


def test_s04_a_statement_is_scoped_to_the_named_tables(mysql):
    mysql.execute("CREATE TABLE a(id int primary key); CREATE TABLE b(id int primary key)")
    inspect(mysql, "a")
    asked = [text for text in mysql.log.statements() if "information_schema." in text or "innodb_" in text]
    catalog = [text for text in asked if re.search(r"\btable_name\b", text, re.IGNORECASE)]
    assert catalog
    assert all("'a'" in text for text in catalog)


def test_a_view_and_a_query_are_described_without_running(mysql):
    mysql.execute(
        "CREATE TABLE t(id int primary key, n bigint unsigned, c text);"
        " INSERT INTO t SELECT seq, seq, 'x' FROM seq_1_to_1000; ANALYZE TABLE t"
    )
    mysql.execute("CREATE VIEW v AS SELECT id, c FROM t")
    found = inspect(
        mysql, "v", q="SELECT id, n, c, n / 3 AS third, SLEEP(5) AS s FROM t WHERE id < 500", bad="SELECT nope FROM t"
    )
    assert found.tables["v"].kind is RelationKind.VIEW
    assert found.tables["v"].rows[0].signal == "view_rows"
    assert found.tables["v"].notes == ("a view has no statistics of its own", "rows and bytes are the optimizer's guess")
    query = found.tables["q"]
    assert query.kind is RelationKind.QUERY
    assert [column.arrow_type for column in query.columns][:4] == ["int32", "uint64", "string", "decimal128(24, 4)"]
    assert 100 <= query.rows[0].value <= 1000
    assert query.rows[0].quality == 20
    assert "nope" in found.tables["bad"].problem
    assert found.tables["bad"].remedy
    assert found.seconds < 4


def test_names_that_point_nowhere(mysql):
    found = inspect(mysql, "a.b.c", "`open", f"{mysql.name}.none")
    assert all(table.kind is RelationKind.MISSING and table.problem and table.remedy for table in found.tables.values())


def test_writes_are_counted_when_the_performance_schema_is_on(mysql):
    mysql.execute("CREATE TABLE t(id int primary key); INSERT INTO t VALUES (1),(2)")
    on = mysql.execute("SELECT @@performance_schema", admin=True)[0][0]
    facts = inspect(mysql, "t").tables["t"]
    assert (facts.inserts == 2) if on else (facts.inserts is None)
