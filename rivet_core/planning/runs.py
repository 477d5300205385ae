"""The run history of one export, summed up once for all rules that look at it.

Only succeeded runs enter averages; failed ones are floors and counts; killed and running ones enter nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from rivet_core.facts import ExportFacts, RunFact

ENOUGH_RUNS = 3
"""Successful runs needed before history is the measure of work."""
LAST_RUNS = 10
"""How many of the newest successful runs enter the percentiles."""
RATE_RUNS = 20
"""How many of the newest finished runs enter rates of retry and failure."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the history says, newest first. Only runs of this mode and fingerprint are in it."""

    timed: tuple[RunFact, ...] = ()
    """The newest succeeded runs with a usable duration, at most ten."""
    finished: tuple[RunFact, ...] = ()
    """The newest succeeded and failed runs, at most twenty."""
    last_failure: RunFact | None = None
    successes_since: int = 0
    succeeded: bool = False
    longest_try_ms: int = 0
    """The longest failed attempt, in milliseconds: a floor of the true duration."""
    newest: datetime | None = None
    """When the newest of `timed` ended."""
    latest: datetime | None = None
    """When the newest run of `finished` began."""

    @property
    def enough(self) -> bool:
        """Whether there are enough runs to measure work by."""
        return len(self.timed) >= ENOUGH_RUNS


NO_RUNS = RunSummary()


def summarize(facts: ExportFacts) -> RunSummary:
    """Sum up the history of `facts`, whatever order it comes in."""
    if not facts.history:
        return NO_RUNS
    mode = str(facts.spec.mode)
    runs = sorted(
        (run for run in facts.history if run.fingerprint == facts.fingerprint and run.mode == mode and run.status in _ENDED),
        key=lambda run: (run.started_at, run.run_id),
        reverse=True,
    )
    succeeded = [run for run in runs if run.status == "succeeded"]
    timed = tuple(run for run in succeeded if duration_ms(run) > 0)[:LAST_RUNS]
    last_failure = next((run for run in runs if run.status == "failed"), None)
    since = 0 if last_failure is None else runs.index(last_failure)
    return RunSummary(
        timed=timed,
        finished=tuple(runs[:RATE_RUNS]),
        last_failure=last_failure,
        successes_since=since,
        succeeded=bool(succeeded),
        longest_try_ms=max((duration_ms(run) for run in runs if run.status == "failed"), default=0),
        newest=ended_at(timed[0]) if timed else None,
        latest=runs[0].started_at if runs else None,
    )


_ENDED = frozenset(("succeeded", "failed"))


def duration_ms(run: RunFact) -> int:
    """Return the run's wall time in milliseconds, 0 when unknown or impossible."""
    if run.seconds is None or not isfinite(run.seconds) or run.seconds <= 0:
        return 0
    return max(1, round(run.seconds * 1000))


def ended_at(run: RunFact) -> datetime:
    """Return when the run ended, as well as it is known."""
    return run.finished_at or run.started_at


def last_start(history: Sequence[RunFact], last_success: datetime | None) -> datetime | None:
    """Return when the last successful run began to read, as well as it is known; `None` when there was none."""
    began = [run.started_at for run in history if run.status == "succeeded" and ended_at(run) == last_success]
    return min(began, default=last_success)


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the nearest-rank percentile of sorted `values`, which must not be empty."""
    place = -(-len(values) * percent // 100) - 1
    return values[min(len(values) - 1, max(0, place))]
