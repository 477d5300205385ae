"""`rivet check`: strategy, cursor, index use, fidelity per column, and exit 2 exactly when a finding is an error."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

CONFIG = """
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
exports:
  - {name: orders, table: orders, mode: incremental, cursor_column: updated_at, allow_text_cursor: true}
  - {name: notes, table: notes}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, price DECIMAL(10,2), updated_at TEXT)")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")
    connection.commit()
    connection.close()
    (tmp_path / "rivet.yaml").write_text(CONFIG)
    return tmp_path


def named(exports: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(export for export in exports if export["name"] == name)


def severities(export: dict[str, Any]) -> set[str]:
    return {finding["severity"] for finding in export["findings"]}


def test_reports_every_column_and_the_missing_index(cli: Any, shop: Path) -> None:
    said = cli("check", "--json")
    assert said.code == 0, said.err
    orders = named(said.data["exports"], "orders")
    assert [(column["name"], column["fidelity"]) for column in orders["columns"]] == [
        ("id", "exact"),
        ("price", "text"),
        ("updated_at", "exact"),
    ]
    assert orders["index"] == {"column": "updated_at", "used": False}
    assert orders["cursor"]["columns"][0] == "updated_at"
    assert "warning" in severities(orders)
    assert said.data["ok"] is True


def test_strict_fails_on_what_is_not_exact_and_only_there(cli: Any, shop: Path) -> None:
    said = cli("check", "--strict", "--json")
    assert said.code == 2
    assert "error" in severities(named(said.data["exports"], "orders"))
    assert "error" not in severities(named(said.data["exports"], "notes"))
    assert cli("check", "--strict", "-e", "notes").code == 0


def test_an_override_counts_as_what_it_does(cli: Any, shop: Path) -> None:
    text = CONFIG.replace("allow_text_cursor: true", "allow_text_cursor: true, columns: {price: 'OVERRIDE'}")
    (shop / "rivet.yaml").write_text(text.replace("OVERRIDE", "decimal(10,2)"))
    assert cli("check", "--strict").code == 0
    (shop / "rivet.yaml").write_text(text.replace("OVERRIDE", "double"))
    assert cli("check", "--strict").code == 2
    lossy = cli("check", "--json")
    assert lossy.code == 0
    assert named(lossy.data["exports"], "orders")["columns"][1]["fidelity"] == "lossy"


def test_a_missing_table_is_an_error_that_names_it(cli: Any, shop: Path) -> None:
    (shop / "rivet.yaml").write_text(CONFIG.replace("table: notes", "table: note"))
    said = cli("check")
    assert said.code == 2
    assert "did you mean notes" in said.out
    assert "1 of 2 exports pass; 1 error" in said.out


def test_a_source_that_is_gone_is_said_once(cli: Any, shop: Path) -> None:
    (shop / "shop.db").unlink()
    said = cli("check", "--json")
    assert said.code == 2
    assert [finding["severity"] for finding in said.data["findings"]] == ["error"]
    assert all(not export["findings"] for export in said.data["exports"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("check", "-c", "missing.yaml"), 2, "missing.yaml"),
        (("check", "-e", "order"), 2, "did you mean orders"),
        (("check", "--nonsense"), 2, "nonsense"),
    ],
)
def test_bad_input_is_one_line_and_a_hint(cli: Any, shop: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    said = cli(*arguments)
    assert said.code == code
    assert words in said.err
    assert "hint:" in said.err


def test_it_changes_nothing(cli: Any, shop: Path) -> None:
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    cli("check")
    assert {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()} == before


def test_types_of_postgres(cli: Any, postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute(
        "CREATE TABLE odd (id bigint PRIMARY KEY, n numeric, p numeric(10,2), i inet, a int[], u uuid, updated_at timestamptz)"
    )
    monkeypatch.setenv("SHOP_URL", postgres.url)
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: postgres, url_env: SHOP_URL}\ndestination: {type: local, path: out}\n"
        "exports: [{name: odd, table: public.odd, mode: incremental, cursor_column: updated_at}]\n"
    )
    said = cli("check", "--json", "--strict")
    assert said.code == 2
    found = {column["name"]: column["fidelity"] for column in said.data["exports"][0]["columns"]}
    assert found == {"id": "exact", "n": "text", "p": "exact", "i": "text", "a": "exact", "u": "exact", "updated_at": "exact"}
    assert cli("check").code == 0


def test_types_of_mariadb(cli: Any, mysql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mysql.execute("CREATE TABLE odd (id bigint unsigned PRIMARY KEY, d decimal(10,2), t time(6), g geometry, e enum('b','a'))")
    monkeypatch.setenv("SHOP_URL", mysql.url)
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: mysql, url_env: SHOP_URL}\ndestination: {type: local, path: out}\n"
        "exports: [{name: odd, table: odd, mode: chunked, chunk_column: id, chunk_count: 2}]\n"
    )
    said = cli("check", "--json")
    columns = {column["name"]: column for column in said.data["exports"][0]["columns"]}
    assert columns["id"]["arrow_type"] == "uint64"
    assert columns["d"]["fidelity"] == "exact"
    assert said.data["exports"][0]["index"] == {"column": "id", "used": True}
    assert columns["e"]["fidelity"] == columns["g"]["fidelity"] == "exact"
    assert said.code == 0


def test_columns_that_cannot_be_written_or_checked_are_errors_before_a_run(cli: Any, shop: Path) -> None:
    exports = """
  - {name: nameless, query: 'SELECT id AS "", body FROM notes'}
  - {name: quality, table: notes, quality: {null_ratio_max: {nope: 0.5}}}
"""
    (shop / "rivet.yaml").write_text(CONFIG + exports.lstrip("\n"))
    said = cli("check", "--json")
    assert said.code == 2
    messages = {name: named(said.data["exports"], name)["findings"][0]["message"] for name in ("nameless", "quality")}
    assert messages == {
        "nameless": "its query has a column without a name",
        "quality": "quality.null_ratio_max names 'nope', which is not read",
    }
    planned = cli("plan")
    assert planned.code == 1
    assert "nameless cannot be planned: its query has a column without a name" in planned.err
