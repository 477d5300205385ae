"""One short read-only transaction for catalog statements, counting what is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from psycopg.rows import namedtuple_row

from rivet_postgres.catalog.queries import SETTINGS, TYPES
from rivet_postgres.types import TypeCatalog

if TYPE_CHECKING:
    import psycopg

STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 250


class Catalog:
    """Statements on one connection. `statements` counts everything that went to the server, BEGIN and ROLLBACK included."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], application: str = "rivet/inspect") -> None:
        self.connection = connection
        self.statements = 0
        self._application = application

    @contextmanager
    def transaction(self, *, statement_ms: int = STATEMENT_TIMEOUT_MS, lock_ms: int = LOCK_TIMEOUT_MS) -> Iterator[None]:
        """Begin, set timeouts and UTC for this transaction alone, roll back at the end."""
        self.fetch("BEGIN READ ONLY")
        try:
            values = {"statement": str(statement_ms), "lock": str(lock_ms), "application": self._application}
            self.fetch(SETTINGS, values)
            yield
        except BaseException:
            with suppress(Exception):
                self.fetch("ROLLBACK")
            raise
        self.fetch("ROLLBACK")

    def fetch(self, sql: str, values: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """Send one statement and return its rows as named tuples."""
        self.statements += 1
        with self.connection.cursor(row_factory=namedtuple_row) as cursor:
            # Parameters are bound by the server; without any, percent signs in the text stay as they are.
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    @staticmethod
    def array(oids: Iterable[int]) -> str:
        """Return oids as the text of an array: thousands of them are bound faster so than as a list."""
        return "{" + ",".join(map(str, oids)) + "}"

    def learn_types(self, types: TypeCatalog, oids: Sequence[int]) -> None:
        """Look up the types not seen before, with what they are built from."""
        if missing := types.missing(oids):
            types.learn(self.fetch(TYPES, {"oids": self.array(missing)}))
