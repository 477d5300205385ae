"""Reads a MariaDB general log, so that tests count what a client really sent."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

APPLICATION = "rivet-testbed"
"""What the test bed's own connections set first; their statements do not count."""

_LINE = re.compile(r"^(?:\d{6} [ \d]\d:\d\d:\d\d\t|\t\t) *(?P<thread>\d+) (?P<command>[A-Z][\w ]*)\t(?P<text>.*)$")
_HEADER = re.compile(r"^(?:\S+, Version: .* started with:|Tcp port: \d+ .*|Time\t+ *Id Command\tArgument)$")
_LOGIN = re.compile(r"^(?P<user>\S*)@\S+ on (?P<database>\S*) ?")
_SENT = ("Query", "Execute")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the log: what connection `thread` (its number and the server's start it belongs to) sent in `database`."""

    thread: tuple[int, int]
    user: str
    database: str
    command: str
    text: str


class MariaLog:
    """What happened in one database since this object was made, or since `mark`.

    Prepared statements count when executed. Threads are followed from the start of the log, to know their database.
    """

    def __init__(self, path: Path, database: str, start: int = 0) -> None:
        self._path = path
        self._database = database
        self._start = start

    def mark(self) -> MariaLog:
        """Return the log from now on."""
        return MariaLog(self._path, self._database, len(self._path.read_bytes()))

    def read_text(self) -> str:
        """Return the raw text, of every database."""
        return self._path.read_bytes()[self._start :].decode(errors="replace")

    def entries(self) -> list[LogEntry]:
        """Return the entries of this database, without the test bed's own."""
        whole = self._path.read_bytes()
        before = len(_parse(whole[: self._start].decode(errors="replace")))
        entries = _parse(whole.decode(errors="replace"))
        own = {entry.thread for entry in entries if APPLICATION in entry.text}
        return [entry for entry in entries[before:] if entry.database == self._database and entry.thread not in own]

    def statements(self) -> list[str]:
        """Return the statements that clients sent, in order, the test bed's own left out."""
        return [entry.text for entry in self.entries() if entry.command in _SENT]


def _parse(text: str) -> list[LogEntry]:
    found: list[LogEntry] = []
    where: dict[tuple[int, int], tuple[str, str]] = {}
    starts = 0
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match is None:
            if _HEADER.match(line):
                starts += "started with:" in line
            elif found and line:
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n{line}")
            continue
        thread, command, rest = (starts, int(match["thread"])), match["command"], match["text"]
        user, database = where.get(thread, ("", ""))
        if command == "Connect" and (login := _LOGIN.match(rest)):
            user, database = login["user"], login["database"]
        elif command == "Init DB":
            database = rest
        where[thread] = (user, database)
        found.append(LogEntry(thread, user, database, command, rest))
    return found
