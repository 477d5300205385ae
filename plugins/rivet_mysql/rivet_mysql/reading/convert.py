"""From what arrived to what was promised: strict casts, counted zero dates, one SRID per geometry column."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.errors import SourceError
from rivet_core.facts import TypeKind
from rivet_core.sql.overrides import as_floats, require_json
from rivet_mysql.reading.columns import Column


def finish(array: pa.Array, column: Column, export: str) -> pa.Array:
    """Return the array in the column's final type. Raises `SourceError` for a value that does not fit, naming the column."""
    final = column.final
    try:
        if column.overridden and column.how.arrow == "float" and not _is_number(final):
            # The server's text of a FLOAT has six digits; this one has as many as bring the same FLOAT back.
            array = array.cast(pa.float32(), safe=False).cast(pa.string())
        if isinstance(final, pa.BaseExtensionType):
            return _extension(array, final, checked=column.overridden and column.how.kind is not TypeKind.JSON)
        if array.type == final:
            return array
        if pa.types.is_boolean(final):
            return _boolean(array)
        if pa.types.is_timestamp(final) and final.tz and pa.types.is_timestamp(array.type) and array.type.tz is None:
            return array.cast(pa.timestamp("us")).view(final)  # the session is in UTC: same moment, now said so
        if pa.types.is_floating(final) and pa.types.is_floating(array.type) and not column.overridden:
            return array.cast(final, safe=False)  # a FLOAT that travelled as a DOUBLE
        if pa.types.is_floating(final):
            return as_floats(array, final)
        result = array.cast(final)
        if pa.types.is_date32(final) and pa.types.is_timestamp(array.type) and not result.cast(array.type).equals(array):
            raise ValueError("a value has a time of day")
        return result
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError) as error:
        raise SourceError(
            f"{export}, column {column.name}: a {column.source_type} value cannot become {final}: {_short(error)}",
            hint=f"change the override `columns.{column.name}`" if column.overridden else "override the column with `text`",
            error_class="data",
        ) from None


def _boolean(array: pa.Array) -> pa.Array:
    if pa.types.is_string(array.type):
        array = array.cast(pa.int64())
    if pc.any(pc.and_(pc.not_equal(array, 0), pc.not_equal(array, 1))).as_py():
        raise ValueError("only 0 and 1 are booleans")
    return array.cast(pa.bool_())


def _extension(array: pa.Array, final: pa.BaseExtensionType, *, checked: bool) -> pa.Array:
    if final.extension_name == "arrow.uuid":
        values = [
            None if value is None else uuid.UUID(value).bytes if isinstance(value, str) else bytes(value)
            for value in array.to_pylist()
        ]
        return pa.ExtensionArray.from_storage(final, pa.array(values, final.storage_type))
    storage = array.cast(final.storage_type)
    if checked:
        require_json(storage.to_pylist())
    return pa.ExtensionArray.from_storage(final, storage)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def refuse_lost(column: Column, export: str, found: int) -> SourceError:
    """Return the error for zero dates under `out_of_range: fail`, and for texts that cannot leave as text."""
    if column.how.kind in (TypeKind.TEXT, TypeKind.ENUM):
        return SourceError(
            f"{export}, column {column.name}: {found} texts of a {column.source_type} have bytes without a letter",
            hint=f"override `columns.{column.name}` with `binary`, or set `out_of_range: null_counted`",
            error_class="data",
        )
    return SourceError(
        f"{export}, column {column.name}: {found} zero or partial dates in a {column.source_type}, and out_of_range is fail",
        hint="set `out_of_range: null_counted` (they become NULL and are counted) or `text` (they stay, as text)",
        error_class="data",
    )


def refuse_mark(name: str, export: str) -> SourceError:
    """Return the error for a cursor at a text that cannot leave as text: where its question marks sort, it does not."""
    return SourceError(
        f"{export}: the cursor {name} reached a text with bytes without a letter, which no later run could go on from",
        hint="leave such rows out with a `query`, or choose another cursor column",
        error_class="data",
    )
