"""T10: three reasons say most of it, on a fleet as one meets it, and only exports with equal facts tie before the name.

The random campaigns of the law tests are no fleet: they switch every signal on at once, and no three of ten weighty reasons
can hold four fifths of the points. What is drawn here follows what databases look like: most tables small and read whole,
some incremental by an indexed key or time, a few windows and chunks; runs mostly good; few declared values.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime

from planning_facts import BY_TIME, ID, PRIMARY, UPDATED, ago, bytes_of, facts, judge, rows_of, run, table

from rivet_core.facts import ExportFacts, Mode, ReasonKind, Role, RunFact, Tier, Unit, UnitKind, ValueSpec
from rivet_core.planning.judge import Judgement
from rivet_core.planning.ranking import rank_key
from rivet_core.render.plan_table import top_reasons as shown_reasons

NEUTRAL = ("RV001", "RV002")
FLEET = 400


def member(rng: random.Random, number: int) -> ExportFacts:
    """One export of the fleet."""
    rows = int(10 ** rng.triangular(2, 9, 4.5))
    width = rng.choice((60, 120, 200, 400))
    indexed = rng.random() < 0.8
    here = table(
        name=f"shop.t{number}",
        relation=f"t{number}",
        columns=(ID, replace(UPDATED, null_frac=0.0 if rng.random() < 0.9 else 0.02)),
        indexes=(PRIMARY, BY_TIME) if indexed else (PRIMARY,),
        rows=(rows_of(rows),),
        bytes=(bytes_of(rows * width),),
        avg_width=width,
        dead_rows=rows // rng.choice((2, 20, 50, 100, 1000)),
        inserts=rows // 20,
        updates=rows // rng.choice((5, 50, 1000)),
        deletes=0 if rng.random() < 0.7 else rows // 100,
        counters_since=ago(days=60),
    )
    mode = rng.choices((Mode.FULL, Mode.INCREMENTAL, Mode.TIME_WINDOW, Mode.CHUNKED), (60, 28, 4, 8))[0]
    spec: dict[str, object] = {"name": f"t{number}", "table": here.name, "mode": mode, "value": value(rng)}
    units: tuple[Unit, ...] = ()
    if mode is Mode.INCREMENTAL:
        spec |= {"cursor_column": rng.choice(("id", "updated_at")), "lookback_seconds": 600.0 if rng.random() < 0.5 else None}
    elif mode is Mode.TIME_WINDOW:
        spec |= {"time_column": "updated_at", "days_window": rng.choice((2, 7, 30))}
    elif mode is Mode.CHUNKED:
        spec |= {"chunk_column": "id"}
        units = tuple(Unit(index=n, kind=UnitKind.WHOLE) for n in range(rng.choice((2, 4, 12))))
    runs = history(rng, str(mode), rows * width)
    return facts(
        here,
        spec=spec,
        server={"role": rng.choices((Role.PRIMARY, Role.STANDBY), (1, 2))[0], "hot_standby_feedback": True},
        history=runs,
        last_success=max((one.finished_at for one in runs if one.status == "succeeded" and one.finished_at), default=None),
        units=units,
    )


def value(rng: random.Random) -> ValueSpec:
    tier = rng.choices((None, Tier.LOW, Tier.HIGH), (85, 5, 10))[0]
    freshness = rng.choices((None, 3600.0, 86_400.0), (70, 10, 20))[0]
    return ValueSpec(tier=tier, freshness_seconds=freshness, consumers=("finance",) if rng.random() < 0.1 else ())


def history(rng: random.Random, mode: str, size: int) -> tuple[RunFact, ...]:
    count = rng.choice((0, 5, 10, 10))
    usual = 2 + size / (30 << 20)
    return tuple(
        run(
            days=day,
            seconds=usual * rng.uniform(0.8, 1.3),
            status="failed" if rng.random() < 0.03 else "succeeded",
            mode=mode,
            table_bytes=size,
        )
        for day in range(1, count + 1)
    )


def told(judgement: Judgement) -> float:
    """The share of the points, neutral ones aside, that the three reasons of the table carry."""
    weights = [
        abs(reason.points)
        for reason in judgement.reasons
        if reason.points and reason.code not in NEUTRAL and reason.kind is not ReasonKind.CLAMP
    ]
    top = [abs(reason.points) for reason in shown_reasons(judgement.reasons)]  # type: ignore[arg-type]
    return sum(top) / sum(weights) if weights else 1.0


def test_t10_three_reasons_carry_four_fifths_for_nearly_every_export() -> None:
    rng = random.Random(10)
    shares = [told(judge(member(rng, number))) for number in range(FLEET)]
    assert sum(share >= 0.8 for share in shares) >= 0.95 * FLEET


@dataclass(frozen=True)
class Placed:
    """What the rank key looks at."""

    name: str
    tier_rank: int
    priority: int
    last_success: datetime | None
    cost: int
    work_bytes: int


def placed(export: ExportFacts) -> Placed:
    judgement = judge(export)
    tier = export.spec.value.tier or Tier.NORMAL
    return Placed(
        name=export.spec.name,
        tier_rank=tier.rank,
        priority=judgement.priority,
        last_success=export.last_success,
        cost=judgement.scores.cost,
        work_bytes=judgement.work_bytes,
    )


def test_t10_only_exports_with_equal_facts_tie_before_the_name() -> None:
    rng = random.Random(11)
    fleet = [member(rng, number) for number in range(FLEET)]
    twins = [replace(export, spec=replace(export.spec, name=f"{export.spec.name}_twin")) for export in fleet[:20]]
    tied: dict[tuple[object, ...], list[str]] = {}
    for export in (*fleet, *twins):
        tied.setdefault(rank_key(placed(export))[:-1], []).append(export.spec.name)
    groups = sorted(names for names in tied.values() if len(names) > 1)
    assert groups == sorted([twin.spec.name.removesuffix("_twin"), twin.spec.name] for twin in twins)
