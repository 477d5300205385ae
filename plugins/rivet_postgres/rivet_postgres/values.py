"""Values on their way out: strict casts, and the policy for what Arrow and Parquet cannot hold."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.errors import SourceError
from rivet_core.sql.overrides import as_floats, require_json
from rivet_postgres.columns import Check, ColumnPlan

_NOT_FINITE = pa.array(["NaN", "Infinity", "-Infinity"])
_DATE_FLOOR = -3_000_000
"""Days: below the first date PostgreSQL knows (4714-11-24 BC is -2,440,588); ADBC wraps infinities to values there."""
_TIMESTAMP_FLOOR = -220_000_000_000_000_000
"""Microseconds: below the first timestamp (-210,866,803,200,000,000); infinities and years past 294,246 wrap to there."""
_DAY_MICROS = 86_400_000_000
_OUTSIDE = {
    Check.DATE: "an infinite date",
    Check.TIMESTAMP: "an infinite timestamp, or one past the year 294246",
    Check.TIME: "the time 24:00:00",
    Check.STRICT_CAST: "NaN or infinity",
}


class Converter:
    """Turns one column's arrays as they arrive into arrays as they leave, counting what the policy replaced."""

    def __init__(self, plan: ColumnPlan, out_of_range: str, *, decoded: bool = False) -> None:
        """`decoded` says that the engine has done the check: what is of the type that leaves is as it should be."""
        self._plan = plan
        self._decoded = decoded
        self._replace = out_of_range == "null_counted"
        self.replaced = 0

    def convert(self, array: pa.Array) -> pa.Array:
        """Return the converted array. Raises `SourceError` of class `data` naming the column for a value that does not fit."""
        if self._plan.check is Check.NONE or (self._decoded and array.type == self._plan.arrow):
            return array if array.type == self._plan.arrow else self._cast(array, self._plan.arrow)
        if pa.types.is_list(self._plan.arrow):
            values = self._checked(array.values, self._plan.arrow.value_type)
            buffers = array.buffers()[:2]
            return pa.Array.from_buffers(self._plan.arrow, len(array), buffers, array.null_count, array.offset, [values])
        return self._checked(array, self._plan.arrow)

    def _checked(self, array: pa.Array, target: pa.DataType) -> pa.Array:
        if self._plan.check is Check.STRICT_CAST:
            return self._strict(array, target)
        if self._plan.check is Check.DATE:
            wrong = pc.less(array.view(pa.int32()), _DATE_FLOOR)
        elif self._plan.check is Check.TIMESTAMP:
            wrong = pc.less(array.view(pa.int64()), _TIMESTAMP_FLOOR)
        else:
            wrong = pc.greater_equal(array.view(pa.int64()), _DAY_MICROS)
        return self._out_of_range(array, wrong)

    def replace(self, count: int) -> None:
        """Count values that are NULL now because the output type cannot keep them; raises `SourceError` by the policy."""
        if count and not self._replace:
            what = _OUTSIDE[self._plan.check]
            raise SourceError(
                f"the column {self._plan.name} ({self._plan.source_type}) holds {what}, which the output type cannot keep",
                hint="set `out_of_range: null_counted` or `text`, or leave the column out",
                error_class="data",
            )
        self.replaced += count

    def _out_of_range(self, array: pa.Array, wrong: pa.Array) -> pa.Array:
        count = pc.sum(wrong).as_py() or 0
        self.replace(count)
        return array if not count else pc.if_else(wrong, pa.scalar(None, array.type), array)

    def _strict(self, array: pa.Array, target: pa.DataType) -> pa.Array:
        try:
            return self._cast(array, target)
        except SourceError:
            if not pa.types.is_decimal(target):
                raise
        special = pc.is_in(array, _NOT_FINITE)
        return self._cast(self._out_of_range(array, special), target)

    def _cast(self, array: pa.Array, target: pa.DataType) -> pa.Array:
        try:
            if isinstance(target, pa.BaseExtensionType):
                return _to_extension(array, target, checked=self._plan.check is Check.STRICT_CAST)
            if isinstance(array, pa.ExtensionArray):
                array = array.storage
            if pa.types.is_boolean(target) and pa.types.is_integer(array.type):
                _require_bits(array)
            if pa.types.is_floating(target):
                return as_floats(array, target)
            return pc.cast(array, target, safe=True)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise SourceError(
                f"the column {self._plan.name} ({self._plan.source_type}) does not fit {target}: {str(error).splitlines()[0]}",
                hint="choose a wider type under `columns:`, or `text`",
                error_class="data",
            ) from None


def last_marked(arrays: list[pa.Array]) -> int | None:
    """Return the last row whose marks are all set; a policy may have emptied those behind it (infinities sort last)."""
    valid = arrays[0].is_valid()
    for array in arrays[1:]:
        valid = pc.and_(valid, array.is_valid())
    length = len(valid)
    if length and valid[-1].as_py():
        return length - 1
    return next((row for row in range(length - 1, -1, -1) if valid[row].as_py()), None)


def _require_bits(array: pa.Array) -> None:
    bounds = pc.min_max(array)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < 0 or high > 1):
        raise ValueError(f"{low if low < 0 else high} is neither 0 nor 1")


def _to_extension(array: pa.Array, target: Any, *, checked: bool) -> pa.Array:
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    if checked and target.extension_name == "arrow.json":
        require_json(storage.cast(pa.string()).to_pylist())
    if target.extension_name == "arrow.uuid" and pa.types.is_string(storage.type):
        storage = pa.array([None if text is None else uuid.UUID(text).bytes for text in storage.to_pylist()], pa.binary(16))
    return pa.ExtensionArray.from_storage(target, storage.cast(target.storage_type))
