"""Predictions from history, size and failed attempts."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.facts import RunFact
from rivet_core.scheduling.grading import grade
from rivet_core.scheduling.predict import DEFAULT_RATE, PredictionInput, count_basis, predict
from rivet_core.scheduling.rates import OVERHEAD_SECONDS, samples, weighted_median

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MIB = 1 << 20


def run(seconds, size=None, *, days=1.0, status="succeeded", **more):
    return RunFact(run_id="r", status=status, started_at=NOW - timedelta(days=days), seconds=seconds, bytes=size, **more)


def one(history=(), size=None, **more):
    return predict([PredictionInput(name="e", bytes_now=size, history=tuple(history), **more)], NOW)["e"]


def test_own_history_scales_with_bytes():
    found = one([run(10 + OVERHEAD_SECONDS, 100 * MIB)], size=200 * MIB)
    assert found.p50 == pytest.approx(20 + OVERHEAD_SECONDS)
    assert (found.basis, found.level, found.runs) == ("measured", "export", 1)


def test_an_empty_delta_costs_only_overhead():
    assert one([run(10, 100 * MIB)], size=0).p50 == OVERHEAD_SECONDS


def test_without_a_size_the_next_run_is_like_the_last_ones():
    assert one([run(10, 100 * MIB)]).p50 == pytest.approx(10)
    assert one([run(10)]).p50 == pytest.approx(10)


def test_one_slow_night_does_not_move_the_figure():
    history = [run(10, 100 * MIB, days=days) for days in (2, 3, 4, 5)]
    assert one([run(100, 100 * MIB, days=1), *history], size=100 * MIB).p50 < 16


def test_only_the_last_five_successes_count():
    history = [run(10, 100 * MIB, days=days) for days in range(1, 6)]
    old = [run(500, 100 * MIB, days=days) for days in range(6, 20)]
    assert one([*history, *old], size=100 * MIB).p50 == pytest.approx(10)


def test_killed_and_running_rows_never_enter():
    noise = [run(9000, MIB, status="killed"), run(9000, MIB, status="running"), run(None, MIB)]
    assert one([*noise, run(10, 100 * MIB, days=2)], size=100 * MIB).p50 == pytest.approx(10)


def test_another_statement_has_another_history():
    found = one([run(500, 100 * MIB, fingerprint="old")], size=100 * MIB, fingerprint="new")
    assert found.basis == "unknown"


def test_a_failed_attempt_is_a_floor_until_the_next_success():
    failed = run(4000, status="failed", days=1)
    found = one([run(10, 100 * MIB, days=2), failed], size=100 * MIB)
    assert (found.p50, found.floor_seconds) == (4000, 4000)
    assert found.p10 <= found.p50 <= found.p90
    assert one([run(10, 100 * MIB, days=0.5), failed], size=100 * MIB).p50 == pytest.approx(10)


def test_the_range_is_at_least_a_quarter_wide():
    found = one([run(10, 100 * MIB, days=days) for days in range(1, 6)], size=100 * MIB)
    assert found.p90 >= found.p50 * 1.25
    assert found.p10 <= found.p50 / 1.25


def test_fall_back_from_group_to_engine_to_ten_mebibytes_a_second():
    fast, slow = run(10 + OVERHEAD_SECONDS, 1000 * MIB), run(100 + OVERHEAD_SECONDS, 1000 * MIB)
    found = predict(
        [
            PredictionInput(name="a", group="g", engine="mysql", history=(fast,)),
            PredictionInput(name="b", group="h", engine="postgres", history=(slow,)),
            PredictionInput(name="by_group", group="g", engine="mysql", bytes_now=100 * MIB),
            PredictionInput(name="by_engine", group="x", engine="postgres", bytes_now=100 * MIB),
            PredictionInput(name="by_nothing", group="x", engine="sqlite", bytes_now=10 * DEFAULT_RATE),
        ],
        NOW,
    )
    assert [(found[name].level, found[name].basis) for name in ("by_group", "by_engine", "by_nothing")] == [
        ("group", "estimated"),
        ("engine", "estimated"),
        ("default", "unknown"),
    ]
    assert found["by_group"].p50 == pytest.approx(1 + OVERHEAD_SECONDS)
    assert found["by_engine"].p50 == pytest.approx(10 + OVERHEAD_SECONDS)
    assert found["by_nothing"].p50 == pytest.approx(10 + OVERHEAD_SECONDS)
    assert found["by_nothing"].p90 == pytest.approx(3 * found["by_nothing"].p50)


def test_m03_unmeasured_giants_are_not_five_seconds():
    measured = [(600, 600), (1200, 1200), (1800, 1800)]
    inputs = [
        PredictionInput(name=f"m{place}", bytes_now=size * MIB, history=(run(seconds, size * MIB),))
        for place, (seconds, size) in enumerate(measured)
    ]
    inputs += [
        PredictionInput(name="giant", bytes_now=18000 * MIB),
        PredictionInput(name="sizeless", history=(run(4000, status="failed"),)),
    ]
    found = predict(inputs, NOW)
    assert found["giant"].p50 == pytest.approx(18000, rel=0.01)
    assert found["sizeless"].p50 == 4000
    assert count_basis(found).hedge == "lower bound: 1 of 5 exports unmeasured"


def test_an_export_about_which_nothing_is_known_is_like_the_typical_one():
    inputs = [PredictionInput(name=str(place), history=(run(seconds),)) for place, seconds in enumerate((10, 60, 600))]
    assert predict([*inputs, PredictionInput(name="x")], NOW)["x"].p50 == pytest.approx(60)


def test_old_runs_weigh_less():
    fresh, stale = samples([run(10, MIB, days=1), run(10, MIB, days=61)], NOW)
    assert stale.weight / fresh.weight == pytest.approx(0.5 * 2.718281828**-2)


@pytest.mark.parametrize(
    ("pairs", "middle"),
    [([(5.0, 1.0)], 5.0), ([(1, 1), (2, 1), (9, 1)], 2.0), ([(1, 1), (3, 1)], 2.0), ([(1, 9), (9, 1)], 1.8)],
)
def test_weighted_median(pairs, middle):
    assert weighted_median(pairs) == pytest.approx(middle)


def test_the_range_of_measured_exports_covers_nine_runs_in_ten():
    # T9 on seeded campaigns: log-normal noise around a true rate, one to eight runs of history.
    for sigma in (0.2, 0.4):
        rng, inputs, truth = random.Random(11), [], {}
        for place in range(800):
            rate, size = 20 * MIB * rng.lognormvariate(0, 0.4), 64 * MIB * rng.lognormvariate(0, 1.5)
            history = tuple(
                run((0.3 + size / rate) * rng.lognormvariate(0, sigma), int(size), days=days)
                for days in range(1, 1 + rng.choice([1, 2, 3, 5, 8]))
            )
            inputs.append(PredictionInput(name=str(place), group=f"g{place % 4}", bytes_now=size, history=history))
            truth[str(place)] = (0.3 + size / rate) * rng.lognormvariate(0, sigma)
        found = grade((prediction, truth[name]) for name, prediction in predict(inputs, NOW).items())
        assert 0.85 <= found.p90_coverage <= 0.95
        assert abs(found.bias) <= 0.05
