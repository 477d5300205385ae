"""Errors get their class from the server's number, and TLS words mean the same to both drivers."""

from __future__ import annotations

import pymysql
import pytest

from rivet_core.sql.endpoint import Endpoint, Tls
from rivet_core.sql.secrets import Secret
from rivet_mysql.faults import source_error
from rivet_mysql.reading.columnar import can_connect, url_of

HERE = Endpoint(host="db", port=3307, user="u@x", password=Secret("p/w"), database="a b")


@pytest.mark.parametrize(
    ("errno", "kind", "transient"),
    [
        (1045, "auth", False),
        (1044, "permission", False),
        (1142, "permission", False),
        (1146, "missing", False),
        (1205, "conflict", True),
        (1213, "conflict", True),
        (2006, "connection", True),
        (2013, "connection", True),
        (1040, "limit", True),
        (1969, "timeout", False),
        (3024, "timeout", False),
    ],
)
def test_numbers_have_a_class(errno, kind, transient):
    for raised in (
        pymysql.err.OperationalError(errno, "what p/w said"),
        RuntimeError(f"MySqlError {{ ERROR {errno} (HY000): what p/w said }}"),
    ):
        error = source_error(raised, HERE, "reading t")
        assert (error.error_class, error.transient) == (kind, transient)
        assert error.message == f"reading t: what *** said ({errno})"
        assert error.hint


@pytest.mark.parametrize(
    "text",
    [
        "cx writer failed: Source(MySQLError(CodecError { IO error: `bytes remaining on stream' }))",
        "IoError { server disconnected }",
    ],
)
def test_a_broken_connection_in_rust_words_is_transient(text):
    error = source_error(RuntimeError(text), HERE, "reading t")
    assert (error.error_class, error.transient) == ("connection", True)


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        (Tls(), "ssl-mode=disabled"),
        (Tls(mode="prefer"), "ssl-mode=preferred"),
        (Tls(mode="require"), "ssl-mode=required"),
        (Tls(mode="verify-ca", ca_file="/c a.pem"), "ssl-mode=verify_ca&ssl-ca=%2Fc+a.pem"),
        (Tls(mode="verify-full", ca_file="/ca.pem"), "ssl-mode=verify_identity&ssl-ca=%2Fca.pem"),
    ],
)
def test_tls_is_the_same_for_the_fast_engine(tls, expected):
    here = Endpoint(host="db", port=3307, user="u@x", password=Secret("p/w"), database="a b", tls=tls)
    assert can_connect(here)
    assert url_of(here) == f"mysql://u%40x:p%2Fw@db:3307/a%20b?prefer_socket=false&{expected}"


@pytest.mark.parametrize("tls", [Tls(mode="verify-full"), Tls(mode="require", cert_file="/c.pem", key_file="/k.pem")])
def test_what_the_fast_engine_cannot_keep_goes_by_rows(tls):
    assert not can_connect(Endpoint(host="db", port=3306, tls=tls))
    assert not can_connect(Endpoint(host="/run/mysqld.sock", port=3306))


def test_a_certificate_that_is_not_trusted_is_no_reason_to_try_again():
    raised = pymysql.err.OperationalError(2003, "Can't connect ([SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed)")
    error = source_error(raised, HERE, "cannot connect")
    assert (error.error_class, error.transient) == ("auth", False)
    assert "tls" in error.hint


@pytest.mark.parametrize(
    ("errno", "hint"),
    [
        (1264, "`columns`"),
        (1366, "`columns`"),
        (1365, "divides by zero"),
        (1690, "the range of its type"),
        (1194, "CHECK TABLE"),
    ],
)
def test_only_a_conversion_is_a_matter_of_columns(errno, hint):
    error = source_error(pymysql.err.DataError(errno, "what it said"), HERE, "reading t")
    assert hint in error.hint
    assert ("columns" in error.hint) == (hint == "`columns`")
