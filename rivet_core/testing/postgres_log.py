"""Reads a PostgreSQL log with `log_statement = all`, so that tests count what a client really sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

APPLICATION = "rivet-testbed"
"""The application name of the test bed's own connections; their statements do not count."""

_LINE = re.compile(
    r"^\S+ \S+ \S+ \[(?P<pid>\d+)\] user=(?P<user>[^,]*),db=(?P<database>[^,]*),app=(?P<application>.*?)> "
    r"(?P<level>\w+):  (?P<text>.*)$"
)
_STATEMENT = re.compile(r"^(?:statement|execute [^:]+): (?P<sql>.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the log."""

    pid: int
    user: str
    database: str
    application: str
    level: str
    text: str

    @property
    def sql(self) -> str | None:
        """The statement, when the entry is one."""
        match = _STATEMENT.match(self.text) if self.level == "LOG" else None
        return match["sql"] if match else None


class PostgresLog:
    """What happened in one database since this object was made, or since `mark`."""

    PREFIX: ClassVar[str] = "%m [%p] user=%u,db=%d,app=%a> "
    """`log_line_prefix` of the servers it can read."""

    def __init__(self, path: Path, database: str, start: int = 0) -> None:
        self._path = path
        self._database = database
        self._start = start

    def mark(self) -> PostgresLog:
        """Return the log from now on."""
        return PostgresLog(self._path, self._database, self._path.stat().st_size)

    def read_text(self) -> str:
        """Return the raw text, of every database."""
        with self._path.open("rb") as file:
            file.seek(self._start)
            return file.read().decode(errors="replace")

    def entries(self) -> list[LogEntry]:
        """Return the entries of this database, without the test bed's own."""
        found: list[LogEntry] = []
        for line in self.read_text().split("\n"):
            match = _LINE.match(line)
            if match:
                parts = match.groupdict()
                found.append(LogEntry(int(parts.pop("pid")), **parts))
            elif found and line.startswith("\t"):
                last = found[-1]
                found[-1] = LogEntry(
                    last.pid, last.user, last.database, last.application, last.level, f"{last.text}\n{line[1:]}"
                )
        return [entry for entry in found if entry.database == self._database and entry.application != APPLICATION]

    def statements(self) -> list[str]:
        """Return the statements that clients sent, in order, the test bed's own left out."""
        return [sql for entry in self.entries() if (sql := entry.sql) is not None]
