"""G05: what the config says about TLS reaches every connection, of planning and of reading, on both engines."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet_core.testing.certificates import make_certificates
from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.tls import TlsMariaServer, TlsPostgresServer

CONFIG = """
source: {{type: {kind}, url_env: SHOP_URL{tls}}}
destination: {{type: local, path: out}}
planning: {{workers: 3}}
exports:
  - {{name: seen, query: "{query}"}}
  - {{name: t, table: t, mode: chunked, chunk_size: 1000, parallel: 3}}
"""
PG_QUERY = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
MY_QUERY = "SELECT VARIABLE_VALUE AS version FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'SSL_VERSION'"


def write(rivet: Project, kind: str, query: str, tls: str = "", **environ: str) -> None:
    rivet.environ.update(environ)
    rivet.config(CONFIG.format(kind=kind, query=query, tls=tls))


def rows(rivet: Project, export: str) -> list[dict[str, object]]:
    files = rivet.run("files", export, "--json").assert_done().json()["files"]
    return [row for file in files for row in pq.read_table(file["path"]).to_pylist()]


MODES = ["require", "verify-ca", "verify-full"]


def tls_of(mode: str, authority: Path) -> str:
    return f", tls: {{mode: {mode}, ca_file: {authority}}}" if mode.startswith("verify") else f", tls: {{mode: {mode}}}"


def stranger(directory: Path) -> Path:
    """An authority that signed nothing of the server's."""
    return make_certificates(directory, authority_name="somebody else").authority


@pytest.mark.parametrize("mode", MODES)
def test_postgres_every_connection_is_under_tls(
    rivet: Project, postgres_tls: PostgresDatabase, postgres_tls_server: TlsPostgresServer, mode: str
) -> None:
    postgres_tls.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000); ANALYZE")
    write(rivet, "postgres", PG_QUERY, tls_of(mode, postgres_tls_server.certificates.authority), SHOP_URL=postgres_tls.url)
    before = len(postgres_tls_server.logins())
    rivet.run("doctor").assert_done()
    rivet.run("plan", "-o", "plan.json").assert_done()
    rivet.run("apply", "plan.json").assert_done()
    assert [(row["ssl"], row["version"]) for row in rows(rivet, "seen")] == [(True, "TLSv1.3")]
    assert len(rows(rivet, "t")) == 5000
    logins = postgres_tls_server.logins()[before:]
    assert len(logins) >= 5  # doctor, planner, probe, and more than one reader
    assert all("SSL enabled" in line for line in logins)


@pytest.mark.parametrize("url", ["sslmode=require", "sslmode=verify-full&sslrootcert={authority}"])
def test_postgres_the_url_says_it_as_well(
    rivet: Project, postgres_tls: PostgresDatabase, postgres_tls_server: TlsPostgresServer, url: str
) -> None:
    postgres_tls.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    asked = url.format(authority=postgres_tls_server.certificates.authority)
    write(rivet, "postgres", PG_QUERY, SHOP_URL=f"{postgres_tls.url}?{asked}")
    rivet.run("run").assert_done()
    assert rows(rivet, "seen")[0]["ssl"] is True


def test_postgres_a_stranger_is_refused(rivet: Project, postgres_tls: PostgresDatabase, tmp_path: Path) -> None:
    write(rivet, "postgres", PG_QUERY, tls_of("verify-full", stranger(tmp_path)), SHOP_URL=postgres_tls.url)
    rivet.run("plan").assert_failed(1, "certificate").assert_hides(postgres_tls.password)


def test_postgres_plain_text_is_refused_by_the_server(rivet: Project, postgres_tls: PostgresDatabase) -> None:
    write(rivet, "postgres", PG_QUERY, ", tls: {mode: disable}", SHOP_URL=postgres_tls.url)
    rivet.run("plan").assert_failed(1, "no encryption").assert_hides(postgres_tls.password)


@pytest.mark.parametrize(("command", "mode"), [("plan", "require"), ("run", "verify-full"), ("doctor", "verify-ca")])
def test_postgres_without_tls_is_refused_where_tls_is_asked_for(
    rivet: Project, postgres: PostgresDatabase, command: str, mode: str, tmp_path: Path
) -> None:
    write(rivet, "postgres", PG_QUERY, tls_of(mode, make_certificates(tmp_path).authority), SHOP_URL=postgres.url)
    code = 2 if command == "doctor" else 1
    rivet.run(command).assert_failed(code, "does not support ssl").assert_hides(postgres.password)


@pytest.fixture
def maria(mysql_tls: MariaDatabase) -> MariaDatabase:
    """A database whose table only an account under TLS may read."""
    mysql_tls.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT seq FROM seq_1_to_5000; ANALYZE TABLE t")
    mysql_tls.execute("CREATE OR REPLACE USER tls@'%' IDENTIFIED BY 'pw-tls' REQUIRE SSL", admin=True)
    mysql_tls.execute(f"GRANT SELECT ON `{mysql_tls.name}`.* TO tls@'%'", admin=True)
    return mysql_tls


@pytest.mark.parametrize("mode", MODES)
def test_mariadb_every_connection_is_under_tls(
    rivet: Project, maria: MariaDatabase, mysql_tls_server: TlsMariaServer, mode: str
) -> None:
    url = maria.url_with(user="tls", password="pw-tls")
    write(rivet, "mariadb", MY_QUERY, tls_of(mode, mysql_tls_server.certificates.authority), SHOP_URL=url)
    rivet.run("run").assert_done()  # the account cannot connect otherwise
    assert [row["version"] for row in rows(rivet, "seen")] == ["TLSv1.3"]
    assert len(rows(rivet, "t")) == 5000


def test_mariadb_plain_text_is_refused_by_the_server(rivet: Project, maria: MariaDatabase) -> None:
    write(rivet, "mariadb", MY_QUERY, ", tls: {mode: disable}", SHOP_URL=maria.url_with(user="tls", password="pw-tls"))
    rivet.run("plan").assert_failed(1, "denied").assert_hides("pw-tls")


def test_mariadb_a_stranger_is_refused(rivet: Project, maria: MariaDatabase, tmp_path: Path) -> None:
    url = maria.url_with(user="tls", password="pw-tls")
    write(rivet, "mariadb", MY_QUERY, tls_of("verify-full", stranger(tmp_path)), SHOP_URL=url)
    rivet.run("plan").assert_failed(1, "certificate").assert_hides("pw-tls")
