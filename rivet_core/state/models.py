"""The tables of the state database. Times are UTC text of fixed width, so they sort; JSON is text that any database holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Dialect, Float, Index, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

SCHEMA_VERSION = 2
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


class Base(DeclarativeBase):
    """Base of the tables; all names start with `rivet_`, so the state may share a database with others."""


class SchemaRow(Base):
    """One row: the version of this schema."""

    __tablename__ = "rivet_schema"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    version: Mapped[int] = mapped_column(Integer)


class RevisionRow(Base):
    """Alembic's own table: the newest migration that ran."""

    __tablename__ = "rivet_alembic"
    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)


class CursorRow(Base):
    """Where an export's next incremental run begins."""

    __tablename__ = "rivet_cursor"
    export: Mapped[str] = mapped_column(Name, primary_key=True)
    marks: Mapped[Any] = mapped_column(Document, nullable=True)
    run_id: Mapped[str] = mapped_column(String(64))
    updated_at: Mapped[datetime] = mapped_column(Moment)


class RunRow(Base):
    """One run of one export. `status` is running, succeeded, failed or killed."""

    __tablename__ = "rivet_run"
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    export: Mapped[str] = mapped_column(Name)
    plan_id: Mapped[str] = mapped_column(String(64))
    fingerprint: Mapped[str] = mapped_column(String(64))
    source_fingerprint: Mapped[str] = mapped_column(String(64))
    mode: Mapped[str] = mapped_column(String(32))
    status: Mapped[str] = mapped_column(String(16))
    started_at: Mapped[datetime] = mapped_column(Moment)
    finished_at: Mapped[datetime | None] = mapped_column(Moment)
    seconds: Mapped[float | None] = mapped_column(Float)
    rows: Mapped[int | None] = mapped_column(BigInteger)
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    table_bytes: Mapped[int | None] = mapped_column(BigInteger)
    predicted_seconds: Mapped[float | None] = mapped_column(Float)
    retries: Mapped[int] = mapped_column(Integer, default=0)
    error_class: Mapped[str] = mapped_column(String(32), default="")
    error: Mapped[Any] = mapped_column(Document, nullable=True)
    units: Mapped[Any] = mapped_column(Document, nullable=True)
    cursor_before: Mapped[Any] = mapped_column(Document, nullable=True)
    columns: Mapped[Any] = mapped_column(Document, nullable=True)
    __table_args__ = (Index("rivet_run_export", "export", "started_at"), Index("rivet_run_plan", "plan_id"))


class UnitRow(Base):
    """A unit whose parts are published (I5: there is no way back)."""

    __tablename__ = "rivet_unit"
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    unit: Mapped[int] = mapped_column(Integer, primary_key=True)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    marks: Mapped[Any] = mapped_column(Document, nullable=True)
    counts: Mapped[Any] = mapped_column(Document, nullable=True)
    schema: Mapped[Any] = mapped_column(Document, nullable=True)
    done_at: Mapped[datetime] = mapped_column(Moment)


class PartRow(Base):
    """One published file of a unit; kept while its run can be resumed, the manifest has it afterwards."""

    __tablename__ = "rivet_part"
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    unit: Mapped[int] = mapped_column(Integer, primary_key=True)
    part: Mapped[int] = mapped_column(Integer, primary_key=True)
    partition: Mapped[str] = mapped_column(String(512), primary_key=True, default="")
    key: Mapped[str] = mapped_column(Text)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    checksum: Mapped[str] = mapped_column(String(80))
    columns: Mapped[Any] = mapped_column(Document, nullable=True)


class ProgressRow(Base):
    """Observed, committed and verified boundary of an export."""

    __tablename__ = "rivet_progress"
    export: Mapped[str] = mapped_column(Name, primary_key=True)
    observed: Mapped[Any] = mapped_column(Document, nullable=True)
    committed: Mapped[Any] = mapped_column(Document, nullable=True)
    verified: Mapped[Any] = mapped_column(Document, nullable=True)
    observed_at: Mapped[datetime | None] = mapped_column(Moment)
    committed_at: Mapped[datetime | None] = mapped_column(Moment)
    verified_at: Mapped[datetime | None] = mapped_column(Moment)


class MetricRow(Base):
    """One graded run."""

    __tablename__ = "rivet_metric"
    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    export: Mapped[str] = mapped_column(Name, index=True)
    at: Mapped[datetime] = mapped_column(Moment)
    status: Mapped[str] = mapped_column(String(16))
    seconds: Mapped[float] = mapped_column(Float)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    predicted_p10: Mapped[float | None] = mapped_column(Float)
    predicted_p50: Mapped[float | None] = mapped_column(Float)
    predicted_p90: Mapped[float | None] = mapped_column(Float)
    basis: Mapped[str] = mapped_column(String(16))


class EventRow(Base):
    """One entry of the journal."""

    __tablename__ = "rivet_event"
    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(Moment, index=True)
    kind: Mapped[str] = mapped_column(String(64))
    plan_id: Mapped[str] = mapped_column(String(64))
    export: Mapped[str] = mapped_column(Name)
    data: Mapped[Any] = mapped_column(Document, nullable=True)
    __table_args__ = (Index("rivet_event_export", "export", "kind"),)


class SnapshotRow(Base):
    """The catalog of a source at one moment; the two newest are kept, for rates."""

    __tablename__ = "rivet_snapshot"
    source: Mapped[str] = mapped_column(Name, primary_key=True)
    observed_at: Mapped[datetime] = mapped_column(Moment, primary_key=True)
    data: Mapped[Any] = mapped_column(Document, nullable=True)


class LeaseRow(Base):
    """Who works on an export, or holds a connection or heavy slot of a group, and when that was last seen alive."""

    __tablename__ = "rivet_lease"
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    owner: Mapped[str] = mapped_column(String(64))
    host: Mapped[str] = mapped_column(String(256))
    pid: Mapped[int] = mapped_column(Integer)
    process_started: Mapped[str] = mapped_column(String(64))
    acquired_at: Mapped[datetime] = mapped_column(Moment)
    heartbeat_at: Mapped[datetime] = mapped_column(Moment)
