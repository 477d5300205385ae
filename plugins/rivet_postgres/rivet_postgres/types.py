"""Types of the server: what `pg_type` says about them, unwrapped to the base a value really has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rivet_core.facts import TypeKind

KINDS: Mapping[str, TypeKind] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), TypeKind.INTEGER),
    **dict.fromkeys(("numeric", "money"), TypeKind.DECIMAL),
    **dict.fromkeys(("float4", "float8"), TypeKind.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char"), TypeKind.TEXT),
    **dict.fromkeys(("json", "jsonb"), TypeKind.JSON),
    **dict.fromkeys(("time", "timetz"), TypeKind.TIME),
    "bool": TypeKind.BOOLEAN,
    "bytea": TypeKind.BYTES,
    "date": TypeKind.DATE,
    "timestamp": TypeKind.TIMESTAMP,
    "timestamptz": TypeKind.TIMESTAMPTZ,
    "interval": TypeKind.INTERVAL,
    "uuid": TypeKind.UUID,
}
_FRACTIONS = frozenset({"time", "timetz", "timestamp", "timestamptz", "interval"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeInfo:
    """One row of `pg_type`. `typtype` is `b`ase, `c`omposite, `d`omain, `e`num, `r`ange, `m`ultirange or `p`seudo."""

    oid: int
    name: str
    schema: str
    typtype: str
    category: str
    element: int
    base: int
    base_typmod: int
    dimensions: int
    delimiter: str
    text: str

    @property
    def is_array(self) -> bool:
        """Whether it is a true array type (not `point`, `name` and the like, which have elements too)."""
        return self.category == "A" and self.element != 0 and self.name not in ("int2vector", "oidvector")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseType:
    """A type without its domains: the info, the modifier that holds, and the array dimensions a domain declares."""

    info: TypeInfo
    typmod: int
    dimensions: int = 0
    domain: bool = False

    @property
    def kind(self) -> TypeKind:
        """The engine-neutral family."""
        if self.info.is_array:
            return TypeKind.ARRAY
        if self.info.typtype == "e":
            return TypeKind.ENUM
        return KINDS.get(self.info.name, TypeKind.OTHER) if self.info.schema == "pg_catalog" else TypeKind.OTHER

    @property
    def fraction_digits(self) -> int | None:
        """The number of fractional second digits of a time type, `None` for others."""
        if self.kind is TypeKind.DATE:
            return 0
        if self.info.name not in _FRACTIONS or self.info.schema != "pg_catalog":
            return None
        digits = self.typmod & 0xFFFF if self.info.name == "interval" else self.typmod
        return digits if self.typmod >= 0 and digits <= 6 else 6


class TypeCatalog:
    """The types seen so far, by oid."""

    def __init__(self) -> None:
        self._types: dict[int, TypeInfo] = {}
        self.traits: dict[tuple[int, int, bool], object] = {}
        """What others worked out about a type, its modifier and whether it has several dimensions."""

    def missing(self, oids: Iterable[int]) -> list[int]:
        """Return those that have not been looked up yet."""
        return sorted({oid for oid in oids if oid not in self._types})

    def learn(self, rows: Iterable[Any]) -> None:
        """Keep rows of `catalog.queries.TYPES`."""
        for row in rows:
            self._types[row.oid] = TypeInfo(
                oid=row.oid,
                name=row.typname,
                schema=row.nspname,
                typtype=row.typtype,
                category=row.typcategory,
                element=row.typelem,
                base=row.typbasetype,
                base_typmod=row.typtypmod,
                dimensions=row.typndims,
                delimiter=row.typdelim,
                text=row.text,
            )

    def base(self, oid: int, typmod: int = -1, dimensions: int = 0) -> BaseType:
        """Return the base type behind an oid, domains of domains followed to their end."""
        info, domain = self._types[oid], False
        while info.typtype == "d":
            typmod, dimensions, domain = info.base_typmod, max(dimensions, info.dimensions), True
            info = self._types[info.base]
        return BaseType(info=info, typmod=typmod, dimensions=dimensions, domain=domain)

    def element(self, array: BaseType) -> BaseType:
        """Return the element type of an array; the array's modifier is its elements'."""
        return self.base(array.info.element, array.typmod)


def numeric_size(typmod: int) -> tuple[int, int] | None:
    """Return the Arrow precision and scale of a `numeric(p, s)` modifier, `None` without one.

    A negative scale has no digits behind the point: (5, -2) holds up to 9,999,900, so (7, 0). A scale above the
    precision widens it, since Parquet wants scale <= precision.
    """
    if typmod < 4:
        return None
    precision = ((typmod - 4) >> 16) & 0xFFFF
    scale = (((typmod - 4) & 0x7FF) ^ 1024) - 1024
    return (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
