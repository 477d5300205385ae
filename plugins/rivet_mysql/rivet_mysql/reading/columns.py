"""The columns of one read: what is selected, how it travels, and the Arrow field it becomes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import ColumnFacts, Fidelity, ReadSpec, TableFacts, TypeKind
from rivet_core.sql.overrides import parse_override, refuse_units
from rivet_mysql.types import AS_TEXT, Reading, declared_from_text, guarded, reading

_DECIMAL = re.compile(r"decimal(128|256)\((\d+), (\d+)\)\Z")
_LENGTH = re.compile(r"var(?:char|binary)\((\d+)\)", re.IGNORECASE)
UNEVEN_LENGTH = 1000
_PLAIN = {
    "date32[day]": pa.date32(),
    "timestamp[us]": pa.timestamp("us"),
    "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC"),
    "duration[us]": pa.duration("us"),
    "float": pa.float32(),
    "double": pa.float64(),
}


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type that the type table names."""
    if found := _DECIMAL.match(text):
        precision, scale = int(found[2]), int(found[3])
        return pa.decimal128(precision, scale) if found[1] == "128" else pa.decimal256(precision, scale)
    return _PLAIN.get(text) or pa.type_for_alias(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One output column.

    `nullable` is what the source says, `zeros` whether zero dates become NULL in it; `overridden` says that the config chose
    its type, so values are held to it.
    """

    name: str
    source_type: str
    how: Reading
    final: pa.DataType
    nullable: bool
    zeros: bool
    comment: str = ""
    overridden: bool = False

    @property
    def uneven(self) -> bool:
        """Whether one value may be thousands of bytes while most are short: rows say nothing about bytes then."""
        declared = _LENGTH.match(self.source_type)
        return self.how.long or (declared is not None and int(declared[1]) >= UNEVEN_LENGTH)

    @property
    def wire(self) -> pa.DataType:
        """The Arrow type on arrival."""
        return arrow_type(self.how.travels)

    def field(self, srid: int | None = None) -> pa.Field:
        """Return the Arrow field, source type and comment in its metadata."""
        metadata = {"rivet.source_type": self.source_type}
        if self.comment:
            metadata["rivet.comment"] = self.comment
        if self.how.geometry:
            metadata["rivet.srid"] = str(srid or 0)
        return pa.field(self.name, self.final, self.nullable or self.zeros, metadata)


def chosen_columns(spec: ReadSpec, facts: TableFacts) -> tuple[Column, ...]:
    """Return the columns to deliver, in the asked order, else as the table has them.

    Raises `ConfigError` for a name or an override that cannot be, `SourceError` for a column without a right or form.
    """
    for name in (*spec.columns, *spec.overrides):
        if facts.column(name) is None:
            names = [column.name for column in facts.columns]
            near = difflib.get_close_matches(name, names, n=1)
            raise ConfigError(
                f"{spec.export}: {spec.table or 'the query'} has no column {name!r}",
                hint=f"did you mean {near[0]}?" if near else f"its columns are: {', '.join(names[:12])}",
            )
    wanted = [facts.column(name) for name in spec.columns] if spec.columns else list(facts.columns)
    return tuple(_column(spec, column) for column in wanted if column is not None)


def _column(spec: ReadSpec, facts: ColumnFacts) -> Column:
    if not facts.readable:
        raise SourceError(
            f"{spec.export}: the account may not read the column {facts.name}",
            hint="ask for GRANT SELECT on it, or name the others under `columns`",
            error_class="permission",
        )
    policy = spec.out_of_range if spec.out_of_range in ("fail", "text") else "null_counted"
    how = reading(declared_from_text(facts.source_type), policy)
    how = guarded(how, facts.collation)
    asked = spec.overrides.get(facts.name)
    final = arrow_type(how.arrow)
    if asked is not None:
        wanted = parse_override(facts.name, asked)
        refuse_units(facts.name, facts.source_type, how.kind, wanted)
        how = override(how, wanted, facts.name)
        final = wanted
    if how.fidelity is Fidelity.REFUSED:
        raise ConfigError(f"{spec.export}: the column {facts.name} is {facts.source_type}", hint=how.note)
    return Column(
        name=facts.name,
        source_type=facts.source_type,
        how=how,
        final=final,
        nullable=facts.nullable,
        zeros=bool(how.zero),
        comment=facts.comment,
        overridden=asked is not None,
    )


def override(how: Reading, wanted: pa.DataType, column: str) -> Reading:
    """Return how a column is read that the config wants as `wanted`. Raises `ConfigError` when that can never be."""
    if pa.types.is_decimal(wanted):
        if how.kind not in (TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.TEXT, TypeKind.FLOAT):
            raise ConfigError(f"columns.{column}: {how.arrow} cannot become {wanted}", hint="override a number or text column")
        if how.arrow == "float":  # whose text is made here
            return replace(how, fidelity=Fidelity.EXACT)
        return replace(how, wire="string", expression=AS_TEXT, rows_expression=None, fidelity=Fidelity.EXACT)
    textual = pa.types.is_string(wanted) or isinstance(wanted, pa.BaseExtensionType)
    if textual and how.geometry:
        as_text = "CONCAT('SRID=', ST_SRID({}), ';', ST_AsText({}))"
        return replace(how, wire="string", expression=as_text, geometry=False, fidelity=Fidelity.TEXT)
    if textual and how.kind is TypeKind.BYTES:
        return replace(how, wire="binary")
    if textual and how.arrow == "float":
        return replace(how, fidelity=Fidelity.TEXT)
    if textual and how.kind in (TypeKind.TEXT, TypeKind.ENUM):
        return replace(how, fidelity=Fidelity.TEXT)
    if textual:
        return replace(how, wire="string", expression=AS_TEXT, rows_expression=None, zero="", fidelity=Fidelity.TEXT)
    if pa.types.is_binary(wanted) and how.zero and how.kind in (TypeKind.TEXT, TypeKind.ENUM):
        return replace(how, wire="binary", expression="CAST({} AS BINARY)", zero="", note="the bytes as they are stored")
    if pa.types.is_binary(wanted) and how.fidelity is Fidelity.REFUSED:
        return replace(how, wire="binary", expression="CAST({} AS BINARY)", fidelity=Fidelity.EXACT)
    return replace(how, wire=how.travels)


def schema_of(columns: Sequence[Column], srids: dict[str, int]) -> pa.Schema:
    """Return the schema of the output."""
    return pa.schema([column.field(srids.get(column.name)) for column in columns])
