"""Make facts for tests: one plain table to change by hand, and random ones from a seed."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rivet_core.api import CursorClassifier, ScoringRule
from rivet_core.builtin.classifiers import builtin_classifiers
from rivet_core.builtin.rules import builtin_rules
from rivet_core.facts import (
    Basis,
    ColumnFacts,
    DeltaFacts,
    Dimension,
    Evidence,
    ExportFacts,
    ExportSpec,
    IndexFacts,
    Mark,
    Mode,
    Reason,
    ReasonKind,
    RelationKind,
    Role,
    RunFact,
    ServerFacts,
    TableFacts,
    Tier,
    TypeKind,
    Unit,
    UnitKind,
    ValueSpec,
)
from rivet_core.planning.judge import (
    Judgement,
    JudgeSettings,
    best_candidate,
    classify_cursor,
    cursor_candidates,
    judge_export,
)
from rivet_core.planning.ranges import cursor_ref

NOW = datetime(2027, 1, 10, 12, tzinfo=UTC)
GIB = 1 << 30


@dataclass(frozen=True)
class Named:
    name: str


@dataclass(frozen=True)
class Owned:
    """A record with its plugin, as the registry hands it out."""

    record: Any
    plugin: Named


def resolve(ref: Any) -> Any:
    if not isinstance(ref, str):
        return ref
    module, _, name = ref.partition(":")
    return getattr(importlib.import_module(module), name)


CORE_RULES = tuple(Owned(rule, Named("core")) for rule in builtin_rules())
CORE_CLASSIFIERS = tuple(Owned(record, Named("core")) for record in builtin_classifiers())


def settings(**changes: Any) -> JudgeSettings:
    return JudgeSettings(resolve=resolve, **changes)


SETTINGS = settings()


def rule(plugin: str, score: Callable[[ExportFacts, Any], Any], *codes: str, name: str = "rule", options: Any = None) -> Owned:
    vendor = plugin.replace("_", "-")
    return Owned(
        ScoringRule(name=name, summary="", codes=codes or (f"X-{vendor}-001",), score=score, options=options), Named(plugin)
    )


def classifier(plugin: str, classify: Callable[..., Any]) -> Owned:
    return Owned(CursorClassifier(name="c", summary="", classify=classify), Named(plugin))


def plugin_reason(plugin: str, points: int, dimension: Dimension = Dimension.COST, **changes: Any) -> Reason:
    fields: dict[str, Any] = {
        "code": f"X-{plugin}-001",
        "kind": ReasonKind.MODIFIER,
        "message": "said",
        "dimension": dimension,
        "points": points,
    }
    return Reason(**(fields | changes))


def judge(facts: ExportFacts, *more: Owned, using: JudgeSettings = SETTINGS) -> Judgement:
    """Judge with core's rules and `more`, the cursor classified as planning does."""
    return judge_export(with_cursor(facts), (*CORE_RULES, *more) if more else CORE_RULES, using)


def with_cursor(facts: ExportFacts, classifiers: Sequence[Owned] = CORE_CLASSIFIERS) -> ExportFacts:
    candidates = cursor_candidates(facts.table, classifiers, resolve)
    ref = cursor_ref(facts.spec)
    cursor = best_candidate(candidates) if ref is None else classify_cursor(facts.table, ref, classifiers, resolve)
    return replace(facts, cursor=cursor, candidates=candidates)


def codes(judgement: Judgement) -> set[str]:
    return {reason.code for reason in judgement.reasons}


def points(judgement: Judgement) -> dict[str, int]:
    """Points by code; a code of two dimensions is added up."""
    found: dict[str, int] = {}
    for reason in judgement.reasons:
        found[reason.code] = found.get(reason.code, 0) + reason.points
    return found


def reason_of(judgement: Judgement, code: str) -> Reason:
    return next(reason for reason in judgement.reasons if reason.code == code)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def bytes_of(value: int, *, quality: int = 80, source: str = "pg_class.relpages", **changes: Any) -> Evidence:
    fields: dict[str, Any] = {
        "signal": "table_bytes",
        "value": value,
        "unit": "B",
        "source": source,
        "observed_at": ago(days=1),
        "quality": quality,
        "basis": Basis.STATISTICS,
        "changes": 0,
    }
    return Evidence(**(fields | changes))


def rows_of(value: int, *, quality: int = 80, source: str = "pg_class.reltuples", **changes: Any) -> Evidence:
    return bytes_of(value, quality=quality, source=source, **({"signal": "table_rows", "unit": "rows"} | changes))


ID = ColumnFacts(name="id", source_type="bigint", kind=TypeKind.INTEGER, nullable=False, generated="identity")
UPDATED = ColumnFacts(
    name="updated_at", source_type="timestamptz", kind=TypeKind.TIMESTAMPTZ, nullable=False, precision=6, correlation=0.99
)
PRIMARY = IndexFacts(name="orders_pkey", columns=("id",), unique=True, primary=True)
BY_TIME = IndexFacts(name="orders_updated", columns=("updated_at",))


def table(**changes: Any) -> TableFacts:
    fields: dict[str, Any] = {
        "name": "shop.orders",
        "schema": "shop",
        "relation": "orders",
        "columns": (ID, UPDATED),
        "indexes": (PRIMARY, BY_TIME),
        "rows": (rows_of(5_000_000),),
        "bytes": (bytes_of(GIB),),
        "statistics_at": ago(days=1),
        "changes_since_statistics": 0,
    }
    return TableFacts(**(fields | changes))


def facts(
    table_facts: TableFacts | None = None,
    *,
    spec: dict[str, Any] | None = None,
    server: dict[str, Any] | None = None,
    **changes: Any,
) -> ExportFacts:
    """One export of one table on a PostgreSQL whose role nobody knows; every part can be changed."""
    known = {"name": "orders", "source": "shop", "table": "shop.orders"} | (spec or {})
    return ExportFacts(
        spec=ExportSpec(**known),
        group=changes.pop("group", "g"),
        table=table_facts if table_facts is not None else table(),
        server=ServerFacts(**({"engine": "postgres", "observed_at": NOW} | (server or {}))),
        as_of=changes.pop("as_of", NOW),
        fingerprint=changes.pop("fingerprint", "f"),
        **changes,
    )


def run(days: float = 1.0, seconds: float | None = 60.0, status: str = "succeeded", **changes: Any) -> RunFact:
    """A run of the export that `facts` makes, `days` ago."""
    started = ago(days=days)
    fields: dict[str, Any] = {
        "run_id": f"r{days}-{status}",
        "status": status,
        "started_at": started,
        "finished_at": None if status == "running" else started + timedelta(seconds=seconds or 0),
        "seconds": seconds,
        "mode": "full",
        "fingerprint": "f",
    }
    return RunFact(**(fields | changes))


# --- random facts -----------------------------------------------------------------------------------------------------


def maybe(rng: random.Random, value: Any, chance: float = 0.6) -> Any:
    return value if rng.random() < chance else None


def log_uniform(rng: random.Random, top: float = 42.0) -> int:
    return int(2 ** rng.uniform(0, top))


def random_evidence(rng: random.Random, signal: str, unit: str, value: int) -> Evidence:
    basis = rng.choice((Basis.STATISTICS, Basis.STATISTICS, Basis.LIVE, Basis.HISTORY, Basis.CATALOG))
    return Evidence(
        signal=signal,
        value=rng.choice((value, value, value, 0, None)) if rng.random() < 0.1 else value,
        unit=unit,
        source=f"source {rng.randrange(4)}",
        observed_at=maybe(rng, ago(days=rng.expovariate(0.1)), 0.85),
        quality=rng.randrange(0, 101),
        basis=basis,
        changes=maybe(rng, log_uniform(rng, 30), 0.5) if basis is Basis.STATISTICS else None,
    )


def random_columns(rng: random.Random) -> tuple[ColumnFacts, ...]:
    kinds = (
        ("bigint", TypeKind.INTEGER),
        ("timestamptz", TypeKind.TIMESTAMPTZ),
        ("timestamp", TypeKind.TIMESTAMP),
        ("date", TypeKind.DATE),
        ("uuid", TypeKind.UUID),
        ("text", TypeKind.TEXT),
        ("numeric", TypeKind.DECIMAL),
        ("jsonb", TypeKind.JSON),
        ("boolean", TypeKind.BOOLEAN),
    )
    names = ["id", "updated_at", "created_at", "k", "changed_on", "ref"]
    found = []
    for name in rng.sample(names, rng.randrange(1, len(names))):
        source_type, kind = rng.choice(kinds)
        nullable = rng.random() < 0.5
        found.append(
            ColumnFacts(
                name=name,
                source_type=source_type,
                kind=kind,
                nullable=nullable,
                default=rng.choice((None, None, "now()", "uuidv7()", "current_timestamp on update current_timestamp")),
                generated=rng.choice(("", "", "identity", "sequence", "default")),
                precision=rng.choice((None, 0, 6)),
                null_frac=maybe(rng, rng.choice((0.0, 0.01, 0.3, 1.0))) if nullable else None,
                n_distinct=maybe(rng, rng.choice((3.0, 100000.0, -0.5, -1.0, -0.00001))),
                correlation=maybe(rng, rng.uniform(-1, 1)),
            )
        )
    return tuple(found)


def random_table(rng: random.Random, columns: tuple[ColumnFacts, ...]) -> TableFacts:
    names = [column.name for column in columns]
    indexes = [
        IndexFacts(
            name=f"i{place}",
            columns=tuple(rng.sample(names, min(len(names), rng.randrange(1, 3)))),
            unique=rng.random() < 0.5,
            primary=place == 0 and rng.random() < 0.7,
            valid=rng.random() < 0.9,
            partial=rng.random() < 0.1,
            method=rng.choice(("btree", "btree", "btree", "hash")),
        )
        for place in range(rng.randrange(0, 4))
    ]
    rows, size = log_uniform(rng, 36), log_uniform(rng, 43)
    near = [lambda v: v, lambda v: v * 2, lambda v: v * 5, lambda v: v // 3 + 1]
    return TableFacts(
        name="s.t",
        schema="s",
        relation="t",
        kind=rng.choice((RelationKind.TABLE, RelationKind.TABLE, RelationKind.PARTITIONED, RelationKind.VIEW)),
        columns=columns,
        indexes=tuple(indexes),
        rows=tuple(random_evidence(rng, "table_rows", "rows", rng.choice(near)(rows)) for _ in range(rng.choice((0, 1, 1, 2)))),
        bytes=tuple(random_evidence(rng, "table_bytes", "B", rng.choice(near)(size)) for _ in range(rng.choice((0, 1, 1, 2)))),
        out_of_line_bytes=maybe(rng, size * rng.randrange(0, 100) // 100, 0.4),
        avg_width=maybe(rng, log_uniform(rng, 15), 0.5),
        dead_rows=maybe(rng, log_uniform(rng, 36), 0.5),
        changes_since_statistics=maybe(rng, log_uniform(rng, 30), 0.5),
        inserts=maybe(rng, log_uniform(rng, 30)),
        updates=maybe(rng, rng.choice((0, log_uniform(rng, 34)))),
        deletes=maybe(rng, rng.choice((0, 0, log_uniform(rng, 30)))),
        counters_since=maybe(rng, ago(days=rng.uniform(0, 100))),
        statistics_at=maybe(rng, ago(days=rng.expovariate(0.1))),
        partitions=("p1", "p2") if rng.random() < 0.1 else (),
        scan_bytes=maybe(rng, random_evidence(rng, "scan_bytes", "B", log_uniform(rng, 43)), 0.2),
        grants=("GRANT SELECT ON s.t TO reader",) if rng.random() < 0.1 else (),
    )


def random_units(rng: random.Random, spec: ExportSpec) -> tuple[Unit, ...]:
    kind = {
        Mode.FULL: UnitKind.WHOLE,
        Mode.INCREMENTAL: UnitKind.CURSOR,
        Mode.TIME_WINDOW: UnitKind.WINDOW,
        Mode.CHUNKED: rng.choice((UnitKind.RANGE, UnitKind.RANGE, UnitKind.CTID)),
    }[spec.mode]
    count = rng.choice((0, 1, 2, 9, 12, 20)) if spec.mode is Mode.CHUNKED else 1
    step = log_uniform(rng, 30)

    def at(value: int) -> tuple[Mark, ...]:
        return (Mark(column=spec.chunk_column or "id", type="bigint", value=str(value)),)

    return tuple(
        Unit(
            index=place,
            kind=kind,
            lower=at(place * step) if kind is UnitKind.RANGE and place else (),
            upper=at((place + 1) * step) if kind is UnitKind.RANGE and place + 1 < count else (),
            rows=maybe(rng, log_uniform(rng, 25), 0.8),
        )
        for place in range(count)
    )


def random_spec(rng: random.Random, name: str, columns: tuple[ColumnFacts, ...]) -> ExportSpec:
    mode = rng.choice(list(Mode))
    one = rng.choice(columns).name
    other = rng.choice(columns).name
    return ExportSpec(
        name=name,
        source="s",
        table="s.t",
        mode=mode,
        cursor_column=one if mode is Mode.INCREMENTAL else None,
        cursor_fallback_column=other if mode is Mode.INCREMENTAL and rng.random() < 0.2 else None,
        incremental_cursor_mode=rng.choice((None, "single_column", "pair", "coalesce")) if mode is Mode.INCREMENTAL else None,
        lookback_seconds=maybe(rng, 600.0, 0.3),
        chunk_column=maybe(rng, one) if mode is Mode.CHUNKED else None,
        time_column=one if mode is Mode.TIME_WINDOW else None,
        days_window=rng.choice((1, 3, 7, 30)) if mode is Mode.TIME_WINDOW else None,
        snapshot=rng.choice(("per_unit", "consistent")),
        parallel=rng.choice((1, 1, 2, 8)),
        reconcile_required=rng.random() < 0.2,
        parallel_safe=rng.choice((None, None, True, False)),
        heavy=rng.choice((None, None, None, True, False)),
        value=ValueSpec(
            tier=rng.choice((None, None, *Tier)),
            freshness_seconds=maybe(rng, float(log_uniform(rng, 20)) + 1, 0.4),
            deadline=maybe(rng, rng.choice(("06:00+02:00", "23:59", "00:00-11:00")), 0.3),
            consumers=("a", "b", "c", "d", "e")[: rng.randrange(0, 6)],
        ),
    )


def random_runs(rng: random.Random, spec: ExportSpec) -> tuple[RunFact, ...]:
    typical = 2 ** rng.uniform(-2, 17)
    found = []
    for place in range(rng.choice((0, 0, 1, 3, 6, 12))):
        status = rng.choice(("succeeded", "succeeded", "succeeded", "failed", "killed", "running"))
        found.append(
            run(
                days=place * rng.choice((0.2, 1.0, 40.0)) + rng.random(),
                seconds=maybe(rng, typical * rng.choice((0.3, 1.0, 1.0, 5.0)), 0.95),
                status=status,
                run_id=f"r{place}",
                mode=str(spec.mode) if rng.random() < 0.9 else "full",
                fingerprint="f" if rng.random() < 0.9 else "old",
                rows=maybe(rng, log_uniform(rng, 36)),
                table_bytes=maybe(rng, log_uniform(rng, 43)),
                retries=rng.choice((0, 0, 0, 1, 3)),
                error_class=rng.choice(("", "timeout", "connection")) if status == "failed" else "",
            )
        )
    return tuple(found)


def random_server(rng: random.Random) -> ServerFacts:
    return ServerFacts(
        engine=rng.choice(("postgres", "mysql", "mariadb", "sqlite")),
        role=rng.choice(list(Role)),
        observed_at=NOW,
        max_connections=maybe(rng, 100),
        used_connections=maybe(rng, rng.randrange(0, 101)),
        active_sessions=maybe(rng, rng.randrange(0, 50)),
        oldest_transaction_seconds=maybe(rng, float(log_uniform(rng, 16)), 0.4),
        replica_lag_seconds=maybe(rng, float(log_uniform(rng, 16)), 0.4),
        conflict_delay_seconds=maybe(rng, rng.choice((-1.0, 30.0, 300.0))),
        hot_standby_feedback=rng.choice((None, True, False)),
        purge_backlog=maybe(rng, log_uniform(rng, 25), 0.3),
    )


def random_facts(rng: random.Random, name: str = "e") -> ExportFacts:
    """Any facts that a source, a config and a state store could bring together, many of them unknown."""
    columns = random_columns(rng)
    spec = random_spec(rng, name, columns)
    here = random_table(rng, columns)
    delta = None
    if rng.random() < 0.5:
        delta = DeltaFacts(
            rows=maybe(rng, random_evidence(rng, "delta_rows", "rows", log_uniform(rng, 32))),
            bytes=maybe(rng, random_evidence(rng, "delta_bytes", "B", log_uniform(rng, 40))),
        )
    known = rng.random() < 0.3
    return with_cursor(
        ExportFacts(
            spec=spec,
            group=rng.choice(("g", "h")),
            table=here,
            server=random_server(rng),
            as_of=NOW,
            history=random_runs(rng, spec),
            last_success=maybe(rng, ago(days=rng.expovariate(0.2))),
            fingerprint="f",
            delta=delta,
            units=random_units(rng, spec),
            previous=replace(here, updates=rng.choice((here.updates, 0))) if known else None,
            previous_at=ago(days=rng.uniform(0, 20)) if known else None,
            previous_columns=(("id", "bigint"),) if rng.random() < 0.2 else None,
        )
    )
