"""T9: a seeded fleet whose runs are predicted night after night from what it did before, and graded against what it does.

Exports have a rate of their own around their group's, sizes that grow, runs that scatter, slow nights, failures half way, and
newcomers without history. Only the predictor knows nothing of that.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from benchmarks.schedule.row import Row
from rivet_core.facts import RunFact
from rivet_core.scheduling.grading import Grade, grade
from rivet_core.scheduling.predict import Prediction, PredictionInput, predict

EXPORTS, GROUPS, NIGHTS = 120, 6, 30
LEARNED = 5
"""Runs after which a prediction should have no bias."""
NEWCOMERS = 0.4
"""Share of the exports that are added on some later night."""
OVERHEAD = 0.4
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Member:
    """One export of the fleet. `rate` bytes/s and `noise` (sigma of log seconds) are its own; `size` bytes grow nightly."""

    name: str
    group: str
    born: int
    size: float
    growth: float
    rate: float
    noise: float
    history: list[RunFact] = field(default_factory=list)

    def seconds(self, rng: random.Random) -> float:
        """Return how long tonight's run takes."""
        slow = rng.uniform(1.5, 3.0) if rng.random() < 0.02 else 1.0
        return (OVERHEAD + self.size / self.rate) * rng.lognormvariate(0.0, self.noise) * slow


def draw_fleet(seed: int) -> list[Member]:
    """Return a fleet of one seed."""
    rng = random.Random(f"fleet:{seed}")
    rates = [rng.uniform(5e6, 80e6) for _ in range(GROUPS)]
    members = []
    for place in range(EXPORTS):
        group = rng.randrange(GROUPS)
        members.append(
            Member(
                name=f"e{place}",
                group=f"g{group}",
                born=rng.randint(3, NIGHTS - LEARNED) if rng.random() < NEWCOMERS else 0,
                size=min(5e10, 2e7 * rng.lognormvariate(0.0, 2.0)),
                growth=rng.lognormvariate(0.005, 0.005),
                rate=rates[group] * rng.lognormvariate(0.0, 0.4),
                noise=rng.uniform(0.03, 0.3),
            )
        )
    return members


def nights(seed: int) -> Iterator[tuple[int, Prediction, float]]:
    """Yield, for each run of a fleet, its earlier successes, what was predicted and what it took."""
    rng = random.Random(f"nights:{seed}")
    members = draw_fleet(seed)
    for night in range(NIGHTS):
        as_of = START + timedelta(days=night)
        awake = [member for member in members if member.born <= night]
        found = predict(
            [
                PredictionInput(
                    name=member.name, group=member.group, engine="e", bytes_now=member.size, history=tuple(member.history)
                )
                for member in awake
            ],
            as_of,
        )
        for member in awake:
            seconds, failed = member.seconds(rng), rng.random() < 0.03
            known = sum(run.status == "succeeded" for run in member.history)
            if not failed:
                yield known, found[member.name], seconds
            member.history.insert(0, _run(member, as_of, seconds * rng.random() if failed else seconds, failed=failed))
            member.size *= member.growth


def measure_prediction(fleets: int) -> list[Row]:
    """T9 over so many fleets: coverage and bias of exports with history, and how far off exports without any are."""
    runs = [run for seed in range(fleets) for run in nights(seed)]
    learned = _graded(runs, lambda known, prediction: known >= LEARNED)
    first = _graded(runs, lambda known, prediction: known == 0 and prediction.basis == "estimated")
    alone = _graded(runs, lambda known, prediction: known == 0 and prediction.basis == "unknown")
    coverage, bias, within = learned.p90_coverage or 0.0, abs(learned.bias or 0.0), first.within_factor_3 or 0.0
    return [
        Row(
            "T9",
            f"p90 covers ({learned.count:,} runs with {LEARNED} before)",
            f"{coverage:.1%}",
            "85-95 %",
            0.85 <= coverage <= 0.95,
        ),
        Row("T9", f"bias after {LEARNED} runs", f"{bias:.1%}", "<= 5 %", bias <= 0.05),
        Row("T9", f"first runs beside measured ones, within x3 ({first.count})", f"{within:.1%}", ">= 90 %", within >= 0.9),
        Row("", f"  first night of all, nothing measured, within x3 ({alone.count})", f"{alone.within_factor_3 or 0.0:.1%}"),
        Row("T9", "Rust tool's rule: 5 s for each unmeasured export, within x3", f"{_flat(runs):.1%}"),
    ]


def _graded(runs: list[tuple[int, Prediction, float]], wanted: object) -> Grade:
    assert callable(wanted)
    return grade((prediction, actual) for known, prediction, actual in runs if wanted(known, prediction))


def _flat(runs: list[tuple[int, Prediction, float]]) -> float:
    actual = [seconds for known, _, seconds in runs if known == 0]
    return sum(5.0 / 3.0 <= seconds <= 15.0 for seconds in actual) / len(actual)


def _run(member: Member, at: datetime, seconds: float, *, failed: bool) -> RunFact:
    return RunFact(
        run_id=f"{member.name}-{at:%j}",
        status="failed" if failed else "succeeded",
        started_at=at,
        finished_at=at + timedelta(seconds=seconds),
        seconds=seconds,
        bytes=None if failed else int(member.size),
        table_bytes=int(member.size),
        error_class="connection" if failed else "",
    )
