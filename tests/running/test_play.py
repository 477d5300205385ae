"""T3: the real executor on a clock of its own. No capacity exceeded, no deadlock, every export accounted for."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from benchmarks.schedule.play import FAILURES, Play, task_of
from rivet_core.facts import GroupCapacity
from rivet_core.running.context import RunContext
from rivet_core.running.events import Events
from rivet_core.running.executor import Executor
from rivet_core.running.outcome import DONE, FAILED, ExportOutcome
from rivet_core.running.retry import Budget
from rivet_core.running.stop import Stop
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import demands, units_of
from rivet_core.state import read_state
from tests.scheduling.campaigns import POLICIES, draw_campaign, split_some

SEQUENCES = 2000
NAMES = sorted(POLICIES)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    with read_state("sqlite:///none.db", base=tmp_path_factory.mktemp("state")) as found:
        yield found


def narrow(capacities):
    """Capacity 1 everywhere."""
    groups = {name: GroupCapacity(max_connections=1, max_heavy=1) for name in capacities.groups}
    return replace(capacities, workers=1, groups=groups)


@pytest.mark.parametrize("block", range(4))
def test_t3_two_thousand_sequences(state, block):
    for seed in range(block, SEQUENCES, 4):
        rng = random.Random(seed)
        jobs, capacities = draw_campaign(seed, rng.randint(0, 30))
        jobs = split_some(jobs, seed) if seed % 2 else jobs
        capacities = narrow(capacities) if seed % 5 == 0 else capacities
        play = Play(jobs, capacities, POLICIES[NAMES[seed % len(NAMES)]], state, rng, fail_fast=rng.random() < 0.1)
        play.play(failing=rng.choice([0.0, 0.1, 0.5, 1.0]), cancelling=rng.choice([0.0, 0.0, 0.05]))
        assert not play.wrong, (seed, play.wrong)


class Campaign(RuleBasedStateMachine):
    """The same steps in any order that hypothesis finds, shrunk to few when one goes wrong."""

    @initialize(seed=st.integers(0, 2**32), count=st.integers(0, 12), policy=st.sampled_from(NAMES), one=st.booleans())
    def begin(self, seed, count, policy, one):
        jobs, capacities = draw_campaign(seed, count)
        jobs = split_some(jobs, seed)
        with read_state("sqlite:///none.db") as state:
            self.play = Play(jobs, narrow(capacities) if one else capacities, POLICIES[policy], state, random.Random(seed))

    @rule()
    def start(self):
        self.play.start()

    @rule()
    def complete(self):
        self.play.end_one(failing=0.0)

    @rule()
    def fail(self):
        self.play.end_one(failing=1.0)

    @rule()
    def retry(self):
        self.play.retry()

    @rule(really=st.integers(0, 5))
    def cancel(self, really):
        if not really:
            self.play.cancel()

    @invariant()
    def promises_hold(self):
        assert not getattr(self, "play", None) or not self.play.wrong

    def teardown(self):
        if hasattr(self, "play"):
            self.play.play(failing=0.0, cancelling=0.0)
            assert not self.play.wrong


TestCampaign = Campaign.TestCase
TestCampaign.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class Threads:
    """Work that only takes a moment, and counts what runs beside it."""

    def __init__(self, capacities, rng):
        self.capacities = capacities
        self.rng = rng
        self.taken = Counter()
        self.lock = threading.Lock()
        self.exceeded = []

    def __call__(self, job):
        with self.lock:
            self.taken.update(dict(demands(job, self.capacities)))
            self.exceeded += [name for name, units in self.taken.items() if units > units_of(name, self.capacities)]
            pause, failing = self.rng.random() / 2000, self.rng.random()
        time.sleep(pause)
        with self.lock:
            self.taken.subtract(dict(demands(job, self.capacities)))
        error = FAILURES[int(failing * 50)] if failing < 0.1 else None
        return ExportOutcome(name=job.name, status=FAILED if error else DONE), error


def test_t3_real_threads_wait_and_wake(state):
    for seed in range(150):
        rng = random.Random(seed)
        jobs, capacities = draw_campaign(seed, rng.randint(0, 25))
        stop = Stop()
        context = RunContext(state=state, events=Events(None), budget=Budget(0), stop=stop)
        work = Threads(capacities, rng)
        tasks = {job.name: task_of(job, place) for place, job in enumerate(jobs)}
        dispatcher = Dispatcher(jobs, capacities, POLICIES[NAMES[seed % len(NAMES)]])
        executor = Executor(dispatcher, tasks, context, work, fail_fast=False)
        thread = threading.Thread(target=executor.run, daemon=True)
        thread.start()
        if seed % 4 == 0:
            time.sleep(rng.random() / 300)
            stop.request("Ctrl-C", 130)
            executor.wake()
        thread.join(timeout=30)
        assert not thread.is_alive(), f"seed {seed}: a deadlock"
        assert not work.exceeded, seed
        assert set(executor.outcomes) == set(tasks)
