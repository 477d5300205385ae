"""Schema 1: what Rivet made before there were migrations. A state that has it is only stamped."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Float, Integer, String, Text

revision = "0001"
down_revision = None

NAME = String(512)
ID = String(64)
MOMENT = String(32)


def upgrade() -> None:
    """Create the tables, and their first version."""
    versions = op.create_table(
        "rivet_schema", Column("id", Integer, primary_key=True), Column("version", Integer, nullable=False)
    )
    op.bulk_insert(versions, [{"id": 1, "version": 1}])
    op.create_table(
        "rivet_cursor",
        Column("export", NAME, primary_key=True),
        Column("marks", Text),
        Column("run_id", ID, nullable=False),
        Column("updated_at", MOMENT, nullable=False),
    )
    op.create_table(
        "rivet_run",
        Column("run_id", ID, primary_key=True),
        Column("export", NAME, nullable=False),
        Column("plan_id", ID, nullable=False),
        Column("fingerprint", ID, nullable=False),
        Column("source_fingerprint", ID, nullable=False),
        Column("mode", String(32), nullable=False),
        Column("status", String(16), nullable=False),
        Column("started_at", MOMENT, nullable=False),
        Column("finished_at", MOMENT),
        Column("seconds", Float),
        Column("rows", BigInteger),
        Column("bytes", BigInteger),
        Column("table_bytes", BigInteger),
        Column("predicted_seconds", Float),
        Column("retries", Integer, nullable=False),
        Column("error_class", String(32), nullable=False),
        Column("error", Text),
        Column("units", Text),
        Column("cursor_before", Text),
        Column("columns", Text),
    )
    op.create_index("rivet_run_export", "rivet_run", ["export", "started_at"])
    op.create_index("rivet_run_plan", "rivet_run", ["plan_id"])
    op.create_table(
        "rivet_unit",
        Column("run_id", ID, primary_key=True),
        Column("unit", Integer, primary_key=True),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("marks", Text),
        Column("counts", Text),
        Column("schema", Text),
        Column("done_at", MOMENT, nullable=False),
    )
    op.create_table(
        "rivet_part",
        Column("run_id", ID, primary_key=True),
        Column("unit", Integer, primary_key=True),
        Column("part", Integer, primary_key=True),
        Column("partition", NAME, primary_key=True),
        Column("key", Text, nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("checksum", String(80), nullable=False),
        Column("columns", Text),
    )
    op.create_table(
        "rivet_progress",
        Column("export", NAME, primary_key=True),
        Column("observed", Text),
        Column("committed", Text),
        Column("verified", Text),
        Column("observed_at", MOMENT),
        Column("committed_at", MOMENT),
        Column("verified_at", MOMENT),
    )
    op.create_table(
        "rivet_metric",
        Column("run_id", ID, primary_key=True),
        Column("export", NAME, nullable=False),
        Column("at", MOMENT, nullable=False),
        Column("status", String(16), nullable=False),
        Column("seconds", Float, nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("predicted_p10", Float),
        Column("predicted_p50", Float),
        Column("predicted_p90", Float),
        Column("basis", String(16), nullable=False),
    )
    op.create_index("ix_rivet_metric_export", "rivet_metric", ["export"])
    op.create_table(
        "rivet_event",
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("at", MOMENT, nullable=False),
        Column("kind", ID, nullable=False),
        Column("plan_id", ID, nullable=False),
        Column("export", NAME, nullable=False),
        Column("data", Text),
    )
    op.create_index("ix_rivet_event_at", "rivet_event", ["at"])
    op.create_table(
        "rivet_snapshot",
        Column("source", NAME, primary_key=True),
        Column("observed_at", MOMENT, primary_key=True),
        Column("data", Text),
    )
    op.create_table(
        "rivet_lease",
        Column("name", NAME, primary_key=True),
        Column("owner", ID, nullable=False),
        Column("host", String(256), nullable=False),
        Column("pid", Integer, nullable=False),
        Column("process_started", ID, nullable=False),
        Column("acquired_at", MOMENT, nullable=False),
        Column("heartbeat_at", MOMENT, nullable=False),
    )
