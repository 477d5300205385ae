"""Rows that leave the decoder, through the Arrow C data interface."""

from __future__ import annotations

import pyarrow as pa

from rivet_pgcopy._decoder import Decoder


def take(decoder: Decoder, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows that wait in a decoder; their buffers are handed over, not copied. `schema` has its columns' types."""
    return pa.record_batch(_Exported(schema.__arrow_c_schema__(), decoder.take()))


class _Exported:
    """A struct array on its way from one owner to the next."""

    def __init__(self, schema: object, array: object) -> None:
        self._capsules = schema, array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules
