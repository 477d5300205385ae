"""Which failures of a server may pass when the same statement is tried again, and what they are about.

One table for SQLSTATE (PostgreSQL, and the states MySQL sends) and one for MySQL's own error numbers. The coarse class is
what history and the shared-cause breaker compare.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """The coarse class of a failure (`SourceError.error_class`) and whether a retry is worth it."""

    error_class: str
    transient: bool


_OTHER = Fault("other", False)

_STATES: dict[str, Fault] = {
    "28": Fault("auth", False),
    "3D": Fault("missing", False),
    "3F": Fault("missing", False),
    "42P01": Fault("missing", False),
    "42703": Fault("missing", False),
    "42883": Fault("missing", False),
    "42S02": Fault("missing", False),
    "42S22": Fault("missing", False),
    "42501": Fault("permission", False),
    "42": Fault("other", False),
    "08": Fault("connection", True),
    "57P": Fault("connection", True),
    "57P04": Fault("missing", False),
    "57P05": Fault("connection", True),
    # A cancelled statement: by statement_timeout it would only time out again, by a person it was meant.
    "57014": Fault("timeout", False),
    "55P03": Fault("conflict", True),
    "25P03": Fault("timeout", True),
    "25P04": Fault("timeout", False),
    "25006": Fault("permission", False),
    "40": Fault("conflict", True),
    "53": Fault("limit", True),
    "53100": Fault("limit", False),
    "54": Fault("limit", False),
    "58": Fault("other", True),
    "58P01": Fault("other", False),
    "XX001": Fault("data", False),
    "XX002": Fault("data", False),
    "22": Fault("data", False),
    "23": Fault("data", False),
    "0A": Fault("other", False),
}

_ERRNOS: dict[int, Fault] = {
    **dict.fromkeys((2006, 2013, 2055, 1158, 1159, 1160, 1161, 1053, 1927, 4031), Fault("connection", True)),
    **dict.fromkeys((2002, 2003, 1080), Fault("connection", True)),
    2005: Fault("connection", False),
    2026: Fault("connection", False),
    **dict.fromkeys((1205, 1213, 1412, 3572, 1020), Fault("conflict", True)),
    **dict.fromkeys((1040, 1203, 1226, 1041), Fault("limit", True)),
    **dict.fromkeys((1037, 1038, 1021, 1114), Fault("limit", False)),
    **dict.fromkeys((3024, 1969, 1317, 1028), Fault("timeout", False)),
    **dict.fromkeys((1044, 1045, 1698, 2059, 1251, 1862, 3118), Fault("auth", False)),
    **dict.fromkeys((1142, 1143, 1227, 1370, 1410, 1290), Fault("permission", False)),
    **dict.fromkeys((1049, 1051, 1054, 1109, 1146, 1305), Fault("missing", False)),
    **dict.fromkeys((1264, 1292, 1366, 1406, 1690, 1194, 1034, 126, 127), Fault("data", False)),
}


def classify_sqlstate(sqlstate: str | None) -> Fault:
    """Return the class of a SQLSTATE: the whole state first, then its subclass and class; `other`, final, when unknown."""
    state = sqlstate or ""
    return next((fault for length in (5, 3, 2) if (fault := _STATES.get(state[:length]))), _OTHER)


def classify_errno(errno: int | None) -> Fault:
    """Return the class of a MySQL or MariaDB error number, client numbers (2xxx) included."""
    return _ERRNOS.get(errno or 0, _OTHER)


def classify_text(text: str) -> Fault:
    """Return the class of a connection failure for which a driver gives only words."""
    lowered = text.lower()
    found = next((fault for words, fault in _WORDS if any(word in lowered for word in words)), None)
    return found or _OTHER


_WORDS: tuple[tuple[tuple[str, ...], Fault], ...] = (
    # Before what is said of roles: too many connections for role ...
    (("too many clients", "too many connections", "remaining connection slots", "max_client_conn"), Fault("limit", True)),
    (("password authentication failed", "no password supplied", "authentication failed", 'role "'), Fault("auth", False)),
    (
        ("could not translate host name", "name or service not known", "nodename nor servname", "failed to resolve"),
        Fault("connection", False),
    ),
    (("does not support ssl", "ssl is not enabled", "ssl error", "certificate", "no pg_hba.conf entry"), Fault("auth", False)),
    (
        (
            "connection refused",
            "connection reset",
            "server closed the connection",
            "connection timed out",
            "timeout expired",
            "broken pipe",
            "no connection to the server",
            "could not receive data",
            "terminating connection",
            "starting up",
            "shutting down",
            "unexpected eof",
            "connection not open",
            "lost synchronization",
            "no such file or directory",
        ),
        Fault("connection", True),
    ),
)
