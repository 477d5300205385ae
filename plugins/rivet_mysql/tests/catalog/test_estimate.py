"""What a query or a view costs: what the optimizer looks at, not what comes out of it."""

from __future__ import annotations

import pytest

from rivet_core.facts import Basis, InspectItem
from rivet_mysql.catalog.estimate import read_plan
from rivet_mysql.catalog.statements import Size
from rivet_mysql.options import MysqlOptions
from rivet_mysql.session import connect

pytestmark = pytest.mark.mysql


@pytest.fixture
def large(mysql):
    """A table of several megabytes, a small one of an odd name, and views over them; returns the size of the first."""
    mysql.execute("CREATE TABLE big(id int PRIMARY KEY, k int, v varchar(200), KEY (k))")
    mysql.execute("INSERT INTO big SELECT seq, seq % 1000, REPEAT('x', 150) FROM seq_1_to_40000")
    mysql.execute("CREATE TABLE `odd ``t`(id int PRIMARY KEY, b int)")
    mysql.execute("INSERT INTO `odd ``t` SELECT seq, seq FROM seq_1_to_1000")
    mysql.execute("CREATE VIEW plain AS SELECT * FROM big WHERE v = 'y'")
    mysql.execute("ANALYZE TABLE big, `odd ``t`")
    found = estimates(mysql, big=None)
    return found["big"].bytes[0].value


def estimates(mysql, *, admin=True, **queries):
    session = connect(MysqlOptions(url=mysql.admin_url if admin else mysql.url))
    try:
        items = [
            InspectItem(name=name, query=query) if query else InspectItem(name=name, table=name)
            for name, query in queries.items()
        ]
        return session.inspect(items).tables
    finally:
        session.close()


def test_a_query_costs_what_it_scans_and_not_what_it_returns(mysql, large):
    found = estimates(
        mysql,
        plain=None,
        ten="SELECT * FROM big b WHERE b.v = 'y' LIMIT 10",
        few="SELECT * FROM big WHERE k = 3",
        one="SELECT v FROM big WHERE id = 5",
        both="SELECT id FROM big WHERE v = 'a' UNION ALL SELECT id FROM `odd ``t`",
        nested="SELECT o.id FROM `odd ``t` o JOIN big ON big.id = o.b",
        counted="SELECT count(*) AS n FROM big x WHERE x.v > 'a'",
        many="SELECT a.id FROM big a JOIN `odd ``t` o",
        none="SELECT 1 AS a",
        impossible="SELECT id FROM big WHERE 1 = 0",
    )
    scans = {name: facts.scan_bytes.value for name, facts in found.items()}
    assert scans["ten"] == scans["plain"] == scans["counted"] == large > 4_000_000
    assert large < scans["both"] < 1.1 * large
    assert 0 < scans["one"] < scans["few"] < scans["nested"] < large / 10
    assert scans["many"] > 40 * large
    assert scans["impossible"] == 0
    assert scans["none"] == 16
    rows = {name: facts.rows[0].value for name, facts in found.items()}
    assert rows["ten"] == 10
    assert (rows["one"], rows["none"], rows["impossible"]) == (1, 1, 0)
    assert 10 <= rows["few"] <= 200
    assert (found["ten"].scan_bytes.basis, found["ten"].scan_bytes.unit) == (Basis.LIVE, "B")


def test_without_the_right_to_the_statistics_the_sizes_come_from_elsewhere(mysql, large):
    found = estimates(mysql, admin=False, ten="SELECT * FROM big WHERE v = 'y' LIMIT 10")
    assert found["ten"].scan_bytes.value >= large / 2


def test_a_view_that_may_not_be_explained_is_planned_all_the_same(mysql, large):
    mysql.execute("CREATE DATABASE IF NOT EXISTS rivet_aside", admin=True)
    try:
        mysql.execute(f"CREATE VIEW rivet_aside.hidden AS SELECT id, v FROM `{mysql.name}`.big", admin=True)
        mysql.execute(f"GRANT SELECT ON rivet_aside.hidden TO '{mysql.user}'@'%'", admin=True)
        (facts,) = estimates(mysql, admin=False, **{"rivet_aside.hidden": None}).values()
        assert (facts.problem, [column.name for column in facts.columns]) == ("", ["id", "v"])
        assert facts.scan_bytes is None
        assert any(note.startswith("no estimate: explaining rivet_aside.hidden") for note in facts.notes)
    finally:
        mysql.execute("DROP DATABASE rivet_aside", admin=True)


def lines(*rows):
    names = ("id", "select_type", "table", "type", "rows", "filtered", "extra")
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_each_select_is_a_loop_of_its_own():
    """As MySQL 8 words it: filtered says how much of the rows goes on to the next table."""
    big, small = ("s", "big"), ("s", "small")
    found = read_plan(
        lines(
            ("1", "PRIMARY", "<derived2>", "ALL", "500", "100.00", ""),
            ("2", "DERIVED", "b", "ALL", "10000", "10.00", "Using where"),
            ("2", "DERIVED", "s", "ref", "5", "50.00", ""),
            ("", "UNION RESULT", "<union2,3>", "ALL", "", "", "Using temporary"),
        ),
        {"b": [("b", "id"), big], "s": [small]},
    )
    assert found.rows == 500
    assert [(step.rows, step.whole) for step in found.steps] == [(10000, True), (5000, False)]
    assert found.scanned({big: Size(rows=10000, bytes=1_000_000), small: Size(rows=100, bytes=4000)}) == 1_000_000 + 5000 * 40
    assert found.scanned({}) == 15000 * 100
