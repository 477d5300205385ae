"""What the folder holds: each file's header and size, as facts. Nothing here reads more than a file's beginning."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rivet_core.errors import SourceError
from rivet_core.facts import Basis, ColumnFacts, Evidence, IndexFacts, InspectItem, RelationKind, ServerFacts, TableFacts
from rivet_csvdir.options import Options, Table, read_type, source_type

SAMPLE = 64 << 10
"""Bytes of a file that its number of rows is estimated from."""


def probe(options: Options) -> ServerFacts:
    """Return the folder as a server. Raises `SourceError` when there is none."""
    if not options.path.is_dir():
        raise SourceError(
            f"{options.path} is not a folder",
            hint="check `path` of the source; it is relative to the config",
            error_class="missing",
        )
    return ServerFacts(engine="csvdir", version="1", address=str(options.path), observed_at=datetime.now(UTC))


def tables(options: Options) -> Iterator[str]:
    """Yield the name of every table."""
    return (path.stem for path in sorted(options.path.glob("*.csv")) if path.is_file())


def file_of(options: Options, table: str | None) -> Path:
    """Return the file of a table. Raises `SourceError` when there is none; a name cannot lead out of the folder."""
    if table is None or table not in set(tables(options)):
        raise SourceError(
            f"there is no table {table}", hint=f"the tables are {', '.join(tables(options)) or 'none'}", error_class="missing"
        )
    return options.path / f"{table}.csv"


def facts_of(options: Options, item: InspectItem) -> TableFacts:
    """Return what is known of one table, or why it cannot be read."""
    try:
        if item.query is not None:
            raise SourceError("files answer no queries", hint="name a `table`", error_class="missing")
        path = file_of(options, item.table)
        columns = columns_of(path, options, options.tables.get(item.table or "", Table()))
    except SourceError as error:
        return TableFacts(name=item.name, kind=RelationKind.MISSING, problem=error.message, remedy=error.hint)
    key = options.tables.get(item.table or "", Table()).key
    return TableFacts(
        name=item.name,
        relation=item.table or "",
        columns=columns,
        # No order to read by: `method` keeps anybody from counting on an index.
        indexes=(IndexFacts(name="key", columns=(key,), unique=True, primary=True, method="none"),) if key else (),
        rows=tuple(_rows(path)),
        bytes=(_signal("file_bytes", path.stat().st_size, "B", 99),),
    )


def columns_of(path: Path, options: Options, table: Table) -> tuple[ColumnFacts, ...]:
    """Return the columns of the header line. Raises `SourceError` for one that is missing, repeated or not declared right."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=options.delimiter), [])
    if not names or len(set(names)) != len(names):
        raise SourceError(f"{path.name} has no header line, or a column twice", hint="the first line names the columns")
    unknown = [name for name in (*table.columns, *([table.key] if table.key else [])) if name not in names]
    if unknown:
        raise SourceError(f"{path.name} has no column {unknown[0]}", hint=f"its columns are {', '.join(names)}")
    return tuple(_column(name, table) for name in names)


def _column(name: str, table: Table) -> ColumnFacts:
    kind, arrow, nullable = read_type(table.columns.get(name, "text"))
    return ColumnFacts(
        name=name, source_type=source_type(arrow), kind=kind, nullable=nullable and name != table.key, arrow_type=str(arrow)
    )


def _rows(path: Path) -> Iterator[Evidence]:
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    lines = sample.count(b"\n")
    if lines > 1:
        whole = len(sample) < SAMPLE
        estimate = lines - 1 if whole else int(path.stat().st_size * lines / len(sample))
        yield _signal("line_count" if whole else "line_estimate", estimate, "rows", 95 if whole else 60)


def _signal(name: str, value: int, unit: str, quality: int) -> Evidence:
    now = datetime.now(UTC)
    return Evidence(signal=name, value=value, unit=unit, source="file", observed_at=now, quality=quality, basis=Basis.LIVE)
