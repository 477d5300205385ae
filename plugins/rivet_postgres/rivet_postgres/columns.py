"""How each column is read: the SELECT expression, the Arrow type that leaves, and what is checked in between.

ADBC hands out exactly: integers, floats, bool, text, bytea, finite dates and timestamps, times below 24:00, uuid, json, and
one-dimensional arrays of these. It garbles infinities, flattens arrays of several dimensions, gives wire bytes for every
type it does not know, and makes a signed 32-bit number of an oid; so those are cast by the server and checked here.
An engine that is `binary` decodes oids, decimals, infinities and the dimensions of arrays itself: they need no cast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from rivet_core.facts import Fidelity, TypeKind
from rivet_core.sql.overrides import parse_override, refuse_units
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.types import BaseType, TypeCatalog, numeric_size


class Check(StrEnum):
    """What is done to a column's values after they arrived."""

    NONE = "none"
    STRICT_CAST = "strict_cast"
    """Text or numbers cast to the target, failing on the first value that does not fit."""
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """One column. `expression` is SQL with `{}` for the column (empty: the column itself), `arrow` what leaves.

    `arrives` is the Arrow type ADBC gives for the expression, compared before the first batch is believed. `dimensions`
    says that the value is a list whose dimensions the expression guards.
    """

    name: str
    source_type: str
    kind: TypeKind
    nullable: bool
    arrow: pa.DataType
    arrives: pa.DataType
    expression: str = ""
    check: Check = Check.NONE
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""
    comment: str = ""
    precision: int | None = None

    @property
    def field(self) -> pa.Field:
        """The Arrow field with what the source says about the column."""
        metadata = {"rivet.source_type": self.source_type}
        if self.comment:
            metadata["rivet.comment"] = self.comment
        return pa.field(self.name, self.arrow, self.nullable, metadata)


_PLAIN: Mapping[str, pa.DataType] = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), pa.string()),
    "bytea": pa.binary(),
    "uuid": pa.uuid(),
    **dict.fromkeys(("json", "jsonb"), pa.json_(pa.utf8())),
}
_CHECKED: Mapping[str, tuple[pa.DataType, Check]] = {
    "date": (pa.date32(), Check.DATE),
    "timestamp": (pa.timestamp("us"), Check.TIMESTAMP),
    "timestamptz": (pa.timestamp("us", "UTC"), Check.TIMESTAMP),
    "time": (pa.time64("us"), Check.TIME),
}
_OUTPUT_FUNCTIONS = {"inet": "inet_out", "cidr": "cidr_out"}
"""Types whose cast to text differs from their output: `10.0.0.1` becomes `10.0.0.1/32`."""
_TEXT = Fidelity.TEXT
MAX_PRECISION = 76
MONEY = pa.decimal128(19, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawColumn:
    """A column as the server describes it."""

    name: str
    type_oid: int
    typmod: int
    source_type: str
    dimensions: int = 0
    nullable: bool = True
    comment: str = ""


def plan_column(
    column: RawColumn,
    types: TypeCatalog,
    *,
    out_of_range: str = "fail",
    override: str | None = None,
    binary: bool = False,
) -> ColumnPlan:
    """Return how to read a column. `out_of_range` is the policy for infinities, NaN decimals and 24:00.

    What leaves is the same whether the engine is `binary` or not.
    """
    base = types.base(column.type_oid, column.typmod, column.dimensions)
    plan = ColumnPlan(
        name=column.name,
        source_type=column.source_type,
        kind=base.kind,
        nullable=column.nullable,
        arrow=pa.string(),
        arrives=pa.string(),
        comment=column.comment,
        precision=base.fraction_digits,
    )
    if override is not None:
        target = parse_override(column.name, override)
        refuse_units(column.name, column.source_type, base.kind, target)
        plan = _overridden(plan, base, target)
        empties = pa.types.is_decimal(target) and base.kind is not TypeKind.INTEGER
        empties = empties or plan.check in (Check.DATE, Check.TIMESTAMP, Check.TIME)
        return replace(plan, nullable=True) if empties and out_of_range == "null_counted" else plan
    plan = _array(plan, base, types, binary=binary) if base.info.is_array else _scalar(plan, base, binary=binary)
    if plan.check is Check.NONE or out_of_range == "fail":
        return plan
    if out_of_range == "text":
        return _as_text(plan, base, note="text, so that values out of range keep theirs")
    return replace(plan, nullable=True, note=plan.note or "values out of range become NULL and are counted")


def _scalar(plan: ColumnPlan, base: BaseType, *, binary: bool = False) -> ColumnPlan:
    name = base.info.name if base.info.schema == "pg_catalog" else ""
    unwrapped = f"{{}}::{base.info.text}" if base.domain else ""
    if name in _PLAIN:
        # `::bpchar` on a domain keeps the padding; the modifier was enforced when the value was stored.
        return replace(plan, arrow=_PLAIN[name], arrives=_PLAIN[name], expression=unwrapped if name != "bpchar" else "")
    if name in _CHECKED:
        arrow, check = _CHECKED[name]
        return replace(plan, arrow=arrow, arrives=arrow, check=check, expression=unwrapped)
    if name == "oid":
        return replace(plan, arrow=pa.int64(), arrives=pa.int64(), expression=unwrapped if binary else "{}::int8")
    if name == "money":
        return _decimal(plan, MONEY, "{}::numeric" if binary else "{}::numeric::text", binary=binary)
    if name == "numeric" and (decimal := decimal_type(base.typmod)) is not None:
        return _decimal(plan, decimal, unwrapped if binary else "{}::text", binary=binary)
    notes = {"numeric": "no precision in the catalog: exact text", "interval": "ISO 8601: months, days and seconds kept apart"}
    return _as_text(plan, base, note=notes.get(name, "the server's own text"))


def _decimal(plan: ColumnPlan, arrow: pa.DataType, expression: str, *, binary: bool) -> ColumnPlan:
    arrives = arrow if binary else pa.string()
    return replace(plan, arrow=arrow, arrives=arrives, expression=expression, check=Check.STRICT_CAST)


def decimal_type(typmod: int) -> pa.DataType | None:
    """Return the decimal type of a numeric modifier, `None` when there is none or it has too many digits."""
    size = numeric_size(typmod)
    if size is None or size[0] > MAX_PRECISION:
        return None
    return pa.decimal128(*size) if size[0] <= 38 else pa.decimal256(*size)


def _as_text(plan: ColumnPlan, base: BaseType, *, note: str) -> ColumnPlan:
    exact = base.kind in (TypeKind.TEXT, TypeKind.ENUM)
    return replace(
        plan,
        arrow=pa.string(),
        arrives=pa.string(),
        expression=_text_of(base),
        check=Check.NONE,
        fidelity=Fidelity.EXACT if exact else _TEXT,
        note="" if exact else note,
    )


def _text_of(base: BaseType) -> str:
    if base.info.schema == "pg_catalog":
        if function := _OUTPUT_FUNCTIONS.get(base.info.name):
            return f"pg_catalog.textin(pg_catalog.{function}({{}}))"
        if base.info.name in ("text", "varchar", "bpchar", "name"):
            return ""  # a cast would cut char(n)'s padding
        if base.info.name == "bool":
            return "{}::text"
    return "{}::text"


def _array(plan: ColumnPlan, base: BaseType, types: TypeCatalog, *, binary: bool = False) -> ColumnPlan:
    element = types.element(base)
    if base.dimensions > 1 or element.info.delimiter != "," or element.info.is_array:
        return replace(_as_text(plan, base, note="array of several dimensions: the server's text"), kind=TypeKind.ARRAY)
    inner = _scalar(replace(plan, kind=element.kind), element, binary=binary)
    name = element.info.name if element.info.schema == "pg_catalog" else ""
    if name in ("json", "jsonb") or (
        inner.arrives == pa.string() and name not in ("text", "varchar", "bpchar", "name", "numeric", "money")
    ):
        # Through the array's own text: every element is then exactly its output text.
        inner = replace(inner, arrow=pa.string(), arrives=pa.string(), check=Check.NONE)
        value, guard = "({}::text)::text[]", "text[]"
    elif name == "money":
        value, guard = "{}::numeric[]" if binary else "({}::numeric[])::text[]", "text[]"
    elif name == "numeric" and inner.arrives == pa.string():
        value, guard = "{}::text[]", "text[]"
    elif name == "oid" and not binary:
        value, guard = "{}::int8[]", "int8[]"
    else:
        # Not `character`: without a length that is character(1), which would cut.
        spelled = "pg_catalog.bpchar" if name == "bpchar" else element.info.text
        value, guard = f"{{}}::{spelled}[]" if (element.domain or base.domain) else "{}", f"{spelled}[]"
    # The error text depends on the row, so that the planner cannot evaluate the cast in advance.
    refusal = f"({POSTGRES.string(f'rivet:dimensions:{plan.name}:')} || pg_catalog.array_dims({{}}))::{guard}"
    odd = "pg_catalog.array_ndims({}) > 1 OR pg_catalog.array_lower({}, 1) <> 1"
    return replace(
        inner,
        kind=TypeKind.ARRAY,
        arrow=pa.list_(inner.arrow),
        arrives=pa.list_(inner.arrives),
        expression=value if binary else f"CASE WHEN {odd} THEN {refusal} ELSE {value} END",
        note=inner.note or "one dimension from 1 on; any other value is refused",
        precision=None,
    )


def _overridden(plan: ColumnPlan, base: BaseType, target: pa.DataType) -> ColumnPlan:
    """Return the plan for an explicit type: cast strictly in Arrow, never rounded by the server."""
    natural = _scalar(plan, base) if not base.info.is_array else plan
    if target == pa.string():
        return replace(_as_text(plan, base, note="text by override"), kind=plan.kind)
    if natural.arrow == target and not base.info.is_array:
        return natural
    floating = pa.types.is_floating(target)
    lossy = floating and (natural.kind is not TypeKind.FLOAT or pa.types.is_float32(target))
    said: dict[str, Any] = {
        "arrow": target,
        "check": Check.STRICT_CAST,
        "fidelity": Fidelity.LOSSY if lossy else Fidelity.EXACT,
        "note": "floating point by override" if lossy else "by override, checked value by value",
    }
    numbers = pa.types.is_integer(natural.arrives) and not pa.types.is_decimal(target)
    if numbers or natural.arrives == pa.bool_() or (floating and pa.types.is_floating(natural.arrives)):
        return replace(natural, **said)
    text = "pg_catalog.trim_scale({})::text" if base.info.name == "numeric" and pa.types.is_integer(target) else _text_of(base)
    return replace(plan, arrives=pa.string(), expression=text, **said)
