"""`quality:`, checked before the commit: row bounds, shares of NULLs, uniqueness. A breach commits nothing, exit code 5."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from rivet_core.errors import ConfigError, IntegrityError
from rivet_core.facts import ExportSpec
from rivet_core.facts.plural import several
from rivet_core.running.csvtext import field_text
from rivet_core.running.statistics import null_counts
from rivet_core.state import PartRecord

MAX_ENTRIES = 10_000_000
"""Distinct values tracked per column without `unique_max_entries`: about 700 MB of set. Units read side by side have one each
until they end.
"""


@dataclass(slots=True)
class Hashes:
    """What one unit's try has seen of each column: distinct hashes, and how many values were there before."""

    seen: dict[str, set[int]] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)


class Uniqueness:
    """Remembers 64-bit hashes of the values of the columns that must not repeat. Shared by the units of one export."""

    def __init__(self, spec: ExportSpec, schema: pa.Schema) -> None:
        unread = spec.unread_quality(schema.names)
        if unread:
            raise ConfigError(f"{spec.name}: {unread}, which is not read", hint=f"columns: {', '.join(schema.names)}")
        wanted = spec.quality.get("unique_columns")
        self.columns = [str(name) for name in wanted] if isinstance(wanted, list) else []
        entries = spec.quality.get("unique_max_entries")
        self._limit = entries if isinstance(entries, int) and entries else MAX_ENTRIES
        self._seen: dict[str, set[int]] = {name: set() for name in self.columns}
        self.repeated: dict[str, int] = dict.fromkeys(self.columns, 0)
        self.given_up: set[str] = set()
        self._lock = threading.Lock()

    def pending(self) -> Hashes:
        """Return a fresh collection for one unit's try; only `take` counts it, so a retried unit is not counted twice."""
        return Hashes(seen={name: set() for name in self.columns}, repeated=dict.fromkeys(self.columns, 0))

    def collect(self, batch: pa.RecordBatch, into: Hashes) -> None:
        """Hash a batch's values. A column with more than the limit is given up here and now, whatever its unit still holds."""
        for name in self.columns:
            mine = into.seen[name]
            if name in self.given_up:
                mine.clear()
                continue
            column = batch.column(name)
            text = field_text(column.filter(pc.is_valid(column))).cast(pa.large_binary())
            before = len(mine)
            mine.update(xxhash.xxh3_64_intdigest(value) for value in text.to_pylist())
            into.repeated[name] += len(text) - (len(mine) - before)
            if len(mine) + len(self._seen[name]) > self._limit:
                self._give_up(name, into)

    def take(self, collected: Hashes) -> None:
        """Count a finished unit's values in."""
        with self._lock:
            for name, hashes in collected.seen.items():
                self.repeated[name] += collected.repeated[name]
                if name in self.given_up:
                    continue
                seen = self._seen[name]
                before = len(seen)
                seen.update(hashes)
                self.repeated[name] += len(hashes) - (len(seen) - before)
                if len(seen) > self._limit:
                    self.given_up.add(name)
                    seen.clear()

    def _give_up(self, name: str, into: Hashes) -> None:
        """Let go of a column's values; what already repeats stays a breach."""
        with self._lock:
            common = len(into.seen[name] & self._seen[name])
            into.repeated[name] += common
            into.seen[name].clear()
            self._seen[name].clear()
            self.given_up.add(name)


def check_quality(spec: ExportSpec, rows: int, parts: Sequence[PartRecord], unique: Uniqueness | None) -> list[str]:
    """Raise `IntegrityError` for the first breach; return warnings (a column with too many values to track)."""
    wanted = spec.quality
    low, high = wanted.get("row_count_min"), wanted.get("row_count_max")
    if isinstance(low, int) and rows < low:
        raise _breach(spec, f"{several(rows, 'row')}, at least {low} are required (row_count_min)")
    if isinstance(high, int) and rows > high:
        raise _breach(spec, f"{several(rows, 'row')}, at most {high} are allowed (row_count_max)")
    ratios = wanted.get("null_ratio_max")
    columns: list[dict[str, Any]] = [dict(part.columns) for part in parts]
    for name, most in ratios.items() if isinstance(ratios, dict) else ():
        nulls = null_counts(columns, name)
        if rows and isinstance(most, int | float) and nulls / rows > most:
            raise _breach(spec, f"{nulls} of {rows} values of {name} are NULL, at most {most:.2%} are allowed (null_ratio_max)")
    if unique is None:
        return []
    for name in unique.columns:
        if unique.repeated[name]:
            raise _breach(spec, f"{unique.repeated[name]} values of {name} repeat (unique_columns)")
    return [f"{name} has too many values to be checked for uniqueness" for name in sorted(unique.given_up)]


def _breach(spec: ExportSpec, what: str) -> IntegrityError:
    return IntegrityError(
        f"{spec.name}: {what}", hint="nothing was committed; look at the source, or change `quality:`", code="quality"
    )
