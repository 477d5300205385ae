"""The digest of a unit, computed by the server: one SELECT that hashes the canonical text of each row and adds up.

The texts are those of `rivet_core.sql.canonical`, written in SQL for each type that leaves; `docs/reconcile.md` lists them.
"""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec, TableFacts, TypeKind, Unit, UnitDigest, UnitKind
from rivet_core.sql.canonical import MODULUS
from rivet_core.sql.querytext import ALIAS
from rivet_mysql.connection import Link, text
from rivet_mysql.dialect import MYSQL
from rivet_mysql.reading.columns import Column, chosen_columns
from rivet_mysql.reading.statement import Position, Selection, Statements, cursor_positions
from rivet_mysql.reading.units import cursor_plan

_NUMBERS = (TypeKind.INTEGER, TypeKind.DECIMAL)
_WKB_X = range(6, 14)
"""Bytes of the first coordinate of a point's WKB: a double, the least significant byte first."""


def unit_digest(link: Link, spec: ReadSpec, unit: Unit, facts: TableFacts, columns: Sequence[str]) -> UnitDigest:
    """Run the statement on a connection whose settings are those of every read of the export.

    Raises `SourceError` for a row whose text is longer than what the server can hold at once.
    """
    sql, left_out = digest_sql(spec, unit, facts, columns)
    doing = f"adding up {spec.table or spec.export}"
    counted, hashed, total = (int(text(value)) for value in link.rows(sql, doing=doing)[0])
    if counted != hashed:
        raise SourceError(
            f"{doing}: the server could not hash {counted - hashed} rows whose text is longer than max_allowed_packet",
            hint="raise max_allowed_packet at the server",
            error_class="limit",
        )
    return UnitDigest(rows=counted, total=total % MODULUS, left_out=left_out)


def digest_sql(spec: ReadSpec, unit: Unit, facts: TableFacts, columns: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the statement, and the columns that have no canonical text. Raises `ConfigError` for a column that is gone."""
    chosen = chosen_columns(replace(spec, columns=tuple(columns)), facts)
    texts = {column.name: canonical_sql(column) for column in chosen}
    # A text that is too long for the server is NULL too: it must not pass for a value that is. LENGTH counts characters where
    # sql_mode is ORACLE.
    fields = ", ".join(
        f"IF({_value(column)} IS NULL, '-', CONCAT(OCTET_LENGTH({sql}), ':', {sql}))"
        for column in chosen
        if (sql := texts[column.name])
    )
    row = f"CONCAT({fields})" if fields else "''"
    positions: tuple[Position, ...] = ()
    if unit.kind is UnitKind.CURSOR:
        plan = cursor_plan(spec, facts)
        positions, _ = cursor_positions(spec, unit, facts, plan.positions, plan.kind, unique=False)
    statements = Statements(spec, unit, facts, chosen, positions, paged=False)
    rows = statements.select(Selection(items=(f"SHA2({row}, 256) AS h",), wires=(), flags=(), srids=(), key=()))
    number = "CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED)"
    sql = f"SELECT COUNT(*), COUNT(h), CAST(IFNULL(SUM({number}), 0) AS CHAR) FROM (\n{rows}\n) AS rivet_rows"
    return sql, tuple(name for name, found in texts.items() if not found)


def canonical_sql(column: Column) -> str:
    """Return the SQL of a column's canonical text, in utf8mb4; empty when it has none."""
    how, final = column.how, column.final
    if column.overridden and how.arrow == "float" and not pa.types.is_integer(final):
        return ""  # the text of a FLOAT with all its digits is made here
    plain, value = f"{ALIAS}.{MYSQL.quote(column.name)}", _value(column)
    if isinstance(final, pa.BaseExtensionType) or (column.overridden and not pa.types.is_string(final)):
        return _number(plain, final) if how.kind in _NUMBERS else ""
    if pa.types.is_string(final):
        return "" if how.kind is TypeKind.BYTES else f"CONVERT({value} USING utf8mb4)"
    if pa.types.is_floating(final):
        return _float(plain)
    if pa.types.is_date32(final):
        return f"CAST(DATEDIFF({value}, '1970-01-01') AS CHAR)"
    if pa.types.is_timestamp(final):
        return f"CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', {value}) AS CHAR)"
    if pa.types.is_duration(final):
        return f"CAST({value} AS CHAR)"
    if pa.types.is_binary(final):
        return f"LOWER(HEX({value}))"
    return _number(plain if pa.types.is_decimal(final) else value, final)


def _value(column: Column) -> str:
    """Return the SQL of what is read of a column: NULL for what a policy replaces."""
    return (column.how.expression or "{}").replace("{}", f"{ALIAS}.{MYSQL.quote(column.name)}")


def _number(value: str, final: pa.DataType) -> str:
    """Plus zero takes the zeros away that ZEROFILL and YEAR put in front."""
    digits = f"CAST({value} + 0 AS CHAR)"
    if pa.types.is_decimal(final):
        return f"IF(LOCATE('.', {digits}), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {digits})), {digits})"
    return digits if pa.types.is_integer(final) or pa.types.is_boolean(final) else ""


def _float(value: str) -> str:
    """The server shows the bits of a double in one place only: the well-known binary of a point."""
    binary = f"ST_AsWKB(POINT({value} + 0e0, 0))"
    return f"LOWER(HEX(CONCAT({', '.join(f'SUBSTRING({binary}, {place}, 1)' for place in reversed(_WKB_X))})))"
