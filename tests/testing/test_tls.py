"""The servers with TLS: what they offer, what they refuse, and that the certificates are the authority's."""

from __future__ import annotations

import ssl

import psycopg
import pytest

from rivet_core.testing.certificates import make_certificates


def test_postgres_takes_nothing_else_over_tcp(postgres_tls, postgres_tls_server):
    assert postgres_tls.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == [(True,)]
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        psycopg.connect(f"{postgres_tls.url}?sslmode=disable")
    authority = postgres_tls_server.certificates.authority
    psycopg.connect(f"{postgres_tls.url}?sslmode=verify-full&sslrootcert={authority}").close()
    assert "SSL enabled" in postgres_tls_server.logins()[-1]


def test_mariadb_offers_it(mysql_tls, mysql_tls_server):
    import pymysql

    account = {"host": mysql_tls.host, "port": mysql_tls.port, "user": mysql_tls.user, "password": mysql_tls.password}
    context = ssl.create_default_context(cafile=str(mysql_tls_server.certificates.authority))
    with pymysql.connect(**account, ssl=context) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
        assert cursor.fetchone() == ("Ssl_version", "TLSv1.3")


def test_a_key_is_for_its_owner_only_and_every_authority_another(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, two = make_certificates(tmp_path / "a"), make_certificates(tmp_path / "b")
    assert one.key.stat().st_mode & 0o077 == 0
    assert one.authority.read_bytes() != two.authority.read_bytes()
