"""The tables of the state database. Times are UTC text of fixed width, so they sort; JSON is text that any database holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Dialect, Float, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.types import TypeDecorator

SCHEMA_VERSION = 3
"""Raised with every change of the tables, which has a migration; a newer schema than this one is refused."""


def revision(version: int) -> str:
    """Return what alembic calls a version."""
    return f"{version:04}"


class Moment(TypeDecorator[datetime]):
    """An aware datetime, kept as `YYYY-MM-DDTHH:MM:SS.ffffff+00:00`."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Write UTC with microseconds."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """Read it back."""
        return None if value is None else datetime.fromisoformat(value)


class Document(TypeDecorator[Any]):
    """A JSON value, kept as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write compact JSON."""
        return None if value is None else json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read it back."""
        return None if value is None else json.loads(value)


Name = String(512)

METADATA = MetaData()
"""All tables; their names start with `rivet_`, so the state may share a database with others."""

SCHEMA = Table(
    "rivet_schema",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
)
"""One row: the version of this schema."""

REVISION = Table(
    "rivet_alembic",
    METADATA,
    Column("version_num", String(32), primary_key=True),
)
"""Alembic's own table: the newest migration that ran."""

CURSORS = Table(
    "rivet_cursor",
    METADATA,
    Column("export", Name, primary_key=True),
    Column("marks", Document, nullable=True),
    Column("run_id", String(64), nullable=False),
    Column("updated_at", Moment, nullable=False),
)
"""Where an export's next incremental run begins."""

RUNS = Table(
    "rivet_run",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("export", Name, nullable=False),
    Column("plan_id", String(64), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("source_fingerprint", String(64), nullable=False),
    Column("mode", String(32), nullable=False),
    Column("status", String(16), nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment, nullable=True),
    Column("seconds", Float, nullable=True),
    Column("rows", BigInteger, nullable=True),
    Column("bytes", BigInteger, nullable=True),
    Column("table_bytes", BigInteger, nullable=True),
    Column("predicted_seconds", Float, nullable=True),
    Column("retries", Integer, default=0, nullable=False),
    Column("error_class", String(32), default="", nullable=False),
    Column("error", Document, nullable=True),
    Column("units", Document, nullable=True),
    Column("cursor_before", Document, nullable=True),
    Column("columns", Document, nullable=True),
    Column("earlier", Document, nullable=True),
    Index("rivet_run_export", "export", "started_at"),
    Index("rivet_run_plan", "plan_id"),
)
"""One run of one export. `status` is running, succeeded, failed or killed; `earlier` is how it ended before it was resumed."""

UNITS = Table(
    "rivet_unit",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("unit", Integer, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("marks", Document, nullable=True),
    Column("counts", Document, nullable=True),
    Column("schema", Document, nullable=True),
    Column("done_at", Moment, nullable=False),
)
"""A unit whose parts are published (I5: there is no way back)."""

PARTS = Table(
    "rivet_part",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("unit", Integer, primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("partition", String(512), primary_key=True, default=""),
    Column("key", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("checksum", String(80), nullable=False),
    Column("columns", Document, nullable=True),
)
"""One published file of a unit; kept while its run can be resumed, the manifest has it afterwards."""

PROGRESS = Table(
    "rivet_progress",
    METADATA,
    Column("export", Name, primary_key=True),
    Column("observed", Document, nullable=True),
    Column("committed", Document, nullable=True),
    Column("verified", Document, nullable=True),
    Column("observed_at", Moment, nullable=True),
    Column("committed_at", Moment, nullable=True),
    Column("verified_at", Moment, nullable=True),
)
"""Observed, committed and verified boundary of an export."""

METRICS = Table(
    "rivet_metric",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("export", Name, index=True, nullable=False),
    Column("at", Moment, nullable=False),
    Column("status", String(16), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("predicted_p10", Float, nullable=True),
    Column("predicted_p50", Float, nullable=True),
    Column("predicted_p90", Float, nullable=True),
    Column("basis", String(16), nullable=False),
)
"""One graded run."""

EVENTS = Table(
    "rivet_event",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, index=True, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("plan_id", String(64), nullable=False),
    Column("export", Name, nullable=False),
    Column("data", Document, nullable=True),
    Index("rivet_event_export", "export", "kind"),
)
"""One entry of the journal."""

SNAPSHOTS = Table(
    "rivet_snapshot",
    METADATA,
    Column("source", Name, primary_key=True),
    Column("observed_at", Moment, primary_key=True),
    Column("data", Document, nullable=True),
)
"""The catalog of a source at one moment; the two newest are kept, for rates."""

LEASES = Table(
    "rivet_lease",
    METADATA,
    Column("name", Name, primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("host", String(256), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", String(64), nullable=False),
    Column("acquired_at", Moment, nullable=False),
    Column("heartbeat_at", Moment, nullable=False),
)
"""Who works on an export, or holds a connection or heavy slot of a group, and when that was last seen alive."""
