"""From a whole catalog to exports that a config could hold: the judge's own advice for each table, and a name for it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase

from rivet_core.config import CampaignConfig
from rivet_core.errors import RivetError
from rivet_core.facts import CursorQuality, ExportFacts, ExportSpec, Fidelity, Json, Mode, RelationKind, ServerFacts, TableFacts
from rivet_core.planning.cursors import tracks_updates
from rivet_core.planning.judge import Judgement
from rivet_core.planning.judging import judge_all
from rivet_core.planning.suggest import SPLIT_LIMIT
from rivet_core.plugins import Registry

LONGEST_NAME = 80
"""Characters of an export's name: it becomes a directory, and people type it."""
_NOT_BY_ITSELF = {RelationKind.VIEW: "a view", RelationKind.FOREIGN: "a foreign table"}
"""What is exported only when somebody asks for it by name: reading it costs what its definition costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which relations are wanted. Patterns are globs over `schema.table` or `table`, exactly as the catalog spells them."""

    schemas: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, table: TableFacts) -> bool:
        """Whether the relation is asked for."""
        if self.schemas and table.schema not in self.schemas:
            return False
        return (not self.include or self.names(table)) and not _matches(table, self.exclude)

    def names(self, table: TableFacts) -> bool:
        """Whether an `include` pattern asks for the relation by name."""
        return _matches(table, self.include)


def _matches(table: TableFacts, patterns: Iterable[str]) -> bool:
    names = (table.relation, f"{table.schema}.{table.relation}", table.name)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One export as it could stand in the config: how, why, what the judge thinks, and columns that are left out."""

    spec: ExportSpec
    table: TableFacts
    judgement: Judgement
    why: str
    alternative: str = ""
    """What would also work, for whoever knows the table better than its catalog does."""
    left_out: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Json]:
        """Return the object that `init --discover` prints."""
        judgement = self.judgement
        return {
            "name": self.spec.name,
            "table": self.table.name,
            "schema": self.table.schema,
            "kind": str(self.table.kind),
            "rows": judgement.estimated_rows,
            "bytes": judgement.estimated_bytes,
            "basis": judgement.basis,
            "mode": str(self.spec.mode),
            "cursor_column": self.spec.cursor_column,
            "chunk_column": self.spec.chunk_column,
            "why": self.why,
            "alternative": self.alternative,
            "columns_left_out": list(self.left_out),
            "priority_score": judgement.priority / 10,
            "cost_class": judgement.cost_class.name,
            "risk_class": judgement.risk_class.name,
            "heavy": judgement.heavy,
        }


def sort_out(tables: Iterable[TableFacts], wish: Wish) -> tuple[list[TableFacts], list[tuple[TableFacts, str]]]:
    """Return the relations to export, and those asked for that cannot or should not be, each with the reason."""
    taken: list[TableFacts] = []
    left: list[tuple[TableFacts, str]] = []
    for table in tables:
        if not wish.takes(table):
            continue
        reason = _obstacle(table)
        if not reason and table.kind in _NOT_BY_ITSELF and not wish.names(table):
            reason = f"{_NOT_BY_ITSELF[table.kind]}: name it with --include"
        if reason:
            left.append((table, reason))
        else:
            taken.append(table)
    return taken, left


def _obstacle(table: TableFacts) -> str:
    if table.problem:
        return table.problem + (f"; {table.remedy}" if table.remedy else "")
    if not any(_usable(column.fidelity, readable=column.readable) for column in table.columns):
        return "it has no column that can be read"
    return "" if table.name.strip() else "its name is blank"


def _usable(fidelity: Fidelity, *, readable: bool) -> bool:
    return readable and fidelity is not Fidelity.REFUSED


def propose(
    tables: Sequence[TableFacts],
    server: ServerFacts,
    config: CampaignConfig,
    registry: Registry,
    *,
    source: str,
    as_of: datetime,
    try_out: Callable[[ExportSpec], object],
) -> list[Proposal]:
    """Return one proposal per table, in the same order.

    `try_out` asks the source whether it can read an export so; what it refuses is read whole, with the reason.
    """
    names = name_exports(tables)
    selections = [_selection(table) for table in tables]
    facts = [
        ExportFacts(
            spec=ExportSpec(name=name, source=source, table=table.name, columns=chosen),
            group=server.address or source,
            table=table,
            server=server,
            as_of=as_of,
        )
        for name, table, (chosen, _) in zip(names, tables, selections, strict=True)
    ]
    found = []
    for verdict, (_, left_out) in zip(judge_all(facts, config, registry), selections, strict=True):
        spec, why = _way(verdict.facts.spec, verdict.judgement, try_out)
        found.append(
            Proposal(
                spec=spec,
                table=verdict.facts.table,
                judgement=verdict.judgement,
                why=why,
                alternative=_alternative(spec, verdict.facts),
                left_out=left_out,
            )
        )
    return found


def _selection(table: TableFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns to name (none: all of them) and those left out."""
    left_out = tuple(column.name for column in table.columns if not _usable(column.fidelity, readable=column.readable))
    return (tuple(column.name for column in table.columns if column.name not in left_out) if left_out else ()), left_out


def _way(spec: ExportSpec, judgement: Judgement, try_out: Callable[[ExportSpec], object]) -> tuple[ExportSpec, str]:
    advice = judgement.suggestion
    mode = Mode(advice.mode)
    if mode not in (Mode.INCREMENTAL, Mode.CHUNKED):
        size = judgement.estimated_bytes
        return spec, "small enough to read whole" if size is not None and size < SPLIT_LIMIT else advice.why
    better = replace(
        spec,
        mode=mode,
        cursor_column=advice.cursor if mode is Mode.INCREMENTAL else None,
        chunk_column=advice.chunk_by if mode is Mode.CHUNKED else None,
    )
    try:
        try_out(better)
    except RivetError as error:
        return spec, f"read whole: {mode} by {advice.cursor or advice.chunk_by} was refused, {error.message}"
    return better, advice.why


def _alternative(spec: ExportSpec, facts: ExportFacts) -> str:
    """Say in a table's own terms how it could be read incrementally: by what sees changes, by what sees only new rows."""
    if spec.mode is not Mode.FULL:
        return ""
    words = []
    for verdict in facts.candidates:
        column = facts.table.column(verdict.columns[0]) if verdict.columns else None
        if column is None or verdict.quality not in (CursorQuality.STRONG_MONOTONIC, CursorQuality.WEAK_TIME):
            continue
        sees = "new and changed rows" if tracks_updates(column.name, column.default) else "new rows only"
        words.append(f"{column.name} ({sees})")
    return f"or incremental, with cursor_column {' or '.join(words[:3])}" if words else ""


def name_exports(tables: Sequence[TableFacts]) -> list[str]:
    """Return a name per table: a directory on any store, easy to type, and no two alike whatever the case of letters."""
    relations = Counter(table.relation for table in tables)
    taken: set[str] = set()
    names = []
    for table in tables:
        whole = table.relation if relations[table.relation] == 1 or not table.schema else f"{table.schema}.{table.relation}"
        base = _plain(whole)
        name, number = base, 1
        while _folded(name) in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(_folded(name))
        names.append(name)
    return names


def _plain(text: str) -> str:
    kept = "".join(char if char.isalnum() or char in "_-." else "_" for char in unicodedata.normalize("NFC", text))
    name = kept.strip("-.")
    while len(name.encode()) > LONGEST_NAME:
        name = name[:-1]
    return name.strip("-.") or "table"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())
