"""Catalog snapshots: facts to JSON and back, when one may stand in for asking, and which earlier one gives rates.

A snapshot is a cache in the state and never more than that: one that is missing, of another Rivet or damaged is as good as
none. Two of them give rates; the store keeps two per source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from rivet_core.artifact.canonical import canonical
from rivet_core.facts import (
    Basis,
    CatalogFacts,
    ColumnFacts,
    Evidence,
    Fidelity,
    IndexFacts,
    InspectItem,
    Json,
    RelationKind,
    Role,
    ServerFacts,
    TableFacts,
    TypeKind,
)
from rivet_core.state import Snapshot

FORMAT = 1
TTL = timedelta(minutes=10)
"""How long a snapshot stands in for asking the source again."""
SPAN = timedelta(hours=1)
"""Rates over less than this say little about a day."""
BASELINE = timedelta(hours=24)
"""How long the older snapshot stays the one that rates are measured from, however often someone plans meanwhile."""

_PASSWORD = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&\s]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kept:
    """One snapshot out of the state. `slot` is the moment it is filed under, `seen_at` when the catalog was read."""

    slot: datetime
    seen_at: datetime
    identity: str
    asked: Mapping[str, Json]
    server: ServerFacts
    _tables: Mapping[str, Any]

    def table(self, name: str) -> TableFacts | None:
        """Return the facts of one relation as they were seen, `None` when it was not asked for or cannot be read."""
        data = self._tables.get(name)
        try:
            return None if data is None else _table(data)
        except (TypeError, ValueError, AttributeError):
            return None

    def fresh(self, as_of: datetime, identity: str) -> bool:
        """Whether it may stand in for asking this source again; one that apply found outdated says nothing was asked."""
        return bool(self.asked) and self.identity == identity and timedelta() <= as_of - self.seen_at < TTL

    def reusable(self, items: Sequence[InspectItem]) -> dict[str, TableFacts]:
        """Return the facts of those items that were asked for in just this way and could be read."""
        found = {}
        for item in items:
            table = self.table(item.name) if self.asked.get(item.name) == _asked(item) else None
            if table is not None and not table.problem:
                found[item.name] = table
        return found


def identity_of(kind: str, options: Json) -> str:
    """Return what tells one source from another: its type and resolved options, credentials left out."""
    return hashlib.sha256(canonical([kind, _open(options)])).hexdigest()


def _open(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _open(item) for key, item in value.items() if "password" not in key and "secret" not in key}
    if isinstance(value, list):
        return [_open(item) for item in value]
    return _PASSWORD.sub("", value) if isinstance(value, str) else value


def snapshot_data(catalog: CatalogFacts, items: Sequence[InspectItem], identity: str, seen_at: datetime) -> dict[str, Json]:
    """Return the JSON of a snapshot. Values that are a field's default are left out."""
    return {
        "format": FORMAT,
        "identity": identity,
        "seen_at": seen_at.isoformat(),
        "asked": {item.name: _asked(item) for item in items},
        "server": _lean(catalog.server),
        "tables": {name: _lean(table) for name, table in catalog.tables.items()},
    }


def read_snapshots(found: Sequence[Snapshot]) -> tuple[Kept, ...]:
    """Return the snapshots that can be read, newest first."""
    kept = []
    for snapshot in found:
        data: Any = snapshot.data
        try:
            if data["format"] == FORMAT:
                server = ServerFacts(**_fields(data["server"], _SERVER))
                seen_at = datetime.fromisoformat(data["seen_at"])
                kept.append(Kept(snapshot.observed_at, seen_at, data["identity"], data["asked"], server, data["tables"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return tuple(sorted(kept, key=lambda one: one.seen_at, reverse=True))


def slot_for(kept: Sequence[Kept], seen_at: datetime) -> datetime:
    """Return the moment to file a new snapshot under: that of the newest one, while the older one still is the baseline."""
    if len(kept) > 1 and seen_at - kept[-1].seen_at < BASELINE:
        return max(one.slot for one in kept)
    return seen_at


def earlier(kept: Sequence[Kept], identity: str, now: datetime, began: datetime | None) -> Kept | None:
    """Return the snapshot to measure rates from, given when the last successful run began.

    Best is one from before that run and at least an hour old: it says what was written since. Then one from before the run,
    then one that is old enough for rates.
    """
    ours = [one for one in kept if one.identity == identity and one.seen_at < now]
    before = [one for one in ours if began is not None and one.seen_at <= began]
    old = [one for one in ours if now - one.seen_at >= SPAN]
    both = [one for one in before if one in old]
    return next(iter([*both, *before, *old]), None)


def _asked(item: InspectItem) -> Json:
    return [item.table, item.query, list(item.columns)]


_ABSENT = object()


def _default(field: Field[Any]) -> object:
    if field.default is not MISSING:
        return field.default
    return _ABSENT if field.default_factory is MISSING else field.default_factory()


_DEFAULTS: dict[type[Any], tuple[tuple[str, object], ...]] = {
    kind: tuple((field.name, _default(field)) for field in fields(kind))
    for kind in (Evidence, ColumnFacts, IndexFacts, TableFacts, ServerFacts)
}


def _lean(record: Any) -> dict[str, Json]:
    lean: dict[str, Json] = {}
    for name, default in _DEFAULTS[type(record)]:
        value = getattr(record, name)
        if value != default:
            lean[name] = _plain(value)
    return lean


def _plain(value: Any) -> Json:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if type(value) in _DEFAULTS:
        return _lean(value)
    plain: Json = value
    return plain


def _fields(data: Mapping[str, Any], readers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: readers[name](value) if name in readers and value is not None else value for name, value in data.items()}


def _evidence(data: Mapping[str, Any]) -> Evidence:
    # `observed_at` and the like have no default: a value that was None is kept as such.
    return Evidence(**_fields(data, _EVIDENCE))


def _evidences(data: Sequence[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    return tuple(_evidence(one) for one in data)


def _columns(data: Sequence[Mapping[str, Any]]) -> tuple[ColumnFacts, ...]:
    return tuple(ColumnFacts(**_fields(one, _COLUMN)) for one in data)


def _indexes(data: Sequence[Mapping[str, Any]]) -> tuple[IndexFacts, ...]:
    return tuple(IndexFacts(**_fields(one, _INDEX)) for one in data)


def _table(data: Mapping[str, Any]) -> TableFacts:
    return TableFacts(**_fields(data, _TABLE))


_EVIDENCE = {"observed_at": datetime.fromisoformat, "basis": Basis}
_COLUMN = {"kind": TypeKind, "fidelity": Fidelity}
_INDEX = {"columns": tuple}
_SERVER = {
    "role": Role,
    "observed_at": datetime.fromisoformat,
    "counters_since": datetime.fromisoformat,
    "grants": tuple,
    "notes": tuple,
}
_TABLE = {
    "kind": RelationKind,
    "columns": _columns,
    "indexes": _indexes,
    "rows": _evidences,
    "bytes": _evidences,
    "scan_bytes": _evidence,
    "counters_since": datetime.fromisoformat,
    "statistics_at": datetime.fromisoformat,
    "partitions": tuple,
    "grants": tuple,
    "notes": tuple,
}
