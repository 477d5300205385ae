"""What a driver or the server said, as a `SourceError` with a class, a retry verdict, a hint and no secret."""

from __future__ import annotations

import re

from rivet_core.errors import RivetError, SourceError
from rivet_core.sql.endpoint import Endpoint
from rivet_core.sql.retry import Fault, classify_sqlstate, classify_text

_NOISE = re.compile(r"^(?:[A-Z_]+: )?(?:\[libpq\] )?(?:Failed to [a-z ]+: )?(?:could not begin COPY: )?")
_TAIL = re.compile(r"\s*\n*(?:Query was: .*|\. SQLSTATE: \w+\s*)\Z", re.DOTALL)
_LEVEL = re.compile(r"(?:ERROR|FATAL|PANIC):\s+")
_DIMENSIONS = re.compile(r'rivet:dimensions:([^"]*?):(\[[^:"]*:[^"]*\])"')

HINTS = {
    "auth": "check the user and the password, and the server's pg_hba.conf",
    "connection": "check that the server runs and can be reached from here; the same run can be resumed",
    "permission": "ask for the right named here, or read as another role",
    "missing": "check the spelling and the schema; names are case-sensitive here, `rivet init` lists what is there",
    "limit": "lower max_connections of the source group, or wait until others have finished",
    "timeout": "raise the statement timeout (tuning profile `safe`, `balanced`, `fast`) or read in smaller units",
    "conflict": "try again; on a standby, max_standby_streaming_delay and hot_standby_feedback decide how long a read may last",
    "data": "the server met this while it computed: correct the row, or the expression in the view or query that is read",
    "other": "see the server's message",
}
_OTHER_TYPE = "look at the named value; an override under `columns:` can change the type"
_DAMAGED = "the server found damaged data: look into its log, and restore the table from a backup"
_BY_STATE = {
    **dict.fromkeys(("22001", "22003", "22007", "22008", "22021", "22P02", "22P03", "22P05"), _OTHER_TYPE),
    **dict.fromkeys(("XX001", "XX002"), _DAMAGED),
    "22012": "an expression in the view or query divides by zero: correct the row, or write nullif(..., 0) there",
    "22023": "a function in the view or query was given a value that it does not take: correct the row or the expression",
    "3D000": "check the database name at the end of the URL",
    "57014": "the statement was cancelled: raise statement_timeout, or read in smaller units",
    "55P03": "another session holds the lock (DDL?): try again, or raise lock_timeout",
    "40001": "the standby cancelled the read to replay changes: see max_standby_streaming_delay and hot_standby_feedback",
    "25006": "rivet reads only: the query must not write",
}


def translate(error: BaseException, endpoint: Endpoint, doing: str = "") -> RivetError:
    """Return the `SourceError` for a failure of psycopg or ADBC; a `RivetError` passes as it is."""
    if isinstance(error, RivetError):
        return error
    text = plain_message(error)
    state = sqlstate_of(error)
    if "invalid snapshot identifier" in text or (state == "42704" and "snapshot" in text):
        return SourceError(
            "the connection that held the snapshot was cut off",
            hint="run again: a consistent export starts from its first unit",
            sqlstate=state,
            error_class="connection",
        )
    fault = classify_sqlstate(state) if state else _by_words(text)
    if match := _DIMENSIONS.search(text):
        return dimensions_error(match[1], match[2], state)
    where = f"{doing}: " if doing else ""
    return SourceError(
        endpoint.clean(f"{where}{text}"),
        hint=_BY_STATE.get(state) or _by_text(text) or HINTS[fault.error_class],
        transient=fault.transient,
        sqlstate=state,
        error_class=fault.error_class,
    )


def dimensions_error(column: str, dimensions: str, state: str = "22P02") -> SourceError:
    """Return the refusal of an array, in a column that is read as a list, with several dimensions or another first place."""
    what = "of several dimensions" if dimensions.count("[") > 1 else "that does not begin at 1:"
    return SourceError(
        f"the column {column} holds an array {what} {dimensions}, which a list cannot keep",
        hint=f"read it as text: `columns: {{{column}: text}}`",
        sqlstate=state,
        error_class="data",
    )


def sqlstate_of(error: BaseException) -> str:
    """Return the SQLSTATE of a driver's error, empty when it has none."""
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == 5 else ""


def plain_message(error: BaseException) -> str:
    """Return the server's own first words: no driver prefix, no statement text, no position marks."""
    diagnosis = getattr(getattr(error, "diag", None), "message_primary", None)
    if diagnosis:
        return str(diagnosis)
    details = getattr(error, "details", None) or []
    for key, value in details:
        if key in (b"PG_DIAG_MESSAGE_PRIMARY", "PG_DIAG_MESSAGE_PRIMARY"):
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = _TAIL.sub("", str(error)).strip()
    found = _LEVEL.search(text)
    text = text[found.end() :] if found else _NOISE.sub("", text)
    lines = [line.strip().removeprefix("connection failed: ") for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith("Is the server running")) or type(error).__name__


def _by_words(text: str) -> Fault:
    lowered = text.lower()
    if "canceling statement due to conflict" in lowered:
        return Fault("conflict", True)
    if "canceling statement" in lowered:
        return Fault("timeout", False)
    if "does not exist" in lowered:
        return Fault("auth" if "role" in lowered else "missing", False)
    return classify_text(text)


def _by_text(text: str) -> str:
    lowered = text.lower()
    if "could not translate host name" in lowered or "failed to resolve" in lowered:
        return "check the host name in the URL"
    if "connection refused" in lowered:
        return "nothing listens there: check host and port, and that the server runs"
    if "ssl" in lowered and "support" in lowered:
        return "the server has no TLS: set `tls: {mode: disable}` if plaintext is meant, or enable TLS on the server"
    if "database" in lowered and "does not exist" in lowered:
        return _BY_STATE["3D000"]
    return ""
