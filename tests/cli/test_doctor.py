"""`rivet doctor`: every part is looked at, each finding says what to do, and looking leaves nothing behind."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from rivet_core.api import StoreCapabilities, Target
from rivet_core.cli.doctor_places import probe_store
from rivet_core.cli.doctor_sources import is_this_machine, judge_clock, judge_server, judge_transport
from rivet_core.config import GroupConfig
from rivet_core.facts import Role, ServerFacts
from rivet_core.planning.finding import Finding, Severity
from rivet_core.sql.endpoint import Endpoint, Tls
from rivet_core.stores import open_store
from tests.plugins.fake import install

CONFIG = """
sources:
  shop: {type: sqlite, path: shop.db, source_group: one}
source_groups: {one: {max_connections: 2}}
destination: {type: local, path: out}
exports:
  - {name: orders, source: shop, table: orders}
"""
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.commit()
    connection.close()
    (tmp_path / "rivet.yaml").write_text(CONFIG)
    return tmp_path


def of(findings: list[dict[str, str]], subject: str) -> list[dict[str, str]]:
    return [finding for finding in findings if finding["subject"].startswith(subject)]


def errors(findings: list[dict[str, str]]) -> list[dict[str, str]]:
    return [finding for finding in findings if finding["severity"] == "error"]


def test_looks_at_every_part_and_leaves_nothing_behind(cli: Any, shop: Path) -> None:
    before = sorted(shop.rglob("*"))
    said = cli("doctor", "--json")
    assert said.code == 0, said.out
    assert said.data["ok"] is True
    for subject in ("config", "plugin core", "state", "source shop", "destination local"):
        assert of(said.data["findings"], subject), subject
    assert set(said.data["findings"][0]) == {"severity", "subject", "message", "evidence", "hint"}
    assert any("not across hosts" in finding["message"] for finding in of(said.data["findings"], "state"))
    assert sorted(shop.rglob("*")) == before


def test_each_fault_is_an_error_with_a_hint_and_hides_no_other(cli: Any, shop: Path) -> None:
    (shop / "shop.db").unlink()
    (shop / "out").write_text("a file where the directory should be")
    said = cli("doctor", "--json")
    assert said.code == 2
    found = errors(said.data["findings"])
    assert {finding["subject"].split()[0] for finding in found} == {"source", "destination"}
    assert all(finding["hint"] for finding in found)
    assert "not ready to run: 2 errors" in cli("doctor").out


def test_a_missing_table_and_an_unset_variable_are_findings(cli: Any, shop: Path) -> None:
    (shop / "rivet.yaml").write_text(
        CONFIG.replace("table: orders", "table: order").replace(
            "sources:", "sources:\n  far: {type: sqlite, url_env: NOBODY_SET_THIS}"
        )
    )
    said = cli("doctor", "--json")
    assert said.code == 2
    assert "NOBODY_SET_THIS" in of(said.data["findings"], "source far")[0]["message"]
    assert "did you mean orders" in of(said.data["findings"], "export orders")[0]["message"]


@pytest.mark.parametrize("text", ["exports: [", "nonsense: 1\n", ""])
def test_a_config_that_cannot_be_read_still_shows_the_plugins(cli: Any, shop: Path, text: str) -> None:
    (shop / "rivet.yaml").write_text(text)
    said = cli("doctor", "--json")
    assert said.code == 2
    assert errors(of(said.data["findings"], "config"))
    assert of(said.data["findings"], "plugin core")


def test_without_a_config_it_names_init(cli: Any) -> None:
    said = cli("doctor")
    assert said.code == 2
    assert "rivet init" in said.out


@pytest.mark.parametrize(("given", "asked"), [("type: sqlite", "type: oracel"), ("type: local", "type: ftpx")])
def test_an_unknown_type_is_a_plugin_that_cannot_be_used(cli: Any, shop: Path, given: str, asked: str) -> None:
    (shop / "rivet.yaml").write_text(CONFIG.replace(given, asked))
    assert cli("doctor").code == 3
    assert cli("check").code == 3


def test_so_is_a_broken_one_beside_anything_else(cli: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(shop, "doctor_bad", "raise ValueError")
    monkeypatch.syspath_prepend(str(shop))
    assert cli("doctor").code == 3
    (shop / "shop.db").unlink()
    assert cli("doctor").code == 3


def test_a_state_that_cannot_be_written_is_an_error(cli: Any, shop: Path) -> None:
    (shop / "blocked").write_text("a file where the directory should be")
    (shop / "rivet.yaml").write_text(CONFIG + 'state: {url: "sqlite:///blocked/state.db"}\n')
    said = cli("doctor", "--json")
    assert said.code == 2
    (found,) = errors(said.data["findings"])
    assert found["subject"] == "state"
    assert found["hint"]


def server(**facts: Any) -> ServerFacts:
    return ServerFacts(engine="postgres", address="db:5432", observed_at=NOW, **facts)


@pytest.mark.parametrize(
    ("host", "encrypted", "chosen", "severity"),
    [
        ("db.example.com", False, False, Severity.ERROR),
        ("db.example.com", False, True, Severity.WARNING),
        ("db.example.com", True, True, Severity.OK),
        ("10.0.0.7", False, False, Severity.ERROR),
        ("127.0.0.1", False, False, None),
        ("::1", False, False, None),
        ("localhost", False, False, None),
        ("/run/postgresql", False, False, None),
    ],
)
def test_plaintext_to_another_host_is_an_error_unless_it_was_chosen(
    host: str, encrypted: bool, chosen: bool, severity: Severity | None
) -> None:
    endpoint = Endpoint(host=host, port=5432, tls=Tls(mode="verify-full" if encrypted else ""))
    found = judge_transport("source shop", server(encrypted=encrypted), endpoint, chosen=chosen)
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])


def test_encryption_that_nobody_verifies_is_said() -> None:
    endpoint = Endpoint(host="db.example.com", port=5432, tls=Tls(mode="require"))
    found = judge_transport("s", server(encrypted=True), endpoint, chosen=True)
    assert found[0].severity is Severity.INFO
    assert "verify-full" in found[0].hint


def test_names_of_this_machine() -> None:
    assert is_this_machine("LOCALHOST")
    assert is_this_machine("127.8.0.1")
    assert not is_this_machine("localhost.example.com")


def texts(findings: list[Finding]) -> str:
    return "\n".join(finding.message for finding in findings if finding.severity is Severity.WARNING)


def test_a_replica_that_lags_and_cancels_is_named() -> None:
    standby = server(
        role=Role.STANDBY, replica_lag_seconds=90.0, conflict_delay_seconds=30.0, hot_standby_feedback=False, max_connections=10
    )
    said = texts(judge_server("s", standby, GroupConfig(max_lag_seconds=60.0)))
    assert "lags" in said
    assert "cancel reads" in said
    assert texts(judge_server("s", standby, GroupConfig(max_lag_seconds=120.0))).count("lags") == 0


def test_too_few_connections_and_long_transactions_are_named() -> None:
    busy = server(max_connections=10, used_connections=9, oldest_transaction_seconds=7200.0)
    said = texts(judge_server("s", busy, GroupConfig(max_connections=4)))
    assert "free connections" in said
    assert "transaction open" in said


def test_clocks_apart_are_named_and_slow_answers_are_not() -> None:
    assert not judge_clock("s", server(), NOW - timedelta(seconds=30), NOW + timedelta(seconds=30))
    (ahead,) = judge_clock("s", server(), NOW - timedelta(seconds=61), NOW - timedelta(seconds=60))
    assert "60 s ahead" in ahead.message
    (behind,) = judge_clock("s", server(), NOW + timedelta(seconds=90), NOW + timedelta(seconds=91))
    assert "90 s behind" in behind.message


def test_a_store_that_promises_more_than_it_keeps_is_an_error() -> None:
    class Forgetful(MemoryFileSystem):
        store: dict[str, Any] = {}
        pseudo_dirs = [""]
        cachable = False

        def find(self, path: str, **options: Any) -> Any:
            return {} if options.get("detail") else []

    promises = StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    target = Target(filesystem=Forgetful(), root="/bucket", url_prefix="memory://bucket", capabilities=promises)
    found = list(probe_store(open_store(target), "destination memory"))
    assert any(finding.severity is Severity.ERROR and "list_after_write" in finding.message for finding in found)


def test_on_postgres_and_mariadb(cli: Any, postgres: Any, mysql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
    mysql.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
    monkeypatch.setenv("PG_URL", postgres.url)
    monkeypatch.setenv("MY_URL", mysql.url)
    (tmp_path / "rivet.yaml").write_text(
        "sources:\n  pg: {type: postgres, url_env: PG_URL}\n  my: {type: mysql, url_env: MY_URL}\n"
        "  idle: {type: postgres, url_env: PG_URL}\n"
        "destination: {type: local, path: out}\n"
        "exports: [{name: a, source: pg, table: orders}, {name: b, source: my, table: orders}]\n"
    )
    said = cli("doctor", "--json")
    assert said.code == 0, said.out
    assert "primary" in of(said.data["findings"], "source pg")[0]["evidence"]
    assert of(said.data["findings"], "source my")[0]["severity"] == "ok"
    assert any("no export reads" in finding["message"] for finding in of(said.data["findings"], "source idle"))
    monkeypatch.setenv("PG_URL", postgres.url.replace("@", "x@", 1))
    wrong = cli("doctor", "--json")
    assert wrong.code == 2
    assert errors(of(wrong.data["findings"], "source pg"))
    assert not errors(of(wrong.data["findings"], "source my"))


def test_on_an_object_store(cli: Any, s3: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    place = f"{{type: s3, bucket: {s3.name}, prefix: lake, endpoint: '{s3.endpoint}'}}"
    (shop / "rivet.yaml").write_text(CONFIG.replace("{type: local, path: out}", place))
    said = cli("doctor", "--json")
    assert said.code == 0, said.out
    assert of(said.data["findings"], "destination s3")
    assert list(s3.keys()) == []
