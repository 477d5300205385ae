"""How MySQL and MariaDB spell names and values, whatever the server's sql_mode says about quotes and backslashes."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import TypeKind
from rivet_core.sql.dialect import Dialect


class MysqlDialect(Dialect):
    """Backquoted names; texts that a backslash mode could change are written as hex with a character set in front."""

    __slots__ = ()

    def string(self, text: str) -> str:
        """Return a literal of exactly `text`, the same with and without NO_BACKSLASH_ESCAPES."""
        if "\\" in text or "\0" in text:
            return f"_utf8mb4 X'{text.encode().hex()}'"
        return "'" + text.replace("'", "''") + "'"

    def literal(self, kind: TypeKind, value: str, source_type: str = "") -> str:
        """Return the literal of a mark; moments are in UTC, which is the session's time zone."""
        if kind is TypeKind.BYTES:
            # A cast keeps an empty X'' and a numeric context out of the comparison.
            return f"CAST({super().literal(kind, value, source_type)} AS BINARY)"
        if kind in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
            moment, era, _ = value.partition(" BC")
            moment = moment.removesuffix("+00")
            # The only year before 1 that the server can hold is 0, "1 BC" in marks; before it there are zero dates only.
            first = "0000-00-00" if moment[:4] != "0001" else f"0000{moment[4:]}"
            return self.string(first if era else moment)
        return super().literal(kind, value, source_type)

    def outside_time(self, kind: TypeKind, policy: str) -> tuple[str, str] | None:
        """Zero dates lie before the first year. Partial ones of a year sort within it, and mark its progress."""
        del policy
        if kind is TypeKind.TIMESTAMPTZ:
            return "{} > '0000-00-00 00:00:00'", "{} = '0000-00-00 00:00:00'"
        return ("{} >= '0000-01-01'", "{} < '0000-01-01'") if kind in (TypeKind.DATE, TypeKind.TIMESTAMP) else None


MYSQL = MysqlDialect(
    "mysql", quote_mark="`", row_values=False, line_comments=("-- ", "--\t", "--\n", "#"), backslash_escapes=True
)
"""Row values are spelled out: the server does not use an index for `(a, b) > (x, y)`."""


def written(schema: str, table: str) -> str:
    """Return `schema.table` the way `split_name` reads it back, with backquotes only where they must be."""
    parts = (schema, table)
    return ".".join(MYSQL.quote(part) if "." in part or "`" in part or part != part.strip() else part for part in parts if part)


def split_name(text: str) -> tuple[str, str]:
    """Return `(database, table)` of a config name: `t`, `db.t`, with or without backquotes; an empty database when none.

    A doubled backquote inside backquotes stands for one. Raises `ValueError` for anything else.
    """
    parts = _parts(text.strip())
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise ValueError(text)
    return ("", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def _parts(text: str) -> Sequence[str]:
    parts, at = [], 0
    while True:
        if text[at : at + 1] == "`":
            part, at = _backquoted(text, at + 1)
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            part, at = text[at:end], end
        parts.append(part)
        if at == len(text):
            return parts
        if text[at] != ".":
            raise ValueError(text)
        at += 1


def _backquoted(text: str, at: int) -> tuple[str, int]:
    part = ""
    while True:
        end = text.find("`", at)
        if end < 0:
            raise ValueError(text)
        part += text[at:end]
        if text[end + 1 : end + 2] != "`":
            return part, end + 1
        part, at = f"{part}`", end + 2
