"""Which types of the server are decoded, and into which types of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa


class Kind(IntEnum):
    """How a value is decoded; numbered as in `src/column.h`."""

    BOOLEAN = 0
    FIXED16 = 1
    FIXED32 = 2
    FIXED64 = 3
    OBJECT_ID = 4
    DATE = 5
    TIMESTAMP = 6
    TIME = 7
    DECIMAL128 = 8
    DECIMAL256 = 9
    BYTES = 10
    JSONB = 11
    UUID = 12


_JSON = pa.json_(pa.utf8())
_SCALARS: Mapping[int, tuple[Kind, pa.DataType]] = {
    16: (Kind.BOOLEAN, pa.bool_()),
    17: (Kind.BYTES, pa.binary()),  # bytea
    19: (Kind.BYTES, pa.string()),  # name
    20: (Kind.FIXED64, pa.int64()),  # int8
    21: (Kind.FIXED16, pa.int16()),  # int2
    23: (Kind.FIXED32, pa.int32()),  # int4
    25: (Kind.BYTES, pa.string()),  # text
    26: (Kind.OBJECT_ID, pa.int64()),  # oid
    114: (Kind.BYTES, _JSON),
    700: (Kind.FIXED32, pa.float32()),
    701: (Kind.FIXED64, pa.float64()),
    1042: (Kind.BYTES, pa.string()),  # bpchar
    1043: (Kind.BYTES, pa.string()),  # varchar
    1082: (Kind.DATE, pa.date32()),
    1083: (Kind.TIME, pa.time64("us")),
    1114: (Kind.TIMESTAMP, pa.timestamp("us")),
    1184: (Kind.TIMESTAMP, pa.timestamp("us", "UTC")),
    2950: (Kind.UUID, pa.uuid()),
    3802: (Kind.JSONB, _JSON),
}
NUMERIC = 1700
ELEMENTS: Mapping[int, int] = {
    1000: 16, 1001: 17, 1003: 19, 1005: 21, 1007: 23, 1009: 25, 1014: 1042, 1015: 1043, 1016: 20, 1021: 700, 1022: 701,
    1028: 26, 1115: 1114, 1182: 1082, 1183: 1083, 1185: 1184, 1231: NUMERIC, 2951: 2950, 199: 114, 3807: 3802,
}  # fmt: skip
"""The element type of each array type: their numbers are the same on every server."""


@dataclass(frozen=True, slots=True)
class Field:
    """How one column is decoded. `element` is the oid of a list's elements, 0 for a single value."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: int = 0

    @property
    def record(self) -> tuple[int, int, int, bool, int]:
        """The field as the extension takes it."""
        return int(self.kind), self.precision, self.scale, self.element != 0, self.element


def field_of(oid: int, arrow: pa.DataType) -> Field | None:
    """Return how values of the server's type `oid` become `arrow`, `None` where they cannot."""
    if (element := ELEMENTS.get(oid)) is not None:
        inner = _scalar(element, arrow.value_type) if pa.types.is_list(arrow) else None
        return inner and Field(inner.kind, inner.precision, inner.scale, element)
    return _scalar(oid, arrow)


def _scalar(oid: int, arrow: pa.DataType) -> Field | None:
    if oid == NUMERIC and pa.types.is_decimal(arrow):
        kind = Kind.DECIMAL128 if pa.types.is_decimal128(arrow) else Kind.DECIMAL256
        return Field(kind, arrow.precision, arrow.scale)
    kind_and_type = _SCALARS.get(oid)
    return Field(kind_and_type[0]) if kind_and_type is not None and kind_and_type[1].equals(arrow) else None
