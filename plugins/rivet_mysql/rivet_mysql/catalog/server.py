"""The server's side of the facts: role, lag, load and limits, in four statements."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rivet_core.errors import SourceError
from rivet_core.facts import Role, ServerFacts
from rivet_core.sql.limits import tightest
from rivet_mysql.connection import Link, Row, Server, number, text

_STATUS = (
    "Uptime", "Threads_running", "Threads_connected", "Innodb_row_lock_current_waits", "Innodb_history_list_length",
)  # fmt: skip


class ServerSheet:
    """What `server_facts` found out, with what the tables need to know."""

    def __init__(self, facts: ServerFacts, *, account: str, database: str, folds_case: bool, performance_schema: bool) -> None:
        self.facts = facts
        self.account = account
        self.database = database
        self.folds_case = folds_case
        self.performance_schema = performance_schema


def server_sheet(link: Link, server: Server, address: str) -> ServerSheet:
    """Ask the server about itself. What the account may not see is unknown, and named with the right that would show it."""
    asked = link.rows(
        "SELECT @@GLOBAL.read_only, @@GLOBAL.max_connections, @@GLOBAL.lower_case_table_names, @@GLOBAL.performance_schema,"
        " CURRENT_USER(), DATABASE(), UTC_TIMESTAMP(6), NULLIF(@@SESSION.max_user_connections, 0),"
        " (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))",
        doing="asking for the server's settings",
    )[0]
    read_only, limit, folding, performance = (number(value) for value in asked[:4])
    account = account_name(text(asked[4]))
    now = datetime.fromisoformat(text(asked[6])).replace(tzinfo=UTC)
    names = ", ".join(f"'{name}'" for name in _STATUS)
    status = {
        text(name): number(value)
        for name, value in link.rows(
            f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})", doing="asking for the server's status"
        )
    }
    grants: list[str] = []
    notes: list[str] = []
    oldest, history = _transactions(link, server, account, grants)
    role, lag = _replication(link, server, account, bool(read_only), grants, notes)
    most, used = tightest([(limit, status.get("Threads_connected")), (number(asked[7]), number(asked[8]))])
    uptime = status.get("Uptime")
    threads = status.get("Threads_running")
    facts = ServerFacts(
        engine=server.engine,
        version=server.version,
        address=address,
        database=text(asked[5]),
        role=role,
        observed_at=now,
        max_connections=most,
        used_connections=used,
        active_sessions=None if threads is None else max(0, threads - 1),
        oldest_transaction_seconds=oldest,
        replica_lag_seconds=lag,
        lock_waits=status.get("Innodb_row_lock_current_waits"),
        purge_backlog=status.get("Innodb_history_list_length", history),
        counters_since=None if uptime is None else now - timedelta(seconds=uptime),
        encrypted=link.is_protected,
        grants=tuple(grants),
        notes=tuple(notes),
    )
    return ServerSheet(
        facts, account=account, database=text(asked[5]), folds_case=bool(folding), performance_schema=bool(performance)
    )


def account_name(current_user: str) -> str:
    """Return an account as GRANT wants it."""
    user, _, host = current_user.rpartition("@")
    return "'{}'@'{}'".format(user.replace("'", "''"), host.replace("'", "''"))


def _transactions(link: Link, server: Server, account: str, grants: list[str]) -> tuple[float | None, int | None]:
    history = "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'"
    try:
        age, length = link.rows(
            "SELECT (SELECT TIMESTAMPDIFF(SECOND, MIN(trx_started), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM'))"
            " FROM information_schema.INNODB_TRX"
            f" WHERE trx_mysql_thread_id <> CONNECTION_ID()), ({'NULL' if server.is_mariadb else history})",
            doing="asking for open transactions",
        )[0]
    except SourceError as error:
        if error.error_class not in ("permission", "missing"):
            raise
        grants.append(f"GRANT PROCESS ON *.* TO {account}")
        return None, None
    # No open transaction: the oldest is as old as now.
    return float(max(0, number(age) or 0)), number(length)


def _replication(
    link: Link, server: Server, account: str, read_only: bool, grants: list[str], notes: list[str]
) -> tuple[Role, float | None]:
    if server.is_mariadb:
        statement, right = "SHOW ALL SLAVES STATUS", "REPLICA MONITOR"
    elif _at_least(server.version, (8, 0, 22)):
        statement, right = "SHOW REPLICA STATUS", "REPLICATION CLIENT"
    else:
        statement, right = "SHOW SLAVE STATUS", "REPLICATION CLIENT"
    try:
        fields, rows = link.described(statement, doing="asking for the replication status")
    except SourceError as error:
        if error.error_class not in ("permission", "missing"):
            raise
        grants.append(f"GRANT {right} ON *.* TO {account}")
        return (Role.STANDBY if read_only else Role.UNKNOWN), None
    if not rows:
        if read_only:
            notes.append("read_only is on, but no replication is configured: lag is unknown")
            return Role.STANDBY, None
        return Role.PRIMARY, 0.0
    lags = [_lag([_name(field) for field in fields], row) for row in rows]
    known = [lag for lag in lags if lag is not None]
    if len(known) < len(lags):
        notes.append("replication is configured but not running: lag is unknown")
        return Role.STANDBY, None
    return Role.STANDBY, max(known)


def _lag(names: list[str], row: Row) -> float | None:
    values = dict(zip(names, row, strict=False))
    seconds = number(values.get("seconds_behind_source", values.get("seconds_behind_master")))
    return None if seconds is None else float(seconds)


def _name(field: object) -> str:
    return text(getattr(field, "name", "")).lower()


def _at_least(version: str, wanted: tuple[int, ...]) -> bool:
    parts = version.partition("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit()) >= wanted
