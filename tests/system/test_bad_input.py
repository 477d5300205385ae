"""Every bad input of a first day: one clear error, one hint, the documented exit code, never a traceback."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rivet_core.artifact.canonical import canonical, seal_of
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project

OUT = "destination: {type: local, path: out}\n"
HEAD = "source: {type: sqlite, path: x.db}\n" + OUT
CONFIG = """
    source: {type: sqlite, path: shop.db}
    destination: {type: local, path: out}
    exports:
      - {name: orders, table: orders, mode: incremental, cursor_column: id}
      - {name: customers, table: customers}
"""


@pytest.fixture
def shop(rivet: Project) -> Project:
    """A small SQLite shop and a config that plans and runs."""
    with sqlite3.connect(rivet.path / "shop.db") as connection:
        connection.executescript(
            """
            CREATE TABLE orders(id INTEGER PRIMARY KEY, amount INTEGER);
            CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO orders VALUES (1, 10), (2, 20), (3, 30);
            INSERT INTO customers VALUES (1, 'Ada'), (2, NULL);
            """
        )
    connection.close()
    rivet.config(CONFIG)
    return rivet


def reseal(path: Path, **changes: object) -> None:
    """Rewrite a plan as an old but intact one: only its times change, and the seal is made again."""
    data = {**json.loads(path.read_text()), **changes}
    data["seal"] = seal_of(data)
    path.write_bytes(canonical(data))


def test_missing_config(rivet: Project) -> None:
    rivet.run("plan").assert_failed(2, "error:", "rivet.yaml", "hint:")
    rivet.run("plan", "-c", "nowhere.yaml").assert_failed(2, "nowhere.yaml")
    rivet.run("apply", "nowhere.yaml").assert_failed(2, "nowhere.yaml")
    rivet.run("apply", "nowhere.json").assert_failed(2, "nowhere.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exports: [\n  {name: a", ["rivet.yaml:", "YAML"]),
        ("exports:\n  - name: a\n   table: b\n", ["rivet.yaml:3"]),
        (
            HEAD + "exports:\n  - {name: a, table: t, chunk_szie: 5}\n",
            ["rivet.yaml:4", "chunk_size"],
        ),
        (HEAD + "exports:\n  - {name: a, table: t}\nparalel: 8\n", ["rivet.yaml:5", "paralel"]),
        (HEAD + "exports:\n  - name: a\n    table: t\n    table: u\n", ["5", "6", "table"]),
        (
            HEAD + "exports:\n  - {name: a, table: t}\n  - {name: a, table: u}\n",
            ["rivet.yaml:5", "a"],
        ),
        (HEAD + "exports: []\n", ["exports"]),
        (HEAD + "exports:\n", ["exports"]),
        ("source: {type: sqlite}\n" + OUT + "exports:\n  - {name: a, table: t}\n", ["path"]),
        ("source: {type: sqlite, pth: x.db}\n" + OUT + "exports:\n  - {name: a, table: t}\n", ["path"]),
        ("", ["rivet.yaml"]),
        ("- 1\n- 2\n", ["rivet.yaml"]),
    ],
)
def test_bad_configs_are_refused_with_line_and_nearest_name(rivet: Project, text: str, says: list[str]) -> None:
    (rivet.path / "rivet.yaml").write_text(text)
    for command in (["plan"], ["apply", "rivet.yaml"], ["run"]):
        outcome = rivet.run(*command).assert_failed(2, "error:", "hint:", *says)
        assert outcome.stdout == ""


def test_unknown_source_type_names_what_to_install(rivet: Project) -> None:
    rivet.config("source: {type: postgrse, url_env: X}\n" + OUT + "exports: [{name: a, table: t}]\n")
    rivet.run("plan").assert_failed(3, "postgrse", "postgres")
    rivet.config("source: {type: duckdb, url_env: X}\n" + OUT + "exports: [{name: a, table: t}]\n")
    rivet.run("plan").assert_failed(3, "duckdb", "no plugin of rivet's own")


def test_unset_variable_is_named(shop: Project) -> None:
    shop.config("source: {type: sqlite, path: '${env:NO_SUCH_SHOP}'}\n" + OUT + "exports: [{name: a, table: orders}]\n")
    shop.run("plan").assert_failed(2, "NO_SUCH_SHOP")


def test_missing_table_is_a_marked_row_and_the_others_are_planned(shop: Project) -> None:
    shop.config(CONFIG + "      - {name: ghosts, table: ordres}\n")
    outcome = shop.run("plan", "-o", "plan.json").assert_failed(1, "ghosts", "ordres", "orders")
    assert "customers" in outcome.stdout
    plan = json.loads((shop.path / "plan.json").read_text())
    assert {item["name"]: item["status"] for item in plan["exports"]} == {
        "orders": "planned",
        "customers": "planned",
        "ghosts": "unplannable",
    }
    applied = shop.run("apply", "plan.json", "--json")
    assert applied.assert_no_traceback().exit_code == 1
    assert (shop.path / "out/orders/_rivet/current.json").exists()
    assert not (shop.path / "out/ghosts").exists()


@pytest.mark.postgres
def test_wrong_password_is_an_error_without_the_password(rivet: Project, postgres: PostgresDatabase) -> None:
    wrong = "S3cr3t!/x%Y"
    rivet.config(
        "source: {type: postgres, url_env: SHOP_URL}\n" + OUT + "exports: [{name: a, table: public.t}, {name: b, table: u}]\n"
    )
    url = postgres.url_with(password=wrong)
    for command in (["plan", "-v"], ["run", "-v"], ["plan", "--json"], ["apply", "rivet.yaml", "-v"]):
        outcome = rivet.run(*command, environ={"SHOP_URL": url})
        outcome.assert_failed(1, "password").assert_hides(wrong, "S3cr3t%21", url)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_query_with_columns_of_one_name_is_refused_before_a_run(
    rivet: Project, kind: str, request: pytest.FixtureRequest
) -> None:
    database = request.getfixturevalue(kind)
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    rivet.environ["SHOP_URL"] = database.url
    exports = {
        "twice": "SELECT id, v AS id FROM t",
        "nameless": "SELECT v + 1, v + 1 FROM t",
        "fine": "SELECT id, v AS w FROM t",
    }
    entries = "".join(f"  - {{name: {name}, query: {query!r}}}\n" for name, query in exports.items())
    rivet.config(f"source: {{type: {kind}, url_env: SHOP_URL}}\n{OUT}exports:\n{entries}")
    checked = rivet.run("check", "--json")
    assert checked.exit_code == 2
    found = {export["name"]: export for export in json.loads(checked.stdout)["exports"]}
    assert {name: export["ok"] for name, export in found.items()} == {"twice": False, "nameless": False, "fine": True}
    for name in ("twice", "nameless"):
        assert "... AS a" in found[name]["findings"][0]["hint"]
    rivet.run("plan", "-o", "plan.json").assert_failed(1, "twice", "nameless", "AS a")
    assert rivet.run("plan", "-q").stdout.count("cannot be planned") == 2


def test_edited_plan_is_refused_whatever_was_edited(shop: Project) -> None:
    shop.run("plan", "-o", "plan.json").assert_done()
    intact = (shop.path / "plan.json").read_text()
    for old, new in (
        ('"table":"orders"', '"table":"customers"'),
        ('"path":"out"', '"path":"elsewhere"'),
        ('"workers":4', '"workers":5'),
        ('"mode":"full"', '"mode":"incremental"'),
        ('"fail_fast":false', '"fail_fast":true'),
        ('"max_heavy":1', '"max_heavy":2'),
        ('"created_at":"2', '"created_at":"3'),
        ('"index":0', '"index":1'),
    ):
        assert old in intact, old
        (shop.path / "plan.json").write_text(intact.replace(old, new, 1))
        for flags in ([], ["--force"]):
            shop.run("apply", "plan.json", *flags).assert_failed(4, "seal", "hint:")
    (shop.path / "plan.json").write_text(intact[: len(intact) // 2])
    shop.run("apply", "plan.json").assert_failed(4, "plan.json")
    (shop.path / "plan.json").write_text("[1, 2]")
    shop.run("apply", "plan.json").assert_failed(4)
    (shop.path / "plan.json").write_text('{"plan_version": 99}')
    shop.run("apply", "plan.json").assert_failed(4, "plan_version")
    assert not (shop.path / "out").exists()


def test_old_plan_warns_then_is_refused_unless_forced(shop: Project) -> None:
    shop.run("plan", "-o", "plan.json").assert_done()
    now = datetime.now(UTC)

    def made(hours: float) -> dict[str, str]:
        then = now - timedelta(hours=hours)
        return {
            "created_at": then.isoformat(),
            "as_of": then.isoformat(),
            "expires_at": (then + timedelta(hours=24)).isoformat(),
        }

    reseal(shop.path / "plan.json", **made(25))
    shop.run("apply", "plan.json").assert_failed(4, "expired")
    assert not (shop.path / "out").exists()
    reseal(shop.path / "plan.json", **made(2))
    outcome = shop.run("apply", "plan.json").assert_done()
    assert "warning:" in outcome.stderr
    reseal(shop.path / "plan.json", **made(30))
    shop.run("apply", "plan.json", "--force").assert_done()


def test_plan_whose_cursor_moved_is_refused(shop: Project) -> None:
    shop.run("plan", "-o", "old.json").assert_done()
    shop.run("run").assert_done()
    shop.run("apply", "old.json").assert_failed(4, "orders", "cursor")
    shop.run("plan", "-o", "new.json").assert_done()
    shop.run("apply", "new.json").assert_done()


def test_unknown_export_name_and_bad_numbers(shop: Project) -> None:
    shop.run("plan", "-e", "ordres").assert_failed(2, "orders")
    shop.run("explain", "ordres").assert_failed(2, "orders")
    shop.run("files", "ordres").assert_failed(2, "orders")
    shop.run("plan", "--waves", "none").assert_failed(2, "--waves")
    shop.run("plan", "--workers", "0").assert_failed(2)
    shop.run("plan", "--workers", "99999999999").assert_failed(2, "--workers", "1000")
    shop.run("run", "--pool", "1001").assert_failed(2, "--pool", "1000")
    shop.run("simulate", "plan.json", "--workers", "99999999999").assert_failed(2, "--workers", "1000")
    shop.run("apply", "rivet.yaml", "--pool", "99999999999").assert_failed(2, "--pool", "1000")
    shop.run("apply", "rivet.yaml", "--pool", "0").assert_failed(2)
    shop.run("apply", "rivet.yaml", "--policy", "fastest").assert_failed(2, "bottleneck")
    shop.run("plan", "--format", "pdf").assert_failed(2, "json")
    shop.run("plna").assert_failed(2, "plna")
    shop.run("plan", "--no-such").assert_failed(2, "--no-such")


def test_errors_in_json_are_one_object(shop: Project) -> None:
    error = shop.run("plan", "-c", "none.yaml", "--json").json()["error"]
    assert set(error) == {"code", "message", "hint", "exit_code"}
    assert error["exit_code"] == 2


def test_files_before_any_run(shop: Project) -> None:
    outcome = shop.run("files", "orders", "--json")
    assert outcome.assert_no_traceback().json() == {"files": []}


def test_destination_without_rights(shop: Project) -> None:
    # /proc takes no directories from anybody, root included.
    shop.config(CONFIG.replace("path: out", "path: /proc/rivet-out"))
    shop.run("run").assert_failed(1, "/proc/rivet-out")


def test_destination_that_is_a_file(shop: Project) -> None:
    (shop.path / "out").write_text("not a directory")
    shop.run("run").assert_failed(1, "out")


def test_source_that_is_not_there_or_not_a_database(shop: Project) -> None:
    (shop.path / "shop.db").write_text("hello" * 1000)
    shop.run("plan").assert_failed(1, "shop.db")
    (shop.path / "shop.db").unlink()
    shop.run("plan").assert_failed(1, "shop.db")
    assert not (shop.path / "shop.db").exists()


def test_a_plan_may_come_out_of_a_pipe(shop: Project) -> None:
    shop.run("plan", "-o", "plan.json").assert_done()
    plan = (shop.path / "plan.json").read_text()
    shop.run("simulate", "/dev/stdin", stdin=plan).assert_done()
    shop.run("apply", "/dev/stdin", stdin=plan).assert_done()
    assert (shop.path / "out/orders/_rivet/current.json").exists()


@pytest.mark.parametrize("place", ["/dev/zero", "endless.json"])
def test_a_file_without_an_end_is_not_read_to_it(shop: Project, place: str) -> None:
    if place == "endless.json":
        (shop.path / place).symlink_to("/dev/zero")
    for command in (["apply", place], ["diff", place, place], ["simulate", place], ["plan", "-c", place]):
        outcome = shop.run(*command, timeout=60)
        assert outcome.exit_code in (2, 4), outcome
        outcome.assert_failed(outcome.exit_code, "error:", "hint:")


def test_more_workers_than_anybody_needs_are_a_mistake_in_the_config(shop: Project) -> None:
    shop.config(CONFIG + "    planning: {workers: 99999999999}\n")
    shop.run("plan").assert_failed(2, "planning.workers", "1000")
