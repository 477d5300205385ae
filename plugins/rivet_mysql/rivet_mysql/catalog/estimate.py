"""What the optimizer thinks of a query or a view: the rows that come out, and what it looks at to find them.

EXPLAIN names a table by its alias; the rewritten statement in its note tells which table that is. Sizes come from the
statistics of those tables, so a scan of a large table is not hidden by the few rows that it returns.
"""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rivet_core.errors import SourceError
from rivet_core.facts import Basis, Evidence, ReadSpec, TableFacts, Unit
from rivet_core.sql.select import KeyTypes, SelectItem, select_unit
from rivet_mysql.catalog.statements import Key, Question, Size
from rivet_mysql.connection import Link, Row, Server, text
from rivet_mysql.dialect import MYSQL

QUALITY_ROWS = 20
QUALITY_SCAN = 40
ROW_BYTES = 100
"""Taken for a row of a table whose size nobody tells."""
CELL_BYTES = 16
"""Taken for a value that comes out, whose width nobody tells."""
NOTE = "rows and bytes are the optimizer's guess"
_WHOLE = ("ALL", "index")
"""Access types that read a table, or an index of it, from one end to the other."""
_NAME = r"`((?:[^`]|``)+)`"
_TABLE = re.compile(rf"(?<!\.){_NAME}\.{_NAME}(?!\.)(?: {_NAME})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One table of the optimizer's plan: what it may be, the rows looked at, and whether it is read from end to end."""

    keys: tuple[Key, ...]
    rows: float
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The optimizer's plan of one statement. `rows` come out of it."""

    rows: int
    steps: tuple[Step, ...]

    @property
    def keys(self) -> set[Key]:
        """Every table that a step may be about."""
        return {key for step in self.steps for key in step.keys}

    def scanned(self, sizes: Mapping[Key, Size]) -> int:
        """Return the bytes looked at: whole tables where they are read from end to end, else rows by their mean width."""
        total = 0.0
        for step in self.steps:
            size = next((sizes[key] for key in step.keys if key in sizes), None)
            if size is None:
                total += step.rows * ROW_BYTES
            elif step.whole:
                total += size.bytes
            else:
                total += step.rows * size.bytes / max(1, size.rows)
        return round(total)


def explain(link: Link, server: Server, source: str, doing: str, *, folds_case: bool) -> Estimate:
    """Return the optimizer's plan for all rows of `source`, a quoted name or a derived table. Raises `SourceError`."""
    lines = _lines(link, server, f"SELECT * FROM {source}", doing)
    return read_plan(lines, _aliases(link.rows("SHOW WARNINGS", doing=doing), folds_case=folds_case))


def expected_delta(link: Link, server: Server, spec: ReadSpec, table: TableFacts, unit: Unit) -> int | None:
    """Return the rows that the optimizer expects in `unit`, `None` when it does not answer. Nothing is read."""
    keys = KeyTypes.of(table.columns)
    source = MYSQL.qualified((table.schema, table.relation))
    sql = select_unit(MYSQL, source=source, items=(SelectItem(name="one", verbatim="1"),), spec=spec, unit=unit, keys=keys)
    try:
        return read_plan(_lines(link, server, sql, f"explaining {spec.export}"), {}).rows
    except SourceError as error:
        if error.error_class == "connection":
            raise
        return None


def _lines(link: Link, server: Server, sql: str, doing: str) -> list[dict[str, str]]:
    form = "EXTENDED" if server.is_mariadb else "FORMAT=TRADITIONAL"
    fields, rows = link.described(f"EXPLAIN {form} {sql}", doing=doing)
    names = [str(text(field.name)).lower() for field in fields]
    return [dict(zip(names, map(text, row), strict=True)) for row in rows]


def read_plan(lines: Sequence[Mapping[str, str]], aliases: Mapping[str, Sequence[Key]]) -> Estimate:
    """Return the plan in EXPLAIN's lines. Each SELECT of the statement is a nested loop of its own over its lines."""
    loops: dict[str, float] = {}
    steps = []
    for line in lines:
        select, table = line["id"], line["table"]
        if not select or not line["rows"]:
            if table or "impossible" in line["extra"].lower() or "no matching" in line["extra"].lower():
                loops.setdefault(select, 0.0)
            continue
        looked_at = loops.get(select, 1.0) * float(line["rows"])
        loops[select] = looked_at * float(line["filtered"] or 100) / 100
        if not table.startswith("<"):  # what stands for another SELECT has lines of its own
            steps.append(Step(keys=tuple(aliases.get(table, ())), rows=looked_at, whole=line["type"] in _WHOLE))
    first = lines[0]["id"] if lines else ""
    return Estimate(rows=round(loops.get(first, 1.0)), steps=tuple(steps))


def with_estimate(facts: TableFacts, estimate: Estimate, sizes: Mapping[Key, Size], now: datetime, kind: str) -> TableFacts:
    """Return the facts of a query or view (`kind`) with what the optimizer thinks of it."""
    # What comes out may be more than what is scanned: a join that multiplies.
    scanned = max(estimate.scanned(sizes), estimate.rows * len(facts.columns) * CELL_BYTES)
    return replace(
        facts,
        rows=(_evidence(f"{kind}_rows", estimate.rows, "rows", now, QUALITY_ROWS),),
        scan_bytes=_evidence("scan_bytes", scanned, "B", now, QUALITY_SCAN),
        notes=(*facts.notes, NOTE),
    )


def _aliases(notes: Sequence[Row], *, folds_case: bool) -> dict[str, list[Key]]:
    """Return the tables that each alias may stand for, by the rewritten statement. A column of an alias looks like a table of
    a database; that it is none shows when its size is looked up.
    """
    found: dict[str, list[Key]] = {}
    for _, _, message in notes:
        for schema, table, alias in _TABLE.findall(text(message)):
            key = Question.fold((schema.replace("``", "`"), table.replace("``", "`")), folds_case)
            keys = found.setdefault((alias or table).replace("``", "`"), [])
            if key not in keys:
                keys.append(key)
    return found


def _evidence(signal: str, value: int, unit: str, now: datetime, quality: int) -> Evidence:
    return Evidence(
        signal=signal,
        value=value,
        unit=unit,
        source="EXPLAIN, the optimizer's guess",
        observed_at=now,
        quality=quality,
        basis=Basis.LIVE,
    )
