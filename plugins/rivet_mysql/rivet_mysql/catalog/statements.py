"""The catalog's statements, each one for all asked tables; answers are dictionaries by (database, table)."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from rivet_core.errors import SourceError
from rivet_mysql.connection import Link, Row, Server, number, text
from rivet_mysql.dialect import MYSQL

Key: TypeAlias = tuple[str, str]

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """InnoDB's persistent statistics of one table, its partitions summed."""

    rows: int
    data_bytes: int
    index_bytes: int
    observed_at: datetime | None
    partitions: tuple[str, ...] = ()
    largest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Rows and bytes of a table, by its statistics."""

    rows: int
    bytes: int


@dataclass(slots=True, kw_only=True)
class Sheet:
    """Everything the statements found, and what would unlock the rest."""

    types: dict[Key, str] = field(default_factory=dict)
    columns: dict[Key, list[Row]] = field(default_factory=dict)
    indexes: dict[Key, list[Row]] = field(default_factory=dict)
    statistics: dict[Key, Statistics] = field(default_factory=dict)
    distinct: dict[tuple[str, str, str], int] = field(default_factory=dict)
    tables: dict[Key, Row] = field(default_factory=dict)
    writes: dict[Key, tuple[int, int, int]] = field(default_factory=dict)
    grants: tuple[str, ...] = ()
    statistics_readable: bool = True


class Question:
    """One look into the catalog: the names asked for, spelled as the server keeps them."""

    def __init__(self, link: Link, server: Server, keys: Sequence[Key], *, account: str, folds_case: bool) -> None:
        self.link = link
        self.server = server
        self.account = account
        self.keys = {self.fold(key, folds_case) for key in keys}
        self.folds_case = folds_case
        self.grants: list[str] = []

    @staticmethod
    def fold(key: Key, folds_case: bool) -> Key:
        """Return the key as names compare on this server."""
        return (key[0].lower(), key[1].lower()) if folds_case else key

    def scope(self, schema: str, table: str, *, partitions: bool = False) -> str:
        """Return the condition that keeps a statement to the asked tables.

        `information_schema` compares without case, so what comes back is looked at again.
        """
        schemas, names = sorted({key[0] for key in self.keys}), sorted({key[1] for key in self.keys})
        if not names:
            return "1 = 0"
        if not partitions:
            return f"{schema} {_among(schemas)} AND {table} {_among(names)}"
        # In innodb_table_stats a partition is a row of its own, `table#P#partition` (`#p#` on MySQL 8).
        base = f"SUBSTRING_INDEX(SUBSTRING_INDEX({table}, '#P#', 1), '#p#', 1)"
        return f"{schema} {_among(schemas)} AND {base} {_among(names)}"

    def wanted(self, schema: object, table: object) -> Key | None:
        """Return the key of a row when it was asked for."""
        key = self.fold((text(schema), text(table)), self.folds_case)  # type: ignore[arg-type]
        return key if key in self.keys else None

    def ask(self, sql: str, doing: str, *, grant: str = "") -> list[Row] | None:
        """Return the rows; `None` when a right is missing, which `grant` (a privilege and an object) would give."""
        try:
            return self.link.rows(sql, doing=doing)
        except SourceError as error:
            if not grant or error.error_class not in ("permission", "missing"):
                raise
            self.grants.append(f"GRANT {grant} TO {self.account}")
            return None


def _among(values: Sequence[str]) -> str:
    """Return the end of a condition. With `=` information_schema goes straight to the table and scans no directory."""
    literals = [MYSQL.string(value) for value in values]
    if len(literals) == 1:
        return f"= {literals[0]}"
    if len({value.casefold() for value in values}) == 1:
        # MariaDB takes names that differ only by case for one, and would go straight to the first of them.
        literals.append("''")
    return f"IN ({', '.join(literals)})"


def read_sheet(question: Question, *, performance_schema: bool) -> Sheet:
    """Ask all of it: at most seven statements."""
    sheet = Sheet()
    _relations(question, sheet)
    _columns(question, sheet)
    _indexes(question, sheet)
    _statistics(question, sheet)
    _distinct(question, sheet)
    _tables(question, sheet)
    if performance_schema:
        _writes(question, sheet)
    sheet.grants = tuple(dict.fromkeys(question.grants))
    return sheet


def read_columns(question: Question) -> Sheet:
    """Ask only for what reading needs: what the relation is, its columns and its indexes."""
    sheet = Sheet()
    _relations(question, sheet)
    _columns(question, sheet)
    _indexes(question, sheet)
    return sheet


def read_sizes(question: Question) -> dict[Key, Size]:
    """Return the sizes of the asked tables, as far as anybody tells: from InnoDB's statistics, which opens no table."""
    sheet = Sheet()
    _statistics(question, sheet)
    if sheet.statistics_readable:
        return {key: Size(rows=found.rows, bytes=found.data_bytes) for key, found in sheet.statistics.items()}
    rows = question.ask(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH"
        f" FROM information_schema.TABLES WHERE {question.scope('TABLE_SCHEMA', 'TABLE_NAME')}",
        "looking up the sizes",
    )
    sizes = {}
    for schema, table, count, size in rows or ():
        if (key := question.wanted(schema, table)) and number(size) is not None:
            sizes[key] = Size(rows=number(count) or 0, bytes=number(size) or 0)
    return sizes


def _relations(question: Question, sheet: Sheet) -> None:
    # No column that needs the table to be opened.
    rows = question.ask(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE"
        f" FROM information_schema.TABLES WHERE {question.scope('TABLE_SCHEMA', 'TABLE_NAME')}",
        "looking up the tables",
    )
    for schema, table, kind in rows or ():
        if key := question.wanted(schema, table):
            sheet.types[key] = text(kind)


def _columns(question: Question, sheet: Sheet) -> None:
    rows = question.ask(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT,"
        " DATETIME_PRECISION, COLLATION_NAME, PRIVILEGES"
        f" FROM information_schema.COLUMNS WHERE {question.scope('TABLE_SCHEMA', 'TABLE_NAME')}"
        " ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
        "looking up the columns",
    )
    for row in rows or ():
        if key := question.wanted(row[0], row[1]):
            sheet.columns.setdefault(key, []).append(row[2:])


def _indexes(question: Question, sheet: Sheet) -> None:
    rows = question.ask(
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, COLLATION, CARDINALITY, SUB_PART, INDEX_TYPE,"
        " NULLABLE"
        f" FROM information_schema.STATISTICS WHERE {question.scope('TABLE_SCHEMA', 'TABLE_NAME')}"
        " ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
        "looking up the indexes",
    )
    for row in rows or ():
        if key := question.wanted(row[0], row[1]):
            sheet.indexes.setdefault(key, []).append(row[2:])


def _statistics(question: Question, sheet: Sheet) -> None:
    rows = question.ask(
        "SELECT database_name, table_name, n_rows, clustered_index_size * @@innodb_page_size,"
        " sum_of_other_index_sizes * @@innodb_page_size, CONVERT_TZ(last_update, 'SYSTEM', '+00:00')"
        f" FROM mysql.innodb_table_stats WHERE {question.scope('database_name', 'table_name', partitions=True)}",
        "reading InnoDB's table statistics",
        grant="SELECT ON mysql.innodb_table_stats",
    )
    sheet.statistics_readable = rows is not None
    parts: dict[Key, list[tuple[str, Statistics]]] = {}
    for schema, table, count, data, index, updated in rows or ():
        base, partition = split_partition(text(table))
        if key := question.wanted(schema, base):
            one = Statistics(
                rows=number(count) or 0,
                data_bytes=number(data) or 0,
                index_bytes=number(index) or 0,
                observed_at=moment(updated),
            )
            parts.setdefault(key, []).append((partition, one))
    sheet.statistics = {key: _summed(found) for key, found in parts.items()}


def _summed(parts: Sequence[tuple[str, Statistics]]) -> Statistics:
    ages = [part.observed_at for _, part in parts]
    named = [(name, part) for name, part in parts if name]
    return Statistics(
        rows=sum(part.rows for _, part in parts),
        data_bytes=sum(part.data_bytes for _, part in parts),
        index_bytes=sum(part.index_bytes for _, part in parts),
        observed_at=None if None in ages else min(age for age in ages if age is not None),
        partitions=tuple(sorted(name for name, _ in named)),
        largest=max(named, key=lambda entry: entry[1].data_bytes)[0] if named else "",
    )


def split_partition(table: str) -> tuple[str, str]:
    """Return `(table, partition)` of a name in innodb_table_stats; sub-partitions count as partitions."""
    for mark in ("#P#", "#p#"):
        base, found, partition = table.partition(mark)
        if found:
            return base, partition
    return table, ""


def moment(value: bytes | str | None) -> datetime | None:
    """Return a moment in UTC, `None` for NULL and zero dates."""
    shown = text(value)
    return None if not shown or shown.startswith("0000") else datetime.fromisoformat(shown).replace(tzinfo=UTC)


def _distinct(question: Question, sheet: Sheet) -> None:
    rows = question.ask(
        "SELECT database_name, table_name, index_name, stat_value FROM mysql.innodb_index_stats"
        f" WHERE stat_name = 'n_diff_pfx01' AND {question.scope('database_name', 'table_name', partitions=True)}",
        "reading InnoDB's index statistics",
        grant="SELECT ON mysql.innodb_index_stats",
    )
    for schema, table, index, value in rows or ():
        base, _ = split_partition(text(table))
        if key := question.wanted(schema, base):
            place = (*key, text(index))
            sheet.distinct[place] = max(sheet.distinct.get(place, 0), number(value) or 0)


def _tables(question: Question, sheet: Sheet) -> None:
    """Ask information_schema for sizes, which opens the tables: only for those InnoDB's statistics leave open."""
    open_questions = [
        key
        for key, kind in sheet.types.items()
        if "VIEW" not in kind and (key not in sheet.statistics or sheet.statistics[key].rows == 0)
    ]
    if not open_questions:
        return
    narrow = Question(question.link, question.server, open_questions, account=question.account, folds_case=question.folds_case)
    rows = narrow.ask(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_ROWS, DATA_LENGTH, AUTO_INCREMENT, CREATE_OPTIONS"
        f" FROM information_schema.TABLES WHERE {narrow.scope('TABLE_SCHEMA', 'TABLE_NAME')}",
        "looking up the sizes",
    )
    for row in rows or ():
        if key := narrow.wanted(row[0], row[1]):
            sheet.tables[key] = row[2:]


def _writes(question: Question, sheet: Sheet) -> None:
    rows = question.ask(
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE"
        " FROM performance_schema.table_io_waits_summary_by_table"
        f" WHERE OBJECT_TYPE = 'TABLE' AND {question.scope('OBJECT_SCHEMA', 'OBJECT_NAME')}",
        "reading the write counters",
        grant="SELECT ON performance_schema.table_io_waits_summary_by_table",
    )
    for schema, table, inserts, updates, deletes in rows or ():
        if key := question.wanted(schema, table):
            sheet.writes[key] = (number(inserts) or 0, number(updates) or 0, number(deletes) or 0)
