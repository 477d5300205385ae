"""What barriers cost, and the bounds of it."""

from __future__ import annotations

import math
import random

import pytest

from rivet_core.scheduling.price import MOST_DRAWN, WavePrice, price_bounds, price_waves
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.waves import recommend_waves
from tests.scheduling.campaigns import POLICIES, capacity, job, row


def price_of(jobs, barriers):
    runs = [simulate(jobs, capacity(2), POLICIES[name]) for name in (barriers, "bottleneck")]
    return price_waves(*runs)


def test_even_exports_make_free_barriers():
    jobs = row([10.0] * 8)
    assigned = recommend_waves(jobs, capacity(2), asked=4).assign(jobs)
    price = price_of(assigned, "waves-bottleneck")
    assert (price.waves_seconds, price.pool_seconds, price.share) == (40, 40, 0)
    assert price.wave_seconds == {1: 10, 2: 10, 3: 10, 4: 10}


def test_a_barrier_behind_a_giant_has_its_price():
    jobs = (job("giant", 30, wave=1), job("x", 10, wave=2), job("y", 10, wave=2))
    price = price_of(jobs, "waves")
    assert (price.waves_seconds, price.pool_seconds, price.extra_seconds) == (40, 30, 10)
    assert price.share == pytest.approx(1 / 3)


def bounds_of(jobs, barriers="waves"):
    return price_bounds(jobs, capacity(2), POLICIES[barriers], POLICIES["bottleneck"])


def test_a_giant_that_may_last_longer_moves_the_price_and_its_bounds_hold_what_comes():
    giant = job("giant", 10, p90_seconds=30, wave=1)
    jobs = (giant, job("x", 10, wave=2), job("y", 10, wave=2), job("z", 10, wave=1))
    low, high = bounds_of(jobs)
    assert (low, high) == bounds_of(jobs)
    assert price_of(jobs, "waves").share == low == 0
    assert 0.1 < high < 0.5
    rng = random.Random(7)
    inside = 0
    for _ in range(200):
        drawn = {**{found.name: found.predicted_seconds for found in jobs}, "giant": 10 * math.exp(rng.gauss(0, 0.857))}
        ends = [simulate(jobs, capacity(2), POLICIES[name], drawn).makespan_seconds for name in ("waves", "bottleneck")]
        inside += low - 0.05 <= max(0.0, ends[0] / ends[1] - 1) <= high + 0.05
    assert inside >= 160


def test_durations_without_a_range_have_a_price_without_bounds():
    assert bounds_of(row([10.0] * 8)) is None
    assert bounds_of(tuple(job(f"e{place}", 1, p90_seconds=2, wave=1) for place in range(MOST_DRAWN + 1))) is None


def test_bounds_hold_the_point():
    jobs = (job("giant", 30, wave=1), job("x", 10, wave=2), job("y", 10, wave=2))
    runs = [simulate(jobs, capacity(2), POLICIES[name]) for name in ("waves", "bottleneck")]
    price = price_waves(*runs, (0.5, 0.7))
    assert price.low == price.share == pytest.approx(1 / 3)
    assert price.high == 0.7


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (WavePrice(waves_seconds=100, pool_seconds=100), ""),
        (WavePrice(waves_seconds=100, pool_seconds=100, low=0.0, high=0.04), ""),
        (WavePrice(waves_seconds=118, pool_seconds=100), "4 waves cost +18%, 18.0 s, against a pool"),
        (WavePrice(waves_seconds=118, pool_seconds=100, low=0.18, high=0.181), "4 waves cost +18%, 18.0 s, against a pool"),
        (
            WavePrice(waves_seconds=100, pool_seconds=100, low=0.0, high=0.2),
            "4 waves cost +0%, 0.0 s, against a pool (between +0% and +20% as exports take shorter or longer)",
        ),
    ],
)
def test_the_price_in_words(price, words):
    assert price.words(4) == words
