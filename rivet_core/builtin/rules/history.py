"""What past runs say about the next one (RV601-RV605, RV607).

Only runs of the same mode and fingerprint count. Succeeded runs enter averages, failed ones are floors and counts; killed and
running ones enter nothing. An old failure fades: it halves with every success since and with 30 days of age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rivet_core.builtin.rules.signals import history
from rivet_core.facts import ExportFacts, Reason
from rivet_core.planning.confidence import seconds_between
from rivet_core.planning.curve import GIB, REFERENCE_RATE, curve
from rivet_core.planning.runs import RunSummary, duration_ms, ended_at, percentile
from rivet_core.planning.sizes import reads_delta
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import size_text, span_text
from rivet_core.planning.work import Work, select_work, size_signals

FADE_DAYS = 30
OVERHEAD_MS = 5000
"""Fixed time of a run that its size does not explain."""


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons from the run history."""
    if not facts.history:
        return ()
    work = select_work(facts)
    runs = work.runs
    found = (
        _retries(facts, runs),
        _varies(facts, runs),
        _failed(facts, runs),
        _unfinished(facts, work),
        _slow(facts, work),
        _rate(facts, runs),
    )
    return [one for one in found if one is not None]


def _main_class(runs: RunSummary) -> str:
    classes = Counter(run.error_class or "other" for run in runs.finished if run.status == "failed")
    return min(classes, key=lambda name: (-classes[name], name)) if classes else ""


def _retries(facts: ExportFacts, runs: RunSummary) -> Reason | None:
    count, retries = len(runs.finished), sum(max(0, run.retries) for run in runs.finished)
    if count < 3 or retries * 10 <= 3 * count:
        return None
    main = _main_class(runs)
    return reason(
        "RV601",
        f"{retries} retries in the last {count} runs{f', mostly {main}' if main else ''}.",
        evidence=[history(facts, "retries", retries), history(facts, "runs", count)],
        remedy="see the error class in rivet metrics",
    )


def _varies(facts: ExportFacts, runs: RunSummary) -> Reason | None:
    times = sorted(duration_ms(run) for run in runs.timed)
    if len(times) < 3:
        return None
    low, high = percentile(times, 10), percentile(times, 90)
    if high <= 3 * low or high - low < OVERHEAD_MS:
        return None
    return reason(
        "RV602",
        f"Run times vary from {span_text(low / 1000)} to {span_text(high / 1000)}.",
        evidence=[history(facts, "run_seconds_p10", low / 1000, "s"), history(facts, "run_seconds_p90", high / 1000, "s")],
        remedy="look for competing load at that time",
    )


def _failed(facts: ExportFacts, runs: RunSummary) -> Reason | None:
    last = runs.last_failure
    if last is None:
        return None
    seconds = seconds_between(ended_at(last), facts.as_of)
    # floor(15 x 2^-successes x 30 / (30 + days)) in whole numbers, the age in seconds
    scale = FADE_DAYS * 86400
    points = TAXONOMY["RV603"].points * scale // ((1 << min(30, runs.successes_since)) * (scale + seconds))
    if points == 0:
        return None
    since = f", {runs.successes_since} successes since" if runs.successes_since else ""
    return reason(
        "RV603",
        f"Failed {span_text(seconds)} ago ({last.error_class or 'other'}){since}.",
        points=points,
        evidence=[
            history(facts, "last_failure", ended_at(last).isoformat()),
            history(facts, "successes_since", runs.successes_since),
        ],
        remedy="fix this first; see rivet journal",
        potential=points,
    )


def _unfinished(facts: ExportFacts, work: Work) -> Reason | None:
    longest = work.runs.longest_try_ms
    if work.runs.succeeded or not longest:
        return None
    points = max(0, curve(longest * REFERENCE_RATE // 1000) - work.points)
    return reason(
        "RV604",
        f"Never finished; the longest try ran {span_text(longest / 1000)}.",
        points=points,
        evidence=[history(facts, "longest_try", longest / 1000, "s"), *work.evidence[:1]],
        remedy="split it into units (mode: chunked), or resume the last run",
    )


def _slow(facts: ExportFacts, work: Work) -> Reason | None:
    size = work.delta_bytes if reads_delta(facts) else work.size
    if work.run_ms is None or size is None:
        return None
    took, explained = work.run_ms[1], OVERHEAD_MS + size * 1000 // REFERENCE_RATE
    if took <= 2 * explained:
        return None
    per_gib = (
        f"{span_text(took / 1000 * GIB / size)} per GiB"
        if size >= GIB // 64
        else f"{span_text(took / 1000)} for {size_text(size)}"
    )
    return reason(
        "RV605",
        f"Slower than its size explains: {per_gib}, against {span_text(GIB / REFERENCE_RATE)} per GiB.",
        evidence=size_signals(facts, work),
        remedy="check the index, the network and locks",
    )


def _rate(facts: ExportFacts, runs: RunSummary) -> Reason | None:
    count = len(runs.finished)
    failed = sum(run.status == "failed" for run in runs.finished)
    if count < 5 or (count - failed) * 10 >= 8 * count:
        return None
    return reason(
        "RV607",
        f"{failed} of the last {count} runs failed, mostly {_main_class(runs)}.",
        evidence=[history(facts, "failed_runs", failed), history(facts, "runs", count)],
        remedy="see the error class in rivet metrics",
    )
