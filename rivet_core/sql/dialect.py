"""How one engine spells identifiers, typed literals and comparisons of several columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from rivet_core.errors import ConfigError
from rivet_core.facts import TypeKind

_INTEGER = re.compile(r"-?[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's spelling. Subclasses override `literal` where the engine has types of its own.

    `row_values` says that `(a, b) > (x, y)` is understood and served by an index; without it the comparison is spelled out.
    `line_comments` are the marks that begin a comment to the end of the line, `backslash_escapes` says that a backslash
    inside a string literal escapes the next character, `dollar_quotes` that `$tag$...$tag$` is a string.
    """

    name: str
    quote_mark: str = '"'
    row_values: bool = True
    line_comments: tuple[str, ...] = ("--",)
    backslash_escapes: bool = False
    dollar_quotes: bool = False

    def quote(self, identifier: str) -> str:
        """Return `identifier` quoted, byte for byte the same name. Raises `ConfigError` for an empty one or one with NUL."""
        if not identifier or "\0" in identifier:
            raise ConfigError(f"{identifier!r} cannot be the name of a table or column", hint="give the name the database has")
        mark = self.quote_mark
        return f"{mark}{identifier.replace(mark, mark * 2)}{mark}"

    def qualified(self, parts: Sequence[str]) -> str:
        """Return `schema.table` with every part quoted; empty parts are left out."""
        return ".".join(self.quote(part) for part in parts if part)

    def string(self, text: str) -> str:
        """Return a string literal of exactly `text`."""
        if "\0" in text:
            raise ConfigError("a text value holds a NUL character", hint="such a value cannot be a cursor or a key bound")
        return "'" + text.replace("'", "''") + "'"

    def literal(self, kind: TypeKind, value: str, source_type: str = "") -> str:
        """Return the literal of a mark's canonical text for a column of this kind.

        `source_type` is the server's spelling of the column's type, for engines whose literals carry it. Raises
        `ConfigError` when the text is not a value of the kind: nothing of it reaches a statement unchecked.
        """
        if kind is TypeKind.INTEGER:
            return checked_integer(value)
        if kind is TypeKind.DECIMAL:
            return checked_decimal(value)
        if kind is TypeKind.FLOAT:
            return checked_float(value)
        if kind is TypeKind.BYTES:
            return f"X'{checked_hex(value)}'"
        return self.string(value)

    def outside_time(self, kind: TypeKind, policy: str) -> tuple[str, str] | None:
        """Return SQL that tells moments from values of a time column that are none, and SQL of the latter; `{}` is the column.

        Such a value marks no progress: a cursor passes it by as it does NULL. `policy` is `out_of_range`; `None` where a
        column of this kind holds moments only, or where any other value ends the read.
        """
        del kind, policy
        return None

    def compare(self, columns: Sequence[str], operator: str, literals: Sequence[str]) -> str:
        """Return the comparison of a row of columns with a row of literals; `operator` is one of `>`, `>=`, `<`, `<=`.

        `columns` are SQL expressions. Without row values `(a, b) > (x, y)` becomes `(a >= x AND (a > x OR (a = x AND b > y)))`:
        the first term is what an index on `a` can use.
        """
        if len(columns) != len(literals) or not columns:
            raise ValueError("compare needs as many literals as columns")
        if len(columns) == 1:
            return f"{columns[0]} {operator} {literals[0]}"
        if self.row_values:
            return f"({', '.join(columns)}) {operator} ({', '.join(literals)})"
        return self._spelled_out(columns, operator, literals)

    def _spelled_out(self, columns: Sequence[str], operator: str, literals: Sequence[str]) -> str:
        strict = operator[0]
        alternatives = []
        for depth, (column, value) in enumerate(zip(columns, literals, strict=True)):
            last = depth == len(columns) - 1
            equal = [f"{columns[i]} = {literals[i]}" for i in range(depth)]
            alternatives.append(" AND ".join([*equal, f"{column} {operator if last else strict} {value}"]))
        alternation = " OR ".join(f"({term})" for term in alternatives)
        return f"({columns[0]} {strict}= {literals[0]} AND ({alternation}))"


def checked_integer(value: str) -> str:
    """Return `value` when it is the text of an integer, else raise `ConfigError`."""
    if not _INTEGER.match(value):
        raise ConfigError(f"{value!r} is not an integer", hint="the saved position is damaged: reset the export's state")
    return value


def checked_decimal(value: str) -> str:
    """Return the plain notation of a finite decimal, else raise `ConfigError`."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ConfigError(f"{value!r} is not a decimal number", hint="the saved position is damaged: reset the export's state")
    return format(number, "f")


def checked_float(value: str) -> str:
    """Return the shortest exact notation of a finite float, else raise `ConfigError`."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{value!r} is not a finite number", hint="the saved position is damaged: reset the export's state")
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def checked_hex(value: str) -> str:
    r"""Return the hex digits of a bytes mark (`\x00ff`), else raise `ConfigError`."""
    digits = value.removeprefix("\\x")
    try:
        bytes.fromhex(digits)
    except ValueError:
        raise ConfigError(
            f"{value!r} is not a bytes value", hint="the saved position is damaged: reset the export's state"
        ) from None
    return digits


SQLITE = Dialect("sqlite")
