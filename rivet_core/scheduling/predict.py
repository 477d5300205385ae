"""How long each export will take, from what it, its group, or its engine did before - with a range, and how it is known.

`q = overhead + bytes now / rate`. The rate is the export's own; without history that of its group, then of its engine, then
10 MiB/s. A failed attempt that ran longer than the prediction is a censored observation: the export takes at least that long.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median

from rivet_core.facts import RunFact
from rivet_core.scheduling.rates import OVERHEAD_SECONDS, Rate, Sample, rate_of, residuals, samples, scatter, weighted_median

DEFAULT_RATE = 10 * 1024 * 1024
"""Bytes per second when nothing was ever measured."""

DEFAULT_SECONDS = 30.0
"""For an export without size, history, or any measured neighbour."""

Z90 = 1.2816
"""The 90 % quantile of the normal distribution; ranges are log-normal."""

MIN_SPREAD = 1.25
UNKNOWN_SPREAD = 3.0
PRIOR_SIGMA = 0.25
FOREIGN_SIGMA = 0.6
PRIOR_RUNS = 2.0
"""Scatter starts from `PRIOR_SIGMA` (between exports from `FOREIGN_SIGMA`) with the weight of this many runs, because two runs
that agree prove little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInput:
    """What is known of one export. `bytes_now` is what the next run will read: the whole table, or the expected delta.

    `None` means unknown. `engine` is the source type. `fingerprint` leaves out runs of an earlier statement.
    """

    name: str
    group: str = ""
    engine: str = ""
    bytes_now: float | None = None
    history: tuple[RunFact, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Seconds. `basis` is `measured` (own history), `estimated` (size and a measured neighbour) or `unknown`.

    `level` says whose rate was used: `export`, `group`, `engine` or `default`; `runs` how many runs are behind it;
    `floor_seconds` is the longest failed attempt since the last success, where it raised the figure.
    """

    p10: float
    p50: float
    p90: float
    basis: str
    level: str
    runs: int = 0
    bytes_per_second: float | None = None
    floor_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BasisCounts:
    """How the predictions of a campaign are known."""

    measured: int = 0
    estimated: int = 0
    unknown: int = 0

    @property
    def hedge(self) -> str:
        """What stands beside any total: `lower bound: 2 of 5 exports unmeasured`, empty when none is unknown."""
        total = self.measured + self.estimated + self.unknown
        return f"lower bound: {self.unknown} of {total} exports unmeasured" if self.unknown else ""


def predict(inputs: Sequence[PredictionInput], as_of: datetime) -> dict[str, Prediction]:
    """Return the prediction of every export by name. Ages count back from `as_of`, time-zone aware like the runs."""
    found = {item.name: samples(item.history, as_of, item.fingerprint) for item in inputs}
    groups = _pool(inputs, found, lambda item: item.group)
    engines = _pool(inputs, found, lambda item: item.engine)
    result: dict[str, Prediction | None] = {
        item.name: _predict_one(item, found[item.name], groups.get(item.group), engines.get(item.engine)) for item in inputs
    }
    sizeless = [item for item in inputs if result[item.name] is None]
    known = [prediction.p50 for prediction in result.values() if prediction is not None]
    guess = median(known) if known else DEFAULT_SECONDS
    for item in sizeless:
        result[item.name] = _raise_to_floor(item, _range(guess, UNKNOWN_SPREAD, basis="unknown", level="default"))
    return {name: prediction for name, prediction in result.items() if prediction is not None}


def count_basis(predictions: Mapping[str, Prediction]) -> BasisCounts:
    """Return how many predictions are measured, estimated and unknown."""
    bases = [prediction.basis for prediction in predictions.values()]
    return BasisCounts(measured=bases.count("measured"), estimated=bases.count("estimated"), unknown=bases.count("unknown"))


@dataclass(frozen=True, slots=True)
class _Pool:
    """What the measured exports of a group or an engine share: their rate, and how far their own runs scatter."""

    rate: Rate | None
    run_sigma: float | None


def _pool(
    inputs: Sequence[PredictionInput], found: Mapping[str, tuple[Sample, ...]], key: Callable[[PredictionInput], str]
) -> dict[str, _Pool]:
    rates: dict[str, list[tuple[float, float]]] = defaultdict(list)
    latest: dict[str, list[Sample]] = defaultdict(list)
    variances: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for item in inputs:
        rate = rate_of(found[item.name])
        if rate is None:
            continue
        rates[key(item)].append((math.log(rate.bytes_per_second), 1.0))
        latest[key(item)].append(replace(next(sample for sample in found[item.name] if sample.size), weight=1.0))
        if rate.count > 1:
            variances[key(item)].append((rate.sigma**2, rate.count - 1))
    pools = {}
    for name, pairs in rates.items():
        speed = math.exp(weighted_median(pairs))
        freedom = sum(count for _, count in variances[name])
        sigma = math.sqrt(sum(value * count for value, count in variances[name]) / freedom) if freedom else None
        rate = Rate(bytes_per_second=speed, sigma=scatter(residuals(latest[name], speed)), count=len(pairs))
        pools[name] = _Pool(rate, sigma)
    return pools


def _predict_one(
    item: PredictionInput, own: tuple[Sample, ...], group: _Pool | None, engine: _Pool | None
) -> Prediction | None:
    """Return the prediction, or `None` when neither history nor size says anything."""
    rate = rate_of(own)
    if own:
        return _raise_to_floor(item, _from_history(item, own, rate, group or engine))
    if item.bytes_now is None:
        return None
    for level, pool in (("group", group), ("engine", engine)):
        if pool is not None and pool.rate is not None:
            seconds = OVERHEAD_SECONDS + item.bytes_now / pool.rate.bytes_per_second
            sigma = _shrink(pool.rate.sigma, pool.rate.count, FOREIGN_SIGMA)
            spread = math.exp(Z90 * sigma)
            found = _range(seconds, spread, basis="estimated", level=level, runs=pool.rate.count, rate=pool.rate)
            return _raise_to_floor(item, found)
    seconds = OVERHEAD_SECONDS + item.bytes_now / DEFAULT_RATE
    return _raise_to_floor(item, _range(seconds, UNKNOWN_SPREAD, basis="unknown", level="default"))


def _from_history(item: PredictionInput, own: tuple[Sample, ...], rate: Rate | None, pool: _Pool | None) -> Prediction:
    sizes = [(sample.size, sample.weight) for sample in own if sample.size is not None]
    size = item.bytes_now if item.bytes_now is not None else weighted_median(sizes) if sizes else None
    if rate is not None and size is not None:
        seconds, sigma, runs = OVERHEAD_SECONDS + size / rate.bytes_per_second, rate.sigma, rate.count
    else:
        pairs = [(math.log(sample.seconds), sample.weight) for sample in own]
        middle = weighted_median(pairs)
        seconds, sigma, runs = math.exp(middle), scatter(pairs), len(own)
    typical = pool.run_sigma if pool is not None and pool.run_sigma is not None else PRIOR_SIGMA
    noise = _shrink(sigma, runs, typical)
    # The median of the last runs is itself off by about noise / sqrt(effective runs); halving weights leave at most three.
    spread = math.exp(Z90 * noise * math.sqrt(1.0 + 1.0 / min(runs, 3)))
    return _range(seconds, spread, basis="measured", level="export", runs=runs, rate=rate)


def _shrink(sigma: float, runs: int, typical: float) -> float:
    """Return the scatter of few runs drawn towards the typical one."""
    freedom = max(0, runs - 1)
    return math.sqrt((PRIOR_RUNS * typical**2 + freedom * sigma**2) / (PRIOR_RUNS + freedom))


def _range(seconds: float, spread: float, *, basis: str, level: str, runs: int = 0, rate: Rate | None = None) -> Prediction:
    wide = max(MIN_SPREAD, spread)
    return Prediction(
        p10=seconds / wide,
        p50=seconds,
        p90=seconds * wide,
        basis=basis,
        level=level,
        runs=runs,
        bytes_per_second=rate.bytes_per_second if rate is not None else None,
    )


def _raise_to_floor(item: PredictionInput, found: Prediction) -> Prediction:
    """Return the prediction raised to the longest failed attempt since the last success of this statement."""
    runs = [
        run
        for run in item.history
        if run.status in ("succeeded", "failed")
        and not (item.fingerprint and run.fingerprint and run.fingerprint != item.fingerprint)
    ]
    last = max((run.started_at for run in runs if run.status == "succeeded"), default=None)
    failed = [run.seconds or 0.0 for run in runs if run.status == "failed" and (last is None or run.started_at > last)]
    floor = max(failed, default=0.0)
    if floor <= found.p50:
        return found
    wide = found.p90 / found.p50 if found.p50 > 0 else UNKNOWN_SPREAD
    return replace(found, p10=max(found.p10, floor), p50=floor, p90=floor * wide, floor_seconds=floor)
