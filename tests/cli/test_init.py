"""`rivet init`: the config it writes checks, plans and runs without an edit, whatever tables are called and hold."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rivet_core.config import config_schema, load_config
from rivet_core.plugins import load_plugins
from rivet_core.running import layout_of, list_files

ODD = [
    "orders",
    "Orders2",
    "with space",
    " leading",
    "a.b",
    'quo"te',
    "apo'strophe",
    "back`tick",
    "back\\slash",
    "per%cent%s",
    ":colon",
    "a: b",
    "- dash",
    "#hash",
    "a #b",
    "{brace}",
    "[list]",
    "*star",
    "&anchor",
    "!tag",
    "@at",
    "${env:NOBODY}",
    "$${twice}",
    "${",
    "true",
    "null",
    "no",
    "007",
    "1e5",
    "12:30:00",
    "~",
    "?",
    "select",
    "a/b",
    "..",
    "-x",
    "tab\there",
    "new\nline",
    "größe",
    "таблица",
    "表",
    "nel\x85",
    "sep\u2028x",
    "n" * 60,
    "_rivet",
    "manifest.json",
    "a|b",
    "what<>is",
]
TYPES = {
    "sqlite": ["INTEGER", "TEXT", "BLOB", "REAL", "DECIMAL(10,2)", "DATETIME", "BOOLEAN", "", "whatever(3)"],
    "postgres": [
        "int",
        "text",
        "numeric(12,3)",
        "numeric",
        "timestamptz",
        "date",
        "jsonb",
        "uuid",
        "inet",
        "int[]",
        "text[][]",
        "interval",
        "tsvector",
        "int4range",
        "bytea",
        "money",
        "time",
        "timetz",
        "bit(3)",
        "point",
        "bool",
    ],
    "mysql": [
        "int",
        "bigint unsigned",
        "text",
        "decimal(10,2)",
        "datetime(6)",
        "time",
        "enum('b','a')",
        "json",
        "bit(5)",
        "year",
    ],
}


def tables(count: int, kind: str) -> list[tuple[str, str]]:
    """Return names with the columns of each, as SQL."""
    mark = "`" if kind == "mysql" else '"'
    names = [name for name in ODD if kind != "mysql" or not (set("\x85\u2028") & set(name))]
    names += [f"t{number}" for number in range(count - len(names))]
    made = []
    for number, name in enumerate(names):
        column = TYPES[kind][number % len(TYPES[kind])]
        key = ("id INTEGER PRIMARY KEY", "id INTEGER", "id INTEGER NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (id, k)")[
            number % 3
        ]
        odd = f"{mark}{ODD[number % 20].replace(mark, mark * 2)}{mark} {column}"
        parts = key.split(", PRIMARY")
        columns = f"{parts[0]}, {odd}" + (f", PRIMARY{parts[1]}" if len(parts) > 1 else "")
        made.append((f"{mark}{name.replace(mark, mark * 2)}{mark}", columns))
    return made


def one_row(columns: str) -> str:
    return "(id, k) VALUES (1, 2)" if ", k " in columns else "(id) VALUES (1)"


def runs_unedited(cli: Any, folder: Path, expected: int) -> dict[str, Any]:
    """Check, plan and apply the config as it was written; return its exports by table."""
    path = folder / "rivet.yaml"
    before = path.read_bytes()
    jsonschema.validate(yaml.safe_load(path.read_text()), config_schema(load_plugins(environ={})))
    checked = cli("check", "--json")
    assert checked.code == 0, [item for item in checked.data["exports"] if not item["ok"]] or checked.err
    assert len(checked.data["exports"]) == expected
    planned = cli("plan", "--json")
    assert planned.code == 0, planned.err
    applied = cli("apply", "--json", "-q")
    assert applied.code == 0, applied.out[-2000:] + applied.err
    assert path.read_bytes() == before
    return {spec.table or "": spec for spec in load_config(path).exports}


def rows_of(spec: Any, folder: Path) -> int:
    options, layout = layout_of(spec)
    target = load_plugins(environ={}).open_destination(spec.destination.type, options, base=folder)
    return sum(file.rows for file in list_files(target, layout))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
    connection.execute("CREATE TABLE tmp_x (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE VIEW recent AS SELECT * FROM orders")
    connection.commit()
    connection.close()
    return tmp_path


@pytest.mark.slow
def test_two_hundred_odd_tables_of_sqlite(cli: Any, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    for name, columns in tables(200, "sqlite"):
        connection.execute(f"CREATE TABLE {name} ({columns})")
        values = "(1, 2, NULL), (2, 2, NULL)" if ", k " in columns else "(1, NULL), (2, NULL)"
        connection.execute(f"INSERT INTO {name} VALUES {values}")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    connection.commit()
    connection.close()
    assert cli("init", "--source", "sqlite:///shop.db").code == 0
    specs = runs_unedited(cli, tmp_path, 201)
    assert {name for name in ODD if name not in specs} == set()
    assert {rows_of(spec, tmp_path) for name, spec in specs.items() if name != "words"} == {2}


@pytest.mark.slow
def test_two_hundred_odd_tables_of_postgres(cli: Any, postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = []
    for name, columns in tables(196, "postgres"):
        sql += [f"CREATE TABLE {name} ({columns});", f"INSERT INTO {name} {one_row(columns)};"]
    sql += [
        "CREATE SCHEMA other; CREATE TABLE other.orders (id int); INSERT INTO other.orders VALUES (1);",
        'CREATE TABLE "ORDERS" (id int); INSERT INTO "ORDERS" VALUES (1);',
        "CREATE TABLE days (d date, id int) PARTITION BY RANGE (d);",
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');",
        "INSERT INTO days VALUES ('2026-05-05', 1);",
        "CREATE MATERIALIZED VIEW seen AS SELECT 1 AS id;",
        "CREATE VIEW looked AS SELECT 1 AS id; CREATE TABLE nothing ();",
        "CREATE TABLE large (id bigint PRIMARY KEY, v text); CREATE TABLE vacant (id int PRIMARY KEY, v text);",
        "INSERT INTO large SELECT g, repeat('x', 1000) FROM generate_series(1, 80000) g; ANALYZE;",
    ]
    for statement in "\n".join(sql).split(";\n"):
        postgres.execute(statement)
    monkeypatch.setenv("SHOP_URL", postgres.url)
    said = cli("init", "--source-env", "SHOP_URL", "--json")
    assert said.code == 0, said.err
    assert {item["table"] for item in said.data["left_out"]} == {"public.looked", "public.nothing"}
    text = (tmp_path / "rivet.yaml").read_text()
    assert "url_env: SHOP_URL" in text
    assert postgres.url not in text
    specs = runs_unedited(cli, tmp_path, 202)
    sizes = {"public.large": 80_000, "public.vacant": 0}
    assert {name: rows_of(spec, tmp_path) for name, spec in specs.items()} == {name: sizes.get(name, 1) for name in specs}
    assert sizes.keys() <= specs.keys()
    names = [spec.name.casefold() for spec in specs.values()]
    assert len(set(names)) == 202


@pytest.mark.slow
def test_odd_tables_of_mariadb(cli: Any, mysql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, columns in tables(48, "mysql"):
        mysql.execute(f"CREATE TABLE {name} ({columns})")
        mysql.execute(f"INSERT INTO {name} {one_row(columns)}")
    monkeypatch.setenv("SHOP_URL", mysql.url)
    said = cli("init", "--source-env", "SHOP_URL")
    assert said.code == 0, said.err
    specs = runs_unedited(cli, tmp_path, 48)
    assert {rows_of(spec, tmp_path) for spec in specs.values()} == {1}


def test_only_the_database_of_the_url_unless_another_is_asked_for(
    cli: Any, mysql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysql.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    monkeypatch.setenv("SHOP_URL", mysql.url)
    found = cli("init", "--source-env", "SHOP_URL", "--discover").data
    assert {table["schema"] for table in found["tables"]} == {mysql.name}
    assert cli("init", "--source-env", "SHOP_URL", "--schema", "nowhere").code == 2


def test_a_materialized_view_never_filled_is_left_out_as_what_it_is(
    cli: Any, postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("CREATE MATERIALIZED VIEW bare AS SELECT 1 AS id WITH NO DATA; CREATE TABLE orders (id int PRIMARY KEY)")
    monkeypatch.setenv("SHOP_URL", postgres.url)
    (left,) = cli("init", "--source-env", "SHOP_URL", "--discover").data["left_out"]
    assert (left["table"], left["kind"]) == ("public.bare", "materialized_view")
    assert 'REFRESH MATERIALIZED VIEW "public"."bare"' in left["reason"]
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: postgres, url_env: SHOP_URL}\ndestination: {type: local, path: out}\n"
        "exports:\n  - {name: bare, table: bare}\n"
    )
    said = cli("plan", "--json")
    assert said.code == 1
    assert said.data["exports"][0]["error"]["code"] == "source_missing"


def test_never_overwrites_without_force(cli: Any, shop: Path) -> None:
    (shop / "rivet.yaml").write_text("mine")
    said = cli("init", "--source", "shop.db")
    assert said.code == 2
    assert "--force" in said.err
    assert (shop / "rivet.yaml").read_text() == "mine"
    assert cli("init", "--source", "shop.db", "--force").code == 0
    assert load_config(shop / "rivet.yaml").exports
    assert sorted(path.name for path in shop.iterdir()) == ["rivet.yaml", "shop.db"]


def test_globs_choose_and_a_view_comes_only_by_name(cli: Any, shop: Path) -> None:
    assert cli("init", "--source", "shop.db", "--exclude", "tmp_*", "--force").code == 0
    assert [spec.name for spec in load_config(shop / "rivet.yaml").exports] == ["orders"]
    assert cli("init", "--source", "shop.db", "--include", "rec*", "--force").code == 0
    assert [spec.name for spec in load_config(shop / "rivet.yaml").exports] == ["recent"]
    runs_unedited(cli, shop, 1)


def test_discover_ranks_and_writes_nothing(cli: Any, shop: Path) -> None:
    said = cli("init", "--source", "shop.db", "--discover")
    assert said.code == 0
    assert [table["rank"] for table in said.data["tables"]] == [1, 2]
    scores = [table["priority_score"] for table in said.data["tables"]]
    assert scores == sorted(scores, reverse=True)
    assert said.data["left_out"][0]["table"] == "recent"
    assert [path.name for path in shop.iterdir()] == ["shop.db"]


def test_a_config_elsewhere_finds_its_database(cli: Any, shop: Path) -> None:
    (shop / "conf").mkdir()
    assert cli("init", "--source", "sqlite:///shop.db", "-o", "conf/shop.yaml").code == 0
    assert 'path: "../shop.db"' in (shop / "conf" / "shop.yaml").read_text()
    assert cli("run", "-c", "conf/shop.yaml").code == 0


def test_a_password_stays_out_of_the_config(cli: Any, postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute("CREATE TABLE orders (id int)")
    scheme, _, rest = postgres.url.partition("://")
    user, _, where = rest.rpartition("@")
    url = f"{scheme}://{user.partition(':')[0]}:s3cr3t-pw@{where}"
    said = cli("init", "--source", url)
    printed = said.out + said.err + "".join(path.read_text() for path in tmp_path.glob("*.yaml"))
    assert "s3cr3t-pw" not in printed
    if said.code == 0:
        assert "export " in said.err
        monkeypatch.setenv("GIVEN", url)
        assert cli("init", "--source", url, "--force").code == 0
        assert "url_env: GIVEN" in (tmp_path / "rivet.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "say where the database is"),
        (("--source", "sqlite:///shop.db", "--source-env", "X"), 2, "exclude each other"),
        (("--source-env", "NOBODY_SET_THIS"), 2, "NOBODY_SET_THIS"),
        (("--source-env", "postgresql://u:p4ss@h/d"), 2, "name of a variable"),
        (("--source", "nonsense"), 2, "not a connection URL"),
        (("--source", "oracle://u@h/d"), 3, "oracle"),
        (("--source", "sqlite:///missing.db"), 1, "missing.db"),
        (("--source", "sqlite:///shop.db", "--include", "nothing*"), 2, "no table to export"),
        (("--source", "sqlite:///shop.db", "-o", "no/such/place.yaml"), 2, "no/such/place.yaml"),
        (("--source", "postgresql://u:p4ss@127.0.0.1:1/d"), 1, "127.0.0.1"),
    ],
)
def test_bad_input_is_one_line_and_a_hint(cli: Any, shop: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    said = cli("init", *arguments)
    assert said.code == code, said.err
    assert words in said.err
    assert "hint:" in said.err
    assert "p4ss" not in said.out + said.err
    assert json.loads(cli("init", *arguments, "--json").out)["error"]["exit_code"] == code
    assert not list(shop.glob("*.yaml"))
