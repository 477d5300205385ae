"""The type table: how each column type is selected, how it travels, and what it becomes. Exact, or said so."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rivet_core.facts import Fidelity, TypeKind

_SPELLED = re.compile(r"([a-z][a-z0-9]*)(?:\((\d+(?:,\d+)?)\))?(.*)\Z", re.DOTALL)

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}
GEOMETRIES = frozenset(
    {
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    }
)
TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
LONG_TEXTS = frozenset({"text", "mediumtext", "longtext", "json"})
BINARIES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
LONG_BINARIES = frozenset({"blob", "mediumblob", "longblob"})
AS_TEXT = "CAST({} AS CHAR)"
ZERO = "(MONTH({}) = 0 OR DAYOFMONTH({}) = 0)"
"""True for zero and partial dates: they have a month or a day 0."""
NO_DAY = f"({ZERO} OR DAYOFMONTH({{}}) > 28 AND DAYOFMONTH({{}}) > COALESCE(DAYOFMONTH(LAST_DAY({{}})), 0))"
"""True also for days that their month does not have, which ALLOW_INVALID_DATES lets in."""

COMPLETE = frozenset({"utf8", "utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32", "latin1", "binary"})
"""Character sets of which every text comes back from UTF-8 as it was. Others have bytes that become a question mark."""
NO_LETTER = "CHAR_LENGTH(REPLACE({}, '?', '')) <> CHAR_LENGTH(REPLACE(CONVERT({} USING utf8mb4), '?', ''))"
"""True for texts that have more question marks in UTF-8 than of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A column type as the catalog or the protocol tells it. `text` is the server's spelling."""

    base: str
    text: str
    unsigned: bool = False
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a column is read.

    `expression` is the SQL that selects it (`{}` is the quoted column; empty means the column itself), `wire` the Arrow type
    that it has on arrival, `arrow` the one it becomes. `zero` is the SQL condition of values that are replaced by NULL,
    `lost` what they are, `rows_expression` what the text protocol needs instead, `long` that a value may be many megabytes.
    """

    kind: TypeKind
    arrow: str
    wire: str = ""
    expression: str = ""
    rows_expression: str | None = None
    zero: str = ""
    lost: str = "zero date"
    long: bool = False
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""
    geometry: bool = False

    @property
    def travels(self) -> str:
        """The Arrow type on arrival."""
        return self.wire or self.arrow


def reading(declared: Declared, out_of_range: str = "null_counted") -> Reading:
    """Return how a column of this type is read under the policy for zero dates (`fail`, `null_counted`, `text`)."""
    base = declared.base
    if base in INTEGERS:
        return Reading(kind=TypeKind.INTEGER, arrow=f"{'u' if declared.unsigned else ''}int{INTEGERS[base]}")
    if base in ("date", "datetime", "timestamp"):
        return _moment(base, out_of_range)
    if base in TEXTS:
        return Reading(kind=TypeKind.TEXT, arrow="string", long=base in LONG_TEXTS)
    if base in BINARIES:
        return Reading(kind=TypeKind.BYTES, arrow="binary", long=base in LONG_BINARIES)
    if base in GEOMETRIES:
        note = "well-known binary; the SRID stands in the column's metadata and is checked row by row"
        return Reading(kind=TypeKind.OTHER, arrow="binary", expression="ST_AsWKB({})", long=True, note=note, geometry=True)
    if base == "decimal":
        precision, scale = declared.precision or 10, declared.scale or 0
        arrow = f"decimal{128 if precision <= 38 else 256}({precision}, {scale})"
        return Reading(kind=TypeKind.DECIMAL, arrow=arrow, wire="string", expression=AS_TEXT)
    if base == "vector":
        note = "vectors have no exact form here: select what you need in a `query`, or override the column with `binary`"
        return Reading(kind=TypeKind.OTHER, arrow="binary", fidelity=Fidelity.REFUSED, note=note)
    return _others(declared) or Reading(
        kind=TypeKind.OTHER, arrow="string", expression=AS_TEXT, fidelity=Fidelity.TEXT, note="the server's text"
    )


def charset_of(collation: str) -> str:
    """Return the character set that a collation belongs to, which its name begins with."""
    return collation.partition("_")[0].lower()


def may_lose(kind: TypeKind, collation: str) -> bool:
    """Whether a text of this collation may have bytes that no letter of UTF-8 stands for."""
    return kind in (TypeKind.TEXT, TypeKind.ENUM) and bool(collation) and charset_of(collation) not in COMPLETE


def guarded(how: Reading, collation: str) -> Reading:
    """Return how a text is read whose bytes may have no letter: such a value is replaced by NULL, not by question marks."""
    if how.expression or not may_lose(how.kind, collation):
        return how
    note = f"{how.note}; " if how.note else ""
    return replace(
        how,
        expression=f"IF({NO_LETTER}, NULL, {{}})",
        zero=NO_LETTER,
        lost="text without letters",
        note=f"{note}bytes without a letter in {charset_of(collation)} are counted, or stop the export; `binary` keeps them",
    )


def _others(declared: Declared) -> Reading | None:
    base = declared.base
    if base in ("float", "double"):
        # The text protocol rounds FLOAT to six digits; multiplied it is a DOUBLE, printed with all of them.
        return Reading(kind=TypeKind.FLOAT, arrow=base, rows_expression="({} * 1e0)")
    if base == "bit":
        one = (declared.precision or 1) == 1
        unsigned = "CAST({} AS UNSIGNED)"
        return Reading(
            kind=TypeKind.BOOLEAN if one else TypeKind.INTEGER,
            arrow="bool" if one else "uint64",
            wire="uint64",
            expression=unsigned,
        )
    if base == "year":
        return Reading(kind=TypeKind.INTEGER, arrow="int16")
    if base == "time":
        since = "TIMESTAMPDIFF(MICROSECOND, '2000-01-01', ADDTIME('2000-01-01 00:00:00', {}))"
        return Reading(
            kind=TypeKind.INTERVAL, arrow="duration[us]", wire="int64", expression=since, note="signed, to 838 hours"
        )
    if base in ("enum", "set"):
        # Both sort by number and compare as text: neither can break the ties of a cursor.
        return Reading(kind=TypeKind.ENUM, arrow="string", note="the member's text, not its number")
    if base == "json":
        return Reading(kind=TypeKind.JSON, arrow="string", expression=AS_TEXT, long=True)
    if base in ("uuid", "inet4", "inet6"):
        return Reading(
            kind=TypeKind.UUID if base == "uuid" else TypeKind.OTHER, arrow="string", expression=AS_TEXT, fidelity=Fidelity.TEXT
        )
    return None


def _moment(base: str, policy: str) -> Reading:
    kinds = {"date": TypeKind.DATE, "datetime": TypeKind.TIMESTAMP, "timestamp": TypeKind.TIMESTAMPTZ}
    if policy == "text":
        return Reading(
            kind=kinds[base], arrow="string", expression=AS_TEXT, fidelity=Fidelity.TEXT, note="text, zero dates kept"
        )
    zoned = "timestamp[us, tz=UTC]"
    arrow = {"date": "date32[day]", "datetime": "timestamp[us]", "timestamp": zoned}[base]
    outside = ZERO if base == "timestamp" else NO_DAY
    note = (
        "zero and partial dates stop the export" if policy == "fail" else "zero and partial dates become NULL and are counted"
    )
    return Reading(
        kind=kinds[base],
        arrow=arrow,
        wire="timestamp[us]" if arrow == zoned else arrow,
        expression=f"IF({outside}, NULL, {{}})",
        zero=outside,
        note=note,
    )


def declared_from_text(spelled: str) -> Declared:
    """Return the type as information_schema spells it in COLUMN_TYPE, `decimal(10,2) unsigned` for instance."""
    found = _SPELLED.match(spelled.strip().lower())
    if found is None:
        return Declared(base=spelled, text=spelled)
    numbers = [int(part) for part in (found[2] or "").split(",")] if found[2] else []
    return Declared(
        base=found[1],
        text=spelled,
        unsigned="unsigned" in (found[3] or ""),
        precision=numbers[0] if numbers else None,
        scale=numbers[1] if len(numbers) > 1 else None,
    )


_PROTOCOL = {
    0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint", 9: "mediumint",
    10: "date", 11: "time", 12: "datetime", 13: "year", 14: "date", 16: "bit", 242: "vector", 245: "json", 246: "decimal",
    247: "enum", 248: "set", 255: "geometry",
}  # fmt: skip
_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY_CHARSET = 63


def declared_from_protocol(type_code: int, flags: int, length: int, scale: int, charset: int) -> Declared:
    """Return the type of a query's column as the protocol describes it; `length` in characters of the answer."""
    unsigned = bool(flags & _UNSIGNED)
    base = _PROTOCOL.get(type_code)
    if base is None:
        long = type_code in (249, 250, 251, 252)
        if flags & _ENUM:
            base = "enum"
        elif flags & _SET:
            base = "set"
        elif charset == _BINARY_CHARSET:
            base = "longblob" if long else "varbinary"
        else:
            base = "longtext" if long else "varchar"
    precision: int | None = None
    spelled = base
    if base == "decimal":
        precision = length - (1 if scale else 0) - (0 if unsigned else 1)
        precision, spelled = max(precision, scale, 1), f"decimal({max(precision, scale, 1)},{scale})"
    elif base == "bit":
        precision, spelled = length, f"bit({length})"
    if unsigned and base in INTEGERS:
        spelled += " unsigned"
    return Declared(base=base, text=spelled, unsigned=unsigned, precision=precision, scale=scale)
