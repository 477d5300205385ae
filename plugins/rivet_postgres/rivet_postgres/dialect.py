"""PostgreSQL's spelling of strings and typed literals."""

from __future__ import annotations

from rivet_core.facts import TypeKind
from rivet_core.sql.dialect import Dialect


class PostgresDialect(Dialect):
    """Literals carry their type, so that a comparison uses the column's own operators and index."""

    __slots__ = ()

    def string(self, text: str) -> str:
        """Return a string literal that means the same whatever `standard_conforming_strings` is."""
        plain = Dialect.string(self, text)
        return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain

    def literal(self, kind: TypeKind, value: str, source_type: str = "") -> str:
        """Return `'value'::type`. `source_type` is `format_type`'s own text: quoted where it has to be."""
        if kind is TypeKind.INTEGER:
            value = Dialect.literal(self, kind, value)
        return f"{self.string(value)}::{source_type}" if source_type else self.string(value)


POSTGRES = PostgresDialect("postgres", dollar_quotes=True)
