"""From what a driver raised to a `SourceError`: the class, whether a retry helps, what to do, and never the password."""

from __future__ import annotations

import re

import pymysql

from rivet_core.errors import SourceError
from rivet_core.sql.endpoint import Endpoint
from rivet_core.sql.retry import Fault, classify_errno, classify_text

_ERROR = re.compile(r"ERROR (\d{4,5}) \(([0-9A-Z]{5})\): (.*?)\s*\}*\)*\s*\Z", re.DOTALL)
"""How connectorx words what the server said."""

_OURS = {1044: Fault("permission", False)}
"""1044 is a right that is missing on a database; the account itself is good."""

_OTHER_TYPE = "a value could not be converted; override the column's type with `columns`"
_DAMAGED = "the table is damaged: run CHECK TABLE there, and REPAIR TABLE or restore it from a backup"

_HINTS = {
    **dict.fromkeys((1264, 1292, 1366, 1406), _OTHER_TYPE),
    **dict.fromkeys((126, 127, 1034, 1194), _DAMAGED),
    1365: "an expression in the view or query divides by zero: correct the row, or write nullif(..., 0) there",
    1690: "an expression in the view or query leaves the range of its type: cast its operands to decimal there",
    1045: "check user and password; the host you come from is part of a MySQL account",
    1698: "check user and password; this account authenticates in another way",
    1044: "ask for GRANT SELECT on the database",
    1142: "ask for GRANT SELECT on the table",
    1143: "ask for GRANT SELECT on the column, or leave it out with `columns`",
    1049: "check the database name in the URL",
    1060: "name each column in the SELECT list: ... AS a, ... AS b",
    1146: "check the name; it is `database.table`, or a table of the URL's database",
    1054: "the column is gone or misspelled; run `rivet check`",
    1064: "the statement is not valid SQL for this server; run it there by hand",
    1040: "the server is full: lower `workers` or the group's max_connections, or try later",
    1203: "the account is at its limit of connections: lower `workers`, or try later",
    1205: "another transaction held a lock longer than lock_timeout; try again",
    1213: "a deadlock with another transaction; try again",
    1969: "the statement took longer than statement_timeout: read in smaller units, or raise the limit",
    3024: "the statement took longer than statement_timeout: read in smaller units, or raise the limit",
    1317: "somebody cancelled the statement",
    2002: "is the server running, and is the socket's path right?",
    2003: "is the server running, and are host and port right?",
    2005: "check the host name",
    2006: "the server closed the connection; try again",
    2013: "the connection broke while rows were coming; try again",
    2026: "check `tls.mode` and `tls.ca_file`",
}

_CLASS_HINTS = {
    "connection": "check that the server can be reached, then try again",
    "auth": "check user, password and TLS",
    "permission": "ask for the missing right",
    "data": "the server met this while it computed: correct the row, or the expression in the view or query that is read",
}


def source_error(error: BaseException, endpoint: Endpoint, doing: str) -> SourceError:
    """Return the error to raise for `error`, met while `doing` (`reading orders`)."""
    if isinstance(error, SourceError):
        return error
    errno, text, state = _told(error)
    fault = _OURS.get(errno) or classify_errno(errno) if errno else classify_text(text)
    if any(word in text for word in ("CERTIFICATE_VERIFY_FAILED", "[SSL", "TlsError", "certificate verify")):
        # Drivers call it "cannot connect"; trying again will not make the certificate another one.
        errno, fault = 2026, Fault("auth", False)
    if not errno and isinstance(error, OSError) and fault.error_class == "other":
        fault = Fault("connection", True)
    number = f" ({errno})" if errno else ""
    return SourceError(
        endpoint.clean(f"{doing}: {text or type(error).__name__}{number}"),
        hint=_HINTS.get(errno) or _CLASS_HINTS.get(fault.error_class, ""),
        transient=fault.transient,
        sqlstate=state,
        error_class=fault.error_class,
    )


def _told(error: BaseException) -> tuple[int, str, str]:
    """Return the server's (or the client's) error number, its words, and the SQLSTATE where one is known."""
    if isinstance(error, pymysql.MySQLError):
        arguments = error.args
        if len(arguments) >= 2 and isinstance(arguments[0], int):
            return arguments[0], str(arguments[1]), str(getattr(error, "sqlstate", "") or "")
        return (2013 if isinstance(error, pymysql.err.InterfaceError) else 0), " ".join(map(str, arguments)), ""
    text = str(error)
    found = _ERROR.search(text)
    if found:
        return int(found[1]), found[3], found[2]
    if any(word in text for word in ("IO error", "IoError", "CodecError", "DriverError")):
        return 2013, text, ""
    return 0, text, ""
