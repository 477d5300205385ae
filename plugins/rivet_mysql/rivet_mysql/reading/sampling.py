"""Where a table is cut along a key for which the server keeps no histogram: its index is explored, a few points at a time.

A stretch of keys is cut at guessed points; the server answers with the keys that are really there on both sides of each (two
looks into the index), and with the rows that lie between them (EXPLAIN, which only dives into the index). Stretches that hold
too many rows are cut again. So a read plan costs a fixed number of statements however large the table is, every cut is a key
in the server's own order, and units follow rows whatever the collation and however skewed the keys are.
"""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rivet_core.facts import Mark, TableFacts
from rivet_core.sql.keyspace import between
from rivet_core.sql.querytext import ALIAS
from rivet_mysql.connection import Link, number, text
from rivet_mysql.dialect import MYSQL
from rivet_mysql.reading.statement import Position, canonical

ROUNDS = 6
MOST_POINTS = 64
"""Points looked at in one round."""
PIECES_PER_UNIT = 3
"""A stretch is fine enough when it holds at most a third of a unit."""

Key: TypeAlias = tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Keys from `low` to `high`, both present, with about `rows` rows. `whole` when no point was found to cut it at."""

    low: Key
    high: Key
    rows: int
    whole: bool = False


class Explorer:
    """Looks at the primary key of one table."""

    def __init__(self, link: Link, facts: TableFacts, positions: Sequence[Position]) -> None:
        self._link = link
        self._positions = tuple(positions)
        self._name = f"{MYSQL.qualified((facts.schema, facts.relation))} AS {ALIAS}"
        self._table = f"{self._name} FORCE INDEX (PRIMARY)"
        self._doing = f"looking at the primary key of {facts.relation}"

    def cuts(self, units: int) -> tuple[list[Key], int]:
        """Return ordered keys that part the table into about `units` of equally many rows, and the estimated rows of all."""
        stretches = self.explore(units)
        return join(stretches, units), sum(stretch.rows for stretch in stretches)

    def explore(self, units: int) -> list[Stretch]:
        """Return stretches in the key's order."""
        low, high = self._seek([((), False), ((), True)])
        if low is None or high is None:
            return []
        stretches = self._judged([Stretch(low, high, 0)])
        for _ in range(ROUNDS):
            total = sum(stretch.rows for stretch in stretches)
            share = max(1, total // (units * PIECES_PER_UNIT))
            wide = [one for one in stretches if one.rows > share and not one.whole]
            if not wide:
                break
            weight = sum(one.rows for one in wide)
            widest = sorted(wide, key=lambda one: -one.rows)[:MOST_POINTS]
            found = self._cut({one: 1 + max(1, MOST_POINTS * one.rows // weight) for one in widest})
            stretches = [piece for one in stretches for piece in found.get(one, [one])]
        return stretches

    def _cut(self, parts: dict[Stretch, int]) -> dict[Stretch, list[Stretch]]:
        """Cut stretches at guessed points; one that no point cuts comes back as `whole`."""
        asked: list[tuple[Stretch, tuple[str, ...]]] = []
        for one, count in parts.items():
            kinds = [position.kind for position in self._positions]
            points = between(kinds, [m.value for m in one.low], [m.value for m in one.high], count)
            asked += [(one, point) for point in points]
        looks: list[tuple[Sequence[str], bool]] = []
        for one, point in asked:
            inside = (self._bound(one.low, ">="), self._bound(one.high, "<="))
            looks += [((*inside, self._conditions(point, ">=")), False), ((*inside, self._conditions(point, "<")), True)]
        keys = self._seek(looks) if looks else []
        edges: dict[Stretch, list[tuple[Key, Key]]] = {one: [] for one in parts}
        for (one, _), above, below_key in zip(asked, keys[::2], keys[1::2], strict=True):
            if above is not None and below_key is not None:
                edges[one].append((below_key, above))
        return self._pieces(edges)

    def _pieces(self, edges: dict[Stretch, list[tuple[Key, Key]]]) -> dict[Stretch, list[Stretch]]:
        """Put the edges of each stretch into the server's order: guesses need not come in it."""
        ordered = self._ordered([edge for found in edges.values() for edge in dict.fromkeys(found)])
        pieces: dict[Stretch, list[Stretch]] = {}
        for one, found in edges.items():
            inside = [edge for edge in ordered if edge in set(found)]
            starts, ends = [one.low, *(above for _, above in inside)], [*(below for below, _ in inside), one.high]
            pieces[one] = [Stretch(low, high, 0) for low, high in zip(starts, ends, strict=True)]
        judged = iter(self._judged([piece for found in pieces.values() for piece in found]))
        return {one: [replace(next(judged), whole=len(found) == 1) for _ in found] for one, found in pieces.items()}

    def _ordered(self, edges: Sequence[tuple[Key, Key]]) -> list[tuple[Key, Key]]:
        """Return the edges in the order of the server's index, each once."""
        if len(edges) < 2:
            return list(edges)
        looks = [
            f"(SELECT {place} AS n, {self._plain} FROM {self._table} WHERE {self._bound(below, '=')} LIMIT 1)"
            for place, (below, _) in enumerate(edges)
        ]
        names = ", ".join(f"k{place}" for place in range(len(self._positions)))
        rows = self._link.rows(f"SELECT n FROM ({' UNION ALL '.join(looks)}) AS f ORDER BY {names}", doing=self._doing)
        places = [place for (value,) in rows if (place := number(value)) is not None]
        return list(dict.fromkeys(edges[place] for place in places))

    def _judged(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Return the stretches with the rows that the optimizer sees in each: it dives into the index, and reads no row."""
        if not stretches:
            return []
        inside = [f"{self._bound(one.low, '>=')} AND {self._bound(one.high, '<=')}" for one in stretches]
        # Told to USE an index the optimizer dives into it; where it must (FORCE), MySQL sees no reason to, and says 1 row.
        looks = [f"SELECT 1 FROM {self._name} USE INDEX (PRIMARY) WHERE {where}" for where in inside]
        fields, rows = self._link.described(f"EXPLAIN FORMAT=TRADITIONAL {' UNION ALL '.join(looks)}", doing=self._doing)
        names = [text(getattr(field, "name", "")).lower() for field in fields]
        counts = {}
        for row in rows:
            values = dict(zip(names, row, strict=False))
            place = number(values.get("id"))
            if place is not None:
                counts[place] = max(1, number(values.get("rows")) or 1)
        return [replace(one, rows=1 if one.low == one.high else counts.get(place, 1)) for place, one in enumerate(stretches, 1)]

    def _seek(self, looks: Sequence[tuple[Sequence[str], bool]]) -> list[Key | None]:
        """Return the first key of each look (conditions, and whether from above), `None` where there is none."""
        statements = []
        for place, (conditions, descending) in enumerate(looks):
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            order = ", ".join(f"{p.expression}{' DESC' if descending else ''}" for p in self._positions)
            statements.append(f"(SELECT {place} AS n, {self._texts} FROM {self._table}{where} ORDER BY {order} LIMIT 1)")
        found: list[Key | None] = [None] * len(looks)
        for place, *values in self._link.rows(" UNION ALL ".join(statements), doing=self._doing):
            at = number(place)
            if at is not None:
                found[at] = tuple(canonical(p, text(value)) for p, value in zip(self._positions, values, strict=True))
        return found

    @property
    def _texts(self) -> str:
        return ", ".join(f"{p.text} AS k{place}" for place, p in enumerate(self._positions))

    @property
    def _plain(self) -> str:
        return ", ".join(f"{p.expression} AS k{place}" for place, p in enumerate(self._positions))

    def _bound(self, key: Key, operator: str) -> str:
        return self._conditions([mark.value for mark in key], operator)

    def _conditions(self, values: Sequence[str], operator: str) -> str:
        positions = self._positions[: len(values)]
        literals = [MYSQL.literal(p.kind, value, p.source_type) for p, value in zip(positions, values, strict=True)]
        columns = [p.expression for p in positions]
        if operator == "=":
            return " AND ".join(f"{column} = {literal}" for column, literal in zip(columns, literals, strict=True))
        return MYSQL.compare(columns, operator, literals)


def join(stretches: Sequence[Stretch], units: int) -> list[Key]:
    """Return at most `units - 1` ends of stretches, at which the rows so far pass an equal share of all."""
    total = sum(stretch.rows for stretch in stretches)
    cuts: list[Key] = []
    seen = 0
    for stretch in stretches[:-1]:
        before, seen = seen, seen + stretch.rows
        if seen * units // total > before * units // total:
            cuts.append(stretch.high)
    return cuts[: units - 1]
