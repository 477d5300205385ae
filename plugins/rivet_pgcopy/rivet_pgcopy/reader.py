"""One COPY stream of a psycopg connection as record batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

import pyarrow as pa

from rivet_pgcopy._decoder import Decoder
from rivet_pgcopy.batches import take
from rivet_pgcopy.fields import Field
from rivet_pgcopy.libpq import functions

MOST_BYTES = 512 << 20
"""Of one batch: offsets count to 2 GiB, and the row that crosses the limit may have 1 GiB."""
PATIENCE_MS = 100
"""How long one wait for the server may keep Python's signal handlers waiting."""


class _Drained(IntEnum):
    """What ended a call of `Decoder.drain`; numbered as in `src/drain.h`."""

    FULL = 0
    WAITING = 1
    ENDED = 2
    BROKEN = 3


class Connection(Protocol):
    """What is needed of a `psycopg.pq.PGconn`."""

    @property
    def pgconn_ptr(self) -> int | None:
        """The address of libpq's connection."""

    def get_error_message(self) -> str:
        """Return what libpq says went wrong last."""


class CopyReader:
    """Reads a connection in COPY OUT state. Not thread-safe; another thread may cancel the statement at the server.

    The rows of `schema` are decoded by `fields`, batches have about `batch_bytes`: a row more at most.
    """

    def __init__(self, connection: Connection, schema: pa.Schema, fields: Sequence[Field], batch_bytes: int) -> None:
        self._connection = connection
        self._schema = schema
        self._limit = max(1, min(batch_bytes, MOST_BYTES))
        self._decoder = Decoder(tuple(field.record for field in fields), functions())
        self._over = False
        self.deadline: float | None = None
        """When to give up on a server that sends nothing, by `time.monotonic()`; another thread may set it after a cancel."""
        self.outside: tuple[int, ...] = (0,) * len(fields)
        """Values of the last batch that its types cannot keep, by column: infinities, NaN decimals, 24:00. They are NULL."""

    @property
    def whole(self) -> bool:
        """Whether the stream's own trailer has come; the server's word on the statement is asked for besides."""
        return self._decoder.ended

    def next(self) -> pa.RecordBatch | None:
        """Return the next rows, `None` when no more come: the connection's result says why.

        Raises `DecodeError` for a stream that is not what it should be, `ConnectionError` when the connection broke.
        """
        while not self._over:
            state = self._decoder.drain(self._connection.pgconn_ptr or 0, self._limit, PATIENCE_MS)
            if state == _Drained.FULL:
                return self._take()
            if state == _Drained.BROKEN:
                raise ConnectionError(self._connection.get_error_message())
            if state == _Drained.WAITING and self.deadline is not None and time.monotonic() > self.deadline:
                raise ConnectionError("the server does not answer")
            self._over = state == _Drained.ENDED
        return self._take() if self._decoder.rows else None

    def _take(self) -> pa.RecordBatch:
        self.outside = self._decoder.outside()
        return take(self._decoder, self._schema)
