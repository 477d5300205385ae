"""What a program wrote, as a multiset of rows that compares whatever types and spellings were chosen."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

Rows = Counter[tuple[tuple[str, str], ...]]
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


def rows_of(files: Iterable[tuple[str, bytes]]) -> Rows:
    """Return the rows of Parquet and CSV files, given by name and content; columns that a program adds are left out."""
    found: Rows = Counter()
    for name, data in files:
        if name.endswith(".parquet"):
            records: Any = pq.read_table(io.BytesIO(data)).to_pylist()
        else:
            records = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        for record in records:
            found[tuple(sorted((key, plain(value)) for key, value in record.items() if not key.startswith("_rivet_")))] += 1
    return found


def plain(value: Any) -> str:
    """Return a value's meaning as text: numbers without trailing zeros, moments in UTC, nothing for NULL and an empty text."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    text = str(value)
    if _NUMBER.fullmatch(text):
        number = Decimal(text).normalize()
        return f"{number:f}"
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[ T]", text):
        return plain(datetime.fromisoformat(text))
    return text


def difference(ours: Rows, theirs: Rows) -> str:
    """Return how two results differ, with one row of each side; empty when they do not.

    Rows may come again here: by a cursor without a known key the boundary is read again, which the manifest says.
    """
    if ours.keys() == theirs.keys() and ours >= theirs:
        return ""
    more, less = ours - theirs, theirs - ours
    shown = [f"{len(more)} rows only here, such as {next(iter(more))}"] if more else []
    shown += [f"{len(less)} rows only there, such as {next(iter(less))}"] if less else []
    return "; ".join(shown)
