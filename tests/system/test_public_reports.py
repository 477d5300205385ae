"""Faults that users reported in public, as whole commands on real servers: config (G), identifiers (N), drift (O07).

G05 stands in `test_tls`; rows are compared with what the servers hold.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project

Database = PostgresDatabase | MariaDatabase
HEAD = "source: {{type: {kind}, url_env: SHOP_URL}}\ndestination: {{type: local, path: out}}\n"


class Shop:
    """One of the two servers, a project on it, and what arrived."""

    def __init__(self, rivet: Project, database: Database, kind: str) -> None:
        self.rivet, self.database, self.kind = rivet, database, kind
        rivet.environ["SHOP_URL"] = database.url
        self.quote = '"' if kind == "postgres" else "`"

    def sql(self, text: str) -> None:
        """Run statements written with double-quoted names."""
        self.database.execute(text.replace('"', self.quote))

    def config(self, text: str) -> None:
        self.rivet.config(HEAD.format(kind=self.kind) + text)

    def run(self) -> Any:
        return self.rivet.run("run", "--json").assert_done().json()

    def table(self, export: str) -> pa.Table:
        return pa.concat_tables(self.parts(export))

    def parts(self, export: str) -> list[pa.Table]:
        files = self.rivet.run("files", export, "--json").assert_done().json()["files"]
        return [pq.read_table(file["path"]) for file in files]


@pytest.fixture(params=["postgres", "mariadb"])
def shop(request: pytest.FixtureRequest, rivet: Project) -> Shop:
    name = "postgres" if request.param == "postgres" else "mysql"
    return Shop(rivet, request.getfixturevalue(name), request.param)


# G01, G02, G06 need no server: the file is refused before anything is opened.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "exports:\n- name: a\n  table: t\n  chunk_size: 1\n  chunk_size: 2\n",
            ["rivet.yaml:7:", "chunk_size", "first on line 6"],
        ),
        ("exports:\n- {name: a, table: t}\nexports:\n- {name: b, table: t}\n", ["rivet.yaml:5:", "exports", "first on line 3"]),
        (
            "exports:\n- {name: orders, table: t}\n- {name: orders, table: u}\n",
            ["rivet.yaml:5:", "two exports are named orders", "line 4"],
        ),
        (
            "exports:\n- {name: a, table: t, destination: {path: 'out/x/../{table}'}}\n"
            "- {name: b, table: t, destination: {path: 'out/{table}'}}\n",
            ["rivet.yaml:5:", "exports a (line 4) and b write to the same place"],
        ),
    ],
)
def test_g01_duplicates_are_refused_with_both_lines(rivet: Project, text: str, said: list[str]) -> None:
    rivet.config(HEAD.format(kind="sqlite").replace("url_env: SHOP_URL", "path: x.db") + text)
    rivet.run("plan").assert_failed(2, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exports:\n- name: a\n  table: t\n  chunk_szie: 1000\n", ["rivet.yaml:6:", "chunk_szie", "did you mean `chunk_size`"]),
        ("paralel: 8\nexports:\n- {name: a, table: t}\n", ["rivet.yaml:3:", "paralel"]),
        ("chunk_size: 1000\nexports:\n- {name: a, table: t}\n", ["rivet.yaml:3:", "chunk_size", "export"]),
    ],
)
def test_g02_an_unknown_key_is_refused_with_the_nearest(rivet: Project, text: str, said: list[str]) -> None:
    rivet.config(HEAD.format(kind="sqlite").replace("url_env: SHOP_URL", "path: x.db") + text)
    rivet.run("plan").assert_failed(2, *said)


def test_g02_keys_of_the_users_own_are_allowed(shop: Shop) -> None:
    shop.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    shop.config("x-owner: somebody\nexports:\n- {name: a, table: t, x-note: mine}\n")
    shop.run()
    assert shop.table("a").num_rows == 1


def test_g06_what_anchors_share_is_copied(shop: Shop) -> None:
    shop.sql("CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 2, 3)")
    shop.config(
        "x-base: &base\n  table: t\n  columns: &cols [id, a]\n"
        "exports:\n- {<<: *base, name: one}\n- {name: two, table: t, columns: *cols}\n"
        "- {<<: *base, name: three, columns: [id, a, b]}\n"
    )
    shop.run()
    assert [shop.table(name).column_names for name in ("one", "two", "three")] == [["id", "a"], ["id", "a"], ["id", "a", "b"]]


@pytest.mark.parametrize(
    "text", ["exports:\n", "exports:\n- name: a\n  table:\n", "exports:\n- name: a\n  table: t\n  columns:\n"]
)
def test_g06_nothing_is_not_everything(rivet: Project, text: str) -> None:
    rivet.config(HEAD.format(kind="sqlite").replace("url_env: SHOP_URL", "path: x.db") + text)
    rivet.run("plan").assert_failed(2, "is empty")


def test_g06_odd_scalars_stay_text(shop: Shop) -> None:
    shop.sql('CREATE TABLE "12:30:00" ("on" int PRIMARY KEY, "no" int, "007" int); INSERT INTO "12:30:00" VALUES (1, 2, 3)')
    shop.config("exports:\n- {name: no, table: 12:30:00, columns: [on, no, 007]}\n")
    shop.run()
    assert shop.table("no").to_pylist() == [{"on": 1, "no": 2, "007": 3}]


# G04: unix sockets.


def pg_sockets(database: PostgresDatabase) -> dict[str, str]:
    directory = str(database.server.directory)
    login = f"{database.user}:{quote(database.password)}"
    return {
        "host in the query": f"url: 'postgresql://{login}@/{database.name}?host={directory}&port={database.port}'",
        "host encoded": f"url: 'postgresql://{login}@{quote(directory, safe='')}:{database.port}/{database.name}'",
        "fields": f"host: {directory}, port: {database.port}, {fields(database)}",
    }


def fields(database: Database) -> str:
    return f"user: {database.user}, password_env: PW, database: {database.name}"


def my_sockets(database: MariaDatabase) -> dict[str, str]:
    socket = str(database.server.directory / "m.sock")
    login = f"{database.user}:{quote(database.password)}"
    return {
        "socket in the query": f"url: 'mysql://{login}@/{database.name}?socket={socket}'",
        "host encoded": f"url: 'mysql://{login}@{quote(socket, safe='')}/{database.name}'",
        "fields": f"host: {socket}, {fields(database)}",
    }


@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_g04_every_form_of_a_unix_socket(rivet: Project, request: pytest.FixtureRequest, kind: str, form: int) -> None:
    database: Any = request.getfixturevalue(kind)
    forms: dict[str, str] = (pg_sockets if kind == "postgres" else my_sockets)(database)
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    proof = (
        "SELECT inet_client_addr() IS NULL AS over_socket"
        if kind == "postgres"
        else "SELECT host NOT LIKE '%:%' AS over_socket FROM information_schema.processlist WHERE id = connection_id()"
    )
    rivet.environ["PW"] = database.password
    rivet.config(
        f"source: {{type: {kind}, {list(forms.values())[form]}}}\n"
        f'destination: {{type: local, path: out}}\nexports:\n- {{name: proof, query: "{proof}"}}\n- {{name: t, table: t}}\n'
    )
    rivet.run("run").assert_done().assert_hides(database.password)
    shop = Shop(rivet, database, kind)
    assert [bool(row["over_socket"]) for row in shop.table("proof").to_pylist()] == [True]
    assert shop.table("t").num_rows == 2


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_g04_tls_over_a_socket_is_explained(rivet: Project, kind: str) -> None:
    rivet.config(
        f"source: {{type: {kind}, host: /run/x, user: u, database: d, tls: {{mode: verify-full}}}}\n"
        "destination: {type: local, path: out}\nexports:\n- {name: t, table: t}\n"
    )
    rivet.run("plan").assert_failed(2, "verify-full cannot be kept over the unix socket", "leave out `tls`")


# N: identifiers.


def test_n01_names_that_differ_in_case_are_two_tables(shop: Shop) -> None:
    shop.sql('CREATE TABLE "Users" (id int PRIMARY KEY); CREATE TABLE users (id int PRIMARY KEY)')
    shop.sql('INSERT INTO "Users" VALUES (1); INSERT INTO users VALUES (1), (2)')
    shop.config("exports:\n- {name: upper, table: Users}\n- {name: lower, table: users}\n")
    shop.run()
    assert [shop.table(name).num_rows for name in ("upper", "lower")] == [1, 2]
    shop.config("exports:\n- {name: shout, table: USERS}\n")
    shop.rivet.run("plan").assert_failed(1, "USERS", "Users", "users")


def test_n02_reserved_words_are_names(shop: Shop) -> None:
    shop.sql(
        'CREATE TABLE "user" ("order" int PRIMARY KEY, "group" varchar(9)); INSERT INTO "user" VALUES (1, \'g\'), (2, NULL)'
    )
    shop.config(
        "exports:\n- {name: user, table: user}\n- {name: inc, table: user, mode: incremental, cursor_column: order}\n"
        "- {name: cut, table: user, mode: chunked, chunk_column: order, chunk_count: 2}\n"
    )
    shop.run()
    for name in ("user", "inc", "cut"):
        rows = sorted(shop.table(name).to_pylist(), key=lambda row: row["order"])
        assert rows == [{"order": 1, "group": "g"}, {"order": 2, "group": None}]


def test_n04_lookalike_columns_stay_apart_with_a_warning(shop: Shop) -> None:
    # MariaDB takes column names that differ in case for one, so there only the look-alike is left.
    cyrillic = "\u0430"
    names = ["A", "a", cyrillic] if shop.kind == "postgres" else ["a", cyrillic]
    columns = ", ".join(f'"{name}" int' for name in names)
    shop.sql(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES ({', '.join(str(place) for place in range(len(names)))})")
    shop.config("exports:\n- {name: t, table: t}\n")
    assert "U+0430" in shop.rivet.run("check").assert_done().stdout
    shop.run()
    assert shop.table("t").to_pylist() == [{name: place for place, name in enumerate(names)}]


def test_n05_long_names_that_differ_in_the_last_byte(shop: Shop) -> None:
    longest = 63 if shop.kind == "postgres" else 64
    names = [("t" * (longest - 1)) + last for last in "ab"]
    columns = [("c" * (longest - 1)) + last for last in "ab"]
    for place, name in enumerate(names):
        shop.sql(f'CREATE TABLE "{name}" ("{columns[0]}" int PRIMARY KEY, "{columns[1]}" int)')
        shop.sql(f'INSERT INTO "{name}" VALUES ({place}, 7)')
    shop.config("exports:\n" + "".join(f"- {{name: {name}, table: {name}}}\n" for name in names))
    shop.run()
    for place, name in enumerate(names):
        assert shop.table(name).to_pylist() == [{columns[0]: place, columns[1]: 7}]


@pytest.mark.parametrize(("letter", "count"), [("x", 200), ("ü", 100), ("表", 66)])
def test_n05_names_too_long_for_a_directory_are_refused(shop: Shop, letter: str, count: int) -> None:
    shop.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    shop.config(f"exports:\n- {{name: {letter * count}, table: t}}\n")
    shop.run()
    assert shop.table(letter * count).num_rows == 1
    shop.config(f"exports:\n- {{name: {letter * (count + 1)}, table: t}}\n")
    shop.rivet.run("plan").assert_failed(2, "at most 200 bytes")


# O07: the schema changes between two incremental runs.

ALTERATIONS = {
    "added": ("ADD COLUMN extra int", 0, "extra"),
    "widened": ("{int_to_bigint}", 0, "widen"),
    "dropped": ("DROP COLUMN b", 5, "b"),
    "renamed": ("RENAME COLUMN b TO c", 5, "b"),
    "of another type": ("{int_to_text}", 5, "b"),
}
SPELLING = {
    "postgres": {"int_to_bigint": "ALTER COLUMN b TYPE bigint", "int_to_text": "ALTER COLUMN b TYPE text"},
    "mariadb": {"int_to_bigint": "MODIFY b bigint", "int_to_text": "MODIFY b varchar(20)"},
}


@pytest.mark.parametrize("change", ALTERATIONS)
def test_o07_drift_is_found_before_anything_is_written(shop: Shop, change: str) -> None:
    statement, code, said = ALTERATIONS[change]
    shop.sql("CREATE TABLE t (id int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10), (2, 20)")
    shop.config("exports:\n- {name: t, table: t, mode: incremental, cursor_column: id}\n")
    shop.run()
    shop.sql(f"ALTER TABLE t {statement.format(**SPELLING[shop.kind])}")
    shop.sql("INSERT INTO t (id) VALUES (3)")
    outcome = shop.rivet.run("run")
    outcome.assert_failed(code, said)
    found = [row["id"] for table in shop.parts("t") for row in table.to_pylist()]
    assert sorted(found) == ([1, 2] if code else [1, 2, 3])
    assert [row.get("b") for table in shop.parts("t") for row in table.to_pylist() if row["id"] < 3] == [10, 20]
    if code:  # the cursor stayed: with the policy changed the row arrives
        shop.config("exports:\n- {name: t, table: t, mode: incremental, cursor_column: id, on_schema_drift: continue}\n")
        shop.run()
        assert sorted(row["id"] for table in shop.parts("t") for row in table.to_pylist()) == [1, 2, 3]
