"""What a source's catalog says: server, tables, columns, indexes. Signals, never truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from rivet_core.facts.evidence import Evidence


class TypeKind(StrEnum):
    """The engine-neutral family of a column type."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    INTERVAL = "interval"
    UUID = "uuid"
    JSON = "json"
    ENUM = "enum"
    ARRAY = "array"
    OTHER = "other"


class Fidelity(StrEnum):
    """How exactly a column's values arrive in the output."""

    EXACT = "exact"
    TEXT = "text"
    LOSSY = "lossy"
    REFUSED = "refused"


class RelationKind(StrEnum):
    """What a name in the catalog stands for."""

    TABLE = "table"
    PARTITIONED = "partitioned"
    VIEW = "view"
    MATERIALIZED_VIEW = "materialized_view"
    FOREIGN = "foreign"
    QUERY = "query"
    MISSING = "missing"


class Role(StrEnum):
    """Where a server stands in replication."""

    PRIMARY = "primary"
    STANDBY = "standby"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column, in the order the table has it.

    `source_type` is the server's own spelling (`numeric(10,2)`), `generated` one of `identity`, `sequence`, `auto_increment`,
    `default`, `stored`, `virtual` or empty; `null_frac` 0..1, `avg_width` bytes, `n_distinct` as PostgreSQL has it (negative =
    fraction of the rows), `correlation` -1..1; each `None` when unknown. `precision` is the number of fractional second digits
    of time types. `arrow_type` is the text of the Arrow type that arrives, for the type report.
    """

    name: str
    source_type: str
    kind: TypeKind
    nullable: bool = True
    default: str | None = None
    generated: str = ""
    comment: str = ""
    precision: int | None = None
    null_frac: float | None = None
    avg_width: int | None = None
    n_distinct: float | None = None
    correlation: float | None = None
    fidelity: Fidelity = Fidelity.EXACT
    fidelity_note: str = ""
    arrow_type: str = ""
    readable: bool = True
    collation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """One index. `columns` are the key columns in order, an expression as an empty string. `method` is `btree` when ordered."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False
    valid: bool = True
    partial: bool = False
    method: str = "btree"
    size_bytes: int | None = None

    @property
    def usable(self) -> bool:
        """Whether an ordered range read can use it: valid, not partial, btree."""
        return self.valid and not self.partial and self.method == "btree"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One relation, or one query, as named in the config (`name` is that text, the key of `CatalogFacts.tables`).

    `rows` and `bytes` hold every signal of that kind, the one to use first; bytes are heap plus out-of-line storage, what a
    full read moves. `problem` is why it cannot be planned (missing, no permission, ambiguous), `problem_class` the class of
    that error where the kind does not tell it, `remedy` the exact statement that would help; `grants` are statements that
    would unlock a signal that was not readable.
    """

    name: str
    schema: str = ""
    relation: str = ""
    kind: RelationKind = RelationKind.TABLE
    columns: tuple[ColumnFacts, ...] = ()
    indexes: tuple[IndexFacts, ...] = ()
    rows: tuple[Evidence, ...] = ()
    bytes: tuple[Evidence, ...] = ()
    out_of_line_bytes: int | None = None
    avg_width: int | None = None
    dead_rows: int | None = None
    changes_since_statistics: int | None = None
    inserts: int | None = None
    updates: int | None = None
    deletes: int | None = None
    counters_since: datetime | None = None
    statistics_at: datetime | None = None
    partitions: tuple[str, ...] = ()
    largest_partition: str = ""
    inheritance_children: int = 0
    scan_bytes: Evidence | None = None
    """For a query: bytes the plan scans (from EXPLAIN), not what it returns."""
    index_for_range: Mapping[str, bool] = field(default_factory=dict)
    """For a query or view: column -> whether EXPLAIN says a range on it can use an index."""
    problem: str = ""
    remedy: str = ""
    grants: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem_class: str = ""

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The primary key's columns in order, empty when there is none."""
        return next((index.columns for index in self.indexes if index.primary), ())

    def column(self, name: str) -> ColumnFacts | None:
        """Return the column of exactly this name, or `None`."""
        return next((column for column in self.columns if column.name == name), None)

    def leads_index(self, name: str) -> bool:
        """Whether `name` is the first key column of a usable index."""
        return (name,) in [index.columns[:1] for index in self.indexes if index.usable]

    def is_unique(self, name: str) -> bool:
        """Whether `name` alone is the whole key of a valid, not partial unique index."""
        return any(index.unique and index.valid and not index.partial and index.columns == (name,) for index in self.indexes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The server behind a source, at one moment. Seconds and counts; `None` means unknown, never zero.

    `address` is what the implicit source group is named after: `host:port`, or the file. `database` tells the databases of one
    server apart, empty where there is one only.
    """

    engine: str
    version: str = ""
    address: str = ""
    database: str = ""
    role: Role = Role.UNKNOWN
    observed_at: datetime | None = None
    max_connections: int | None = None
    used_connections: int | None = None
    active_sessions: int | None = None
    oldest_transaction_seconds: float | None = None
    replica_lag_seconds: float | None = None
    lock_waits: int | None = None
    conflict_delay_seconds: float | None = None
    hot_standby_feedback: bool | None = None
    conflicts: int | None = None
    purge_backlog: int | None = None
    counters_since: datetime | None = None
    pooler: str = ""
    encrypted: bool | None = None
    """Whether the connection that asked was under TLS; `None` when nobody looked or nothing travels."""
    grants: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def free_connections(self) -> int | None:
        """Connections nobody uses now, `None` when either side is unknown."""
        if self.max_connections is None or self.used_connections is None:
            return None
        return max(0, self.max_connections - self.used_connections)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectItem:
    """One thing to look up: a table by its config name, or a query by its text.

    `name` is the key of the answer: the table text as written, or the export's name for a query. `columns` are those whose
    order or index matters to the export (cursor, time column, chunk key), `cursor` the marks committed so far, so that the
    source can estimate the delta.
    """

    name: str
    table: str | None = None
    query: str | None = None
    columns: tuple[str, ...] = ()
    chunk_columns: tuple[str, ...] = ()
    """Those that units are cut along: only their histogram bounds are worth a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFacts:
    """The answer of one `inspect`: the server and every asked relation. `statements` counts what was sent to the server."""

    server: ServerFacts
    tables: Mapping[str, TableFacts]
    statements: int
    seconds: float = 0.0
