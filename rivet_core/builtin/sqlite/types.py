"""How a declared column type of SQLite becomes an Arrow type, and how values are held to it.

SQLite types values, not columns: a column declared INTEGER may hold text. So a column has a *reading*: the Arrow type that
its declaration promises, and the check that every value is what was promised. Nothing is converted silently; what does
not fit is `BadValue`, which the reader turns into an error that names the row and the override that helps.

The affinity rules are those of https://www.sqlite.org/datatype3.html, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import pyarrow as pa

from rivet_core.builtin.sqlite import values
from rivet_core.errors import ConfigError
from rivet_core.facts import Fidelity, TypeKind


class Affinity(StrEnum):
    """What SQLite prefers to store in a column."""

    INTEGER = "INTEGER"
    REAL = "REAL"
    TEXT = "TEXT"
    BLOB = "BLOB"
    NUMERIC = "NUMERIC"


@dataclass(frozen=True, slots=True)
class Reading:
    """How one column is read. `wide` says that its values have no fixed size; `storage` which classes are allowed."""

    kind: TypeKind
    arrow: pa.DataType
    convert: values.Convert
    storage: tuple[str, ...]
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""
    wide: bool = False


@lru_cache(maxsize=1024)
def affinity(declared: str) -> Affinity:
    """Return the affinity that SQLite gives a column declared like this, by its five rules in order."""
    text = declared.upper()
    if "INT" in text:
        return Affinity.INTEGER
    if any(word in text for word in ("CHAR", "CLOB", "TEXT")):
        return Affinity.TEXT
    if not text.strip() or "BLOB" in text:
        return Affinity.BLOB
    if any(word in text for word in ("REAL", "FLOA", "DOUB")):
        return Affinity.REAL
    return Affinity.NUMERIC


_DECLARED_KINDS: tuple[tuple[str, TypeKind], ...] = (
    ("BOOL", TypeKind.BOOLEAN),
    ("TIMESTAMPTZ", TypeKind.TIMESTAMPTZ),
    ("TIMESTAMP", TypeKind.TIMESTAMP),
    ("DATETIME", TypeKind.TIMESTAMP),
    ("DATE", TypeKind.DATE),
    ("TIME", TypeKind.TIME),
    ("UUID", TypeKind.UUID),
    ("JSON", TypeKind.JSON),
    ("DEC", TypeKind.DECIMAL),
    ("NUM", TypeKind.DECIMAL),
    ("MONEY", TypeKind.DECIMAL),
)


def kind_of(declared: str) -> TypeKind:
    """Return the engine-neutral family that a declaration means."""
    by_affinity = {
        Affinity.INTEGER: TypeKind.INTEGER,
        Affinity.REAL: TypeKind.FLOAT,
        Affinity.TEXT: TypeKind.TEXT,
        Affinity.BLOB: TypeKind.BYTES if declared.strip() else TypeKind.OTHER,
    }
    found = by_affinity.get(affinity(declared))
    if found is not None:
        return found
    text = declared.upper()
    return next((kind for word, kind in _DECLARED_KINDS if word in text), TypeKind.OTHER)


@lru_cache(maxsize=1024)
def reading(declared: str, override: pa.DataType | None = None) -> Reading:
    """Return how a column declared like this is read, `override` as parsed by `rivet_core.sql.overrides`."""
    if override is not None:
        return _overridden(kind_of(declared), override)
    kind = kind_of(declared)
    match kind:
        case TypeKind.INTEGER:
            return Reading(kind, pa.int64(), values.integers, ("integer",))
        case TypeKind.BOOLEAN:
            return Reading(
                kind,
                pa.int64(),
                values.integers,
                ("integer",),
                note="SQLite has no boolean: the stored integer; bool by override",
            )
        case TypeKind.FLOAT:
            return Reading(kind, pa.float64(), values.floats, ("integer", "real"))
        case TypeKind.TEXT:
            return Reading(kind, pa.string(), values.strings, ("text",), wide=True)
        case TypeKind.BYTES:
            return Reading(kind, pa.binary(), values.blobs, ("blob",), wide=True)
    return Reading(
        kind, pa.string(), values.texts, ("integer", "real", "text"), Fidelity.TEXT, _TEXT_NOTES.get(kind, _ANY_NOTE), wide=True
    )


_STORED = "the stored value as text, untouched"
_TEXT_NOTES = {
    TypeKind.DECIMAL: "SQLite stores decimals as integers or floats: their exact text; decimal(p,s) by override",
    TypeKind.DATE: f"{_STORED}; date by override",
    TypeKind.TIMESTAMP: f"{_STORED}; timestamp by override",
    TypeKind.TIMESTAMPTZ: f"{_STORED}; timestamptz by override",
    TypeKind.TIME: _STORED,
    TypeKind.UUID: _STORED,
    TypeKind.JSON: _STORED,
}
_ANY_NOTE = "no declared type: each value's exact text; int64, double or binary by override"

_NUMBERS_AND_TEXT = ("integer", "real", "text")


def _overridden(kind: TypeKind, arrow: pa.DataType) -> Reading:
    """Return the reading that `columns: {name: type}` asks for; a value that does not fit fails when it is met."""
    note = "by override; a value that does not fit fails"
    if arrow == pa.int64():
        return Reading(kind, arrow, values.integers, ("integer",), note=note)
    if pa.types.is_integer(arrow):
        return Reading(kind, arrow, values.narrow(arrow), ("integer",), note=note)
    if pa.types.is_decimal(arrow):
        return Reading(kind, arrow, values.decimals(arrow), _NUMBERS_AND_TEXT, note=note)
    if pa.types.is_timestamp(arrow):
        zoned = arrow.tz is not None
        return Reading(
            kind, arrow, values.stamps(zoned=zoned), ("text",), note=f"{note}; without an offset it is UTC" if zoned else note
        )
    if arrow == pa.string():
        return Reading(kind, arrow, values.texts, _NUMBERS_AND_TEXT, Fidelity.TEXT, "by override", wide=True)
    by_type: tuple[tuple[pa.DataType, values.Convert, tuple[str, ...]], ...] = (
        (pa.float64(), values.floats, ("integer", "real")),
        (pa.float32(), values.float32s, ("integer", "real")),
        (pa.bool_(), values.bools, ("integer",)),
        (pa.binary(), values.blobs, ("blob",)),
        (pa.date32(), values.dates, ("text",)),
        (pa.uuid(), values.uuids, ("text", "blob")),
        (pa.json_(pa.utf8()), values.jsons, _NUMBERS_AND_TEXT),
    )
    for known, convert, storage in by_type:
        if known == arrow:
            return Reading(kind, arrow, convert, storage, note=note, wide=pa.types.is_binary(arrow) or convert is values.jsons)
    raise ConfigError(f"SQLite columns cannot be read as {arrow}", hint="read it as text")
