"""PostgreSQL's spelling of strings and typed literals."""

from __future__ import annotations

import re

from rivet_core.facts import TypeKind
from rivet_core.sql.dialect import Dialect

LAST_TIMESTAMP = "294247-01-01"
"""From here on, microseconds from 1970 do not fit 64 bits."""

_MOMENTS = {TypeKind.TIMESTAMP: "timestamp without time zone", TypeKind.TIMESTAMPTZ: "timestamp with time zone"}
"""Domains over them, too, may have a modifier, and a CHECK that the first moment of a day need not pass."""
_MODIFIED = re.compile(r"(numeric|character(?: varying)?)\(-?\d+(?:,-?\d+)?\)")
"""Types with a modifier, as `format_type` spells them."""


class PostgresDialect(Dialect):
    """Literals carry their type, so that a comparison uses the column's own operators and index."""

    __slots__ = ()

    def string(self, text: str) -> str:
        """Return a string literal that means the same whatever `standard_conforming_strings` is."""
        plain = Dialect.string(self, text)
        return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain

    def literal(self, kind: TypeKind, value: str, source_type: str = "") -> str:
        """Return `'value'::type`. `source_type` is `format_type`'s own text: quoted where it has to be.

        A modifier is left out: a bound need not be a value of its column (but of the other one of a coalesce cursor, or a day's
        end), and the cast would round it, or cut it off.
        """
        if kind is TypeKind.INTEGER:
            value = Dialect.literal(self, kind, value)
        if source_type and kind in _MOMENTS:
            source_type = _MOMENTS[kind]
        elif found := _MODIFIED.fullmatch(source_type):
            # `character` by itself is character(1).
            source_type = "pg_catalog.bpchar" if found[1] == "character" else found[1]
        return f"{self.string(value)}::{source_type}" if source_type else self.string(value)

    def outside_time(self, kind: TypeKind, policy: str) -> tuple[str, str] | None:
        """Infinities, and what Arrow's microseconds do not reach. Under `fail` the first of them ends the read."""
        if policy not in ("null_counted", "text") or kind not in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
            return None
        end = "infinity" if kind is TypeKind.DATE else LAST_TIMESTAMP
        return f"{{}} > '-infinity' AND {{}} < '{end}'", f"{{}} = '-infinity' OR {{}} >= '{end}'"


POSTGRES = PostgresDialect("postgres", dollar_quotes=True)
