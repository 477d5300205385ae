"""Facts to try rules and classifiers on: from nothing known to everything known, with the odd values real catalogs have."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rivet_core.facts import (
    Basis,
    ColumnFacts,
    CursorQuality,
    CursorVerdict,
    Evidence,
    ExportFacts,
    ExportSpec,
    IndexFacts,
    Mode,
    Role,
    RunFact,
    ServerFacts,
    TableFacts,
    Tier,
    TypeKind,
    ValueSpec,
)

AS_OF = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

COLUMNS = (
    ColumnFacts(name="id", source_type="bigint", kind=TypeKind.INTEGER, nullable=False, generated="identity"),
    ColumnFacts(name="updated_at", source_type="timestamp(6)", kind=TypeKind.TIMESTAMP, null_frac=0.0, precision=6),
    ColumnFacts(name="note", source_type="text", kind=TypeKind.TEXT, null_frac=0.4, avg_width=200),
    ColumnFacts(name="doc", source_type="jsonb", kind=TypeKind.JSON),
)
INDEXES = (
    IndexFacts(name="orders_pkey", columns=("id",), unique=True, primary=True),
    IndexFacts(name="orders_updated", columns=("updated_at",)),
)


def counted(rows: int, size: int) -> TableFacts:
    """Return a table of `rows` rows and `size` bytes, well described."""
    taken = AS_OF - timedelta(hours=2)

    def signal(name: str, value: int, unit: str) -> Evidence:
        return Evidence(
            signal=name, value=value, unit=unit, source="catalog", observed_at=taken, quality=80, basis=Basis.STATISTICS
        )

    return TableFacts(
        name="public.orders",
        schema="public",
        relation="orders",
        columns=COLUMNS,
        indexes=INDEXES,
        rows=(signal("row_estimate", rows, "rows"),),
        bytes=(signal("table_bytes", size, "bytes"),),
        statistics_at=taken,
    )


def export_facts() -> tuple[ExportFacts, ...]:
    """Return snapshots that differ in one thing each."""
    server = ServerFacts(engine="sample", version="1", address="db:5432", observed_at=AS_OF, max_connections=100)
    spec = ExportSpec(name="orders", source="shop", table="public.orders")
    plain = ExportFacts(spec=spec, group="db:5432", table=counted(1_000_000, 1 << 30), server=server, as_of=AS_OF)
    incremental = replace(spec, mode=Mode.INCREMENTAL, cursor_column="updated_at")
    verdict = CursorVerdict(quality=CursorQuality.WEAK_TIME, columns=("updated_at",), why="a time", evidence_quality=60)
    started = AS_OF - timedelta(days=1)
    ended = started + timedelta(seconds=90)
    run = RunFact(run_id="r1", status="succeeded", started_at=started, finished_at=ended, seconds=90.0, rows=10, mode="full")
    promised = ValueSpec(tier=Tier.HIGH, freshness_seconds=3600.0, deadline="13:00", consumers=("finance", "churn"))
    busy = replace(plain.table, updates=500_000, deletes=200_000, counters_since=started, changes_since_statistics=700_000)
    failed = tuple(replace(run, run_id=f"f{number}", status="failed", error_class="timeout") for number in range(5))
    slow = tuple(replace(run, run_id=f"s{number}", seconds=90.0 * 10**number, predicted_seconds=90.0) for number in range(4))
    return (
        plain,
        replace(plain, table=TableFacts(name="nothing_known"), server=ServerFacts(engine="sample")),
        replace(plain, table=replace(plain.table, indexes=())),
        replace(plain, table=counted(0, 0)),
        replace(plain, table=counted(1, 8192)),
        replace(plain, table=counted(10**12, 1 << 50)),
        replace(plain, spec=incremental, cursor=verdict, candidates=(verdict,)),
        replace(plain, spec=incremental, cursor=verdict, table=replace(plain.table, statistics_at=None)),
        replace(plain, spec=replace(spec, mode=Mode.CHUNKED, chunk_column="id"), max_connections=1),
        replace(plain, spec=replace(spec, parallel_safe=False, heavy=True, wave=2)),
        replace(plain, history=(run, replace(run, run_id="r0", status="failed", error_class="timeout")), last_success=started),
        replace(plain, server=replace(server, used_connections=100, replica_lag_seconds=1e6, lock_waits=50)),
        replace(plain, server=replace(server, role=Role.STANDBY, conflicts=9, conflict_delay_seconds=30.0, active_sessions=90)),
        replace(plain, table=replace(plain.table, avg_width=20_000, out_of_line_bytes=1 << 30, dead_rows=10**7)),
        replace(plain, spec=incremental, cursor=verdict, previous=plain.table, previous_at=started, table=busy),
        replace(plain, spec=replace(spec, value=promised), last_success=AS_OF - timedelta(days=9), history=(run,) * 5),
        replace(plain, spec=incremental, cursor=verdict, table=replace(plain.table, indexes=())),
        replace(plain, spec=replace(spec, reconcile_required=True), previous_columns=(("id", "integer"), ("gone", "text"))),
        replace(plain, history=(*failed, run)),
        replace(plain, history=slow, last_success=started),
        replace(plain, spec=replace(spec, depends_on=("customers",), parallel=8, snapshot="consistent")),
    )
