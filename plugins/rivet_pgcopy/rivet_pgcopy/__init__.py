"""PostgreSQL's `COPY ... TO STDOUT (FORMAT binary)` decoded in C into Arrow, over the connection of psycopg.

Rows never become Python objects, and the interpreter's lock is not held while they are read. The caller asks for the COPY,
reads it with `CopyReader`, and asks for the result: only that says whether the rows were all.
"""

from __future__ import annotations

from rivet_pgcopy._decoder import DecodeError, Decoder
from rivet_pgcopy.batches import take
from rivet_pgcopy.fields import Field, Kind, field_of
from rivet_pgcopy.libpq import NoLibpqError, functions
from rivet_pgcopy.reader import CopyReader

__version__ = "0.1.0"

__all__ = [
    "CopyReader",
    "DecodeError",
    "Decoder",
    "Field",
    "Kind",
    "NoLibpqError",
    "__version__",
    "field_of",
    "functions",
    "take",
]
