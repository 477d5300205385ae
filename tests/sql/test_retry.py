from __future__ import annotations

import pytest

from rivet_core.sql.retry import Fault, classify_errno, classify_sqlstate, classify_text


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ("08006", Fault("connection", True)),
        ("08001", Fault("connection", True)),
        ("08P01", Fault("connection", True)),  # what PgBouncer says when its pool is full or a server comes back
        ("57P01", Fault("connection", True)),
        ("57P02", Fault("connection", True)),
        ("57P04", Fault("missing", False)),
        ("57P03", Fault("connection", True)),
        ("40001", Fault("conflict", True)),
        ("40P01", Fault("conflict", True)),
        ("55P03", Fault("conflict", True)),
        ("53300", Fault("limit", True)),
        ("53100", Fault("limit", False)),
        ("28P01", Fault("auth", False)),
        ("3D000", Fault("missing", False)),
        ("42P01", Fault("missing", False)),
        ("42501", Fault("permission", False)),
        ("57014", Fault("timeout", False)),
        ("22P02", Fault("data", False)),
        ("", Fault("other", False)),
        (None, Fault("other", False)),
    ],
)
def test_sqlstate(state, fault):
    assert classify_sqlstate(state) == fault


@pytest.mark.parametrize(
    ("errno", "fault"),
    [
        (1205, Fault("conflict", True)),
        (1213, Fault("conflict", True)),
        (2006, Fault("connection", True)),
        (2013, Fault("connection", True)),
        (1040, Fault("limit", True)),
        (1045, Fault("auth", False)),
        (1142, Fault("permission", False)),
        (1146, Fault("missing", False)),
        (3024, Fault("timeout", False)),
        (None, Fault("other", False)),
    ],
)
def test_errno(errno, fault):
    assert classify_errno(errno) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('FATAL:  password authentication failed for user "u"', Fault("auth", False)),
        ("connection to server at x failed: Connection refused", Fault("connection", True)),
        ("could not translate host name", Fault("connection", False)),
        ("server does not support SSL, but SSL was required", Fault("auth", False)),
        ('FATAL:  too many connections for role "u"', Fault("limit", True)),
        ('FATAL:  too many connections for database "d"', Fault("limit", True)),
        ("FATAL:  sorry, too many clients already", Fault("limit", True)),
        ('FATAL:  role "u" is not permitted to log in', Fault("auth", False)),
        ("something else", Fault("other", False)),
    ],
)
def test_text(text, fault):
    assert classify_text(text) == fault
