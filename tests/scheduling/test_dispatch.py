"""The dispatcher: each job once, no capacity exceeded, no deadlock, whatever the policy answers."""

from __future__ import annotations

import random
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.api import SchedulingPolicy
from rivet_core.errors import ConfigError, PluginError
from rivet_core.facts import Capacities, GroupCapacity, Job
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import demands, units_of
from rivet_core.scheduling.waiting import why_waiting
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, row

policies = st.sampled_from(sorted(POLICIES))


def start_all(dispatcher):
    return [found.name for found in iter(dispatcher.claim, None)]


def odd_policy(order=lambda jobs, capacities: [found.name for found in jobs], **more):
    return SchedulingPolicy(name="odd", summary="", order=order, **more)


@settings(max_examples=150, deadline=None)
@given(campaigns(), policies, st.integers(0, 2**32))
def test_each_job_once_no_capacity_exceeded_no_deadlock(campaign, name, seed):
    jobs, capacities = campaign
    rng = random.Random(seed)
    dispatcher = Dispatcher(jobs, capacities, POLICIES[name])
    started = Counter()
    while not dispatcher.finished:
        for found in iter(dispatcher.claim, None):
            started[found.name] += 1
            taken = Counter()
            for other in dispatcher.running:
                taken.update(dict(demands(other, capacities)))
            assert all(units <= units_of(resource, capacities) for resource, units in taken.items())
            assert all(before in dispatcher.done for before in found.depends_on)
        assert dispatcher.running, "nothing runs and nothing may start: a deadlock"
        dispatcher.finish(rng.choice(dispatcher.running).name)
    assert started == Counter(found.name for found in jobs)
    assert dispatcher.violations == 0
    assert dispatcher.waiting == 0
    assert all(seconds == pytest.approx(0, abs=1e-6) for seconds in dispatcher.remaining.values())


@settings(max_examples=150, deadline=None)
@given(campaigns(), policies, st.integers(0, 2**32))
def test_failures_and_skips_leave_every_job_with_one_outcome(campaign, name, seed):
    jobs, capacities = campaign
    rng = random.Random(seed)
    dispatcher = Dispatcher(jobs, capacities, POLICIES[name])
    while not dispatcher.finished:
        start_all(dispatcher)
        if dispatcher.running:
            dispatcher.finish(rng.choice(dispatcher.running).name, ok=rng.random() < 0.7)
        if rng.random() < 0.2:
            dispatcher.skip(rng.choice(jobs).name, "shared cause")
    assert set(dispatcher.done) == {found.name for found in jobs}
    for found in jobs:
        if dispatcher.done[found.name].status != "skipped":
            assert all(dispatcher.done[before].status == "succeeded" for before in found.depends_on)


@settings(max_examples=80, deadline=None)
@given(campaigns())
def test_no_wave_starts_before_the_lower_ones_end(campaign):
    jobs, capacities = campaign
    jobs = tuple(job(f"e{place}", 1, wave=found.wave) for place, found in enumerate(jobs))
    dispatcher = Dispatcher(jobs, capacities, POLICIES["waves"])
    while not dispatcher.finished:
        start_all(dispatcher)
        waves = {found.wave for found in dispatcher.running}
        assert len(waves) == 1
        (wave,) = waves
        unfinished = [found for found in jobs if found.name not in dispatcher.done]
        assert all((found.wave is None) or (wave is not None and found.wave >= wave) for found in unfinished)
        dispatcher.finish(dispatcher.running[0].name)


def test_exports_without_a_wave_run_last():
    dispatcher = Dispatcher((job("late"), job("first", wave=3)), capacity(4), POLICIES["waves"])
    assert (dispatcher.lowest_wave, start_all(dispatcher)) == (3, ["first"])
    dispatcher.finish("first")
    assert (dispatcher.lowest_wave, start_all(dispatcher)) == (None, ["late"])


def test_a_barrier_never_waits_for_what_is_behind_it():
    jobs = (job("a", wave=1, depends_on=("b",)), job("b", wave=2), job("c", wave=1))
    dispatcher = Dispatcher(jobs, capacity(4), POLICIES["waves"])
    assert start_all(dispatcher) == ["c"]
    dispatcher.finish("c")
    assert start_all(dispatcher) == ["b"]
    dispatcher.finish("b")
    assert start_all(dispatcher) == ["a"]


def test_a_failed_export_skips_its_dependants_and_no_one_else():
    jobs = (job("a"), job("b", depends_on=("a",)), job("c", depends_on=("b",)), job("d"))
    dispatcher = Dispatcher(jobs, capacity(1), POLICIES["fifo"])
    assert dispatcher.claim().name == "a"
    assert dispatcher.fail("a", actual_seconds=3.0) == ("b", "c")
    assert dispatcher.done["b"].because == "a"
    assert dispatcher.done["a"].seconds == 3.0
    assert start_all(dispatcher) == ["d"]


def test_a_dependency_outside_the_campaign_holds_nobody_back():
    dispatcher = Dispatcher((job("b", depends_on=("a",)),), capacity(1), POLICIES["fifo"])
    assert start_all(dispatcher) == ["b"]


def test_a_failed_export_of_a_wave_does_not_stop_the_next_wave():
    dispatcher = Dispatcher((job("a", wave=1), job("b", wave=2)), capacity(2), POLICIES["waves"])
    start_all(dispatcher)
    dispatcher.fail("a")
    assert start_all(dispatcher) == ["b"]


def test_skipping_the_last_of_a_wave_opens_the_next():
    dispatcher = Dispatcher((job("a", wave=1), job("b", wave=2)), capacity(2), POLICIES["waves"])
    assert dispatcher.skip("a", "shared cause") == ("a",)
    assert start_all(dispatcher) == ["b"]


def test_only_waiting_jobs_can_be_skipped():
    dispatcher = Dispatcher(row([1.0, 1]), capacity(1), POLICIES["fifo"])
    dispatcher.claim()
    assert dispatcher.skip("e0", "too late") == ()
    assert dispatcher.skip("nobody", "unknown") == ()
    assert dispatcher.waiting == 1


def test_drain_lets_running_jobs_end_and_starts_nothing():
    dispatcher = Dispatcher(row([1.0, 1, 1]), capacity(1), POLICIES["fifo"])
    dispatcher.claim()
    dispatcher.drain("interrupted")
    assert not dispatcher.finished
    dispatcher.finish("e0")
    assert dispatcher.claim() is None
    assert (dispatcher.finished, dispatcher.waiting, dispatcher.drained) == (True, 2, "interrupted")
    assert [found.name for found in dispatcher.waiting_jobs()] == ["e1", "e2"]


def test_finishing_what_does_not_run_is_a_bug_of_the_caller():
    with pytest.raises(KeyError):
        Dispatcher(row([1.0]), capacity(1), POLICIES["fifo"]).finish("e0")


def test_an_empty_campaign_is_finished():
    dispatcher = Dispatcher((), capacity(1), POLICIES["waves"])
    assert dispatcher.finished
    assert dispatcher.claim() is None


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        (odd_policy(next=lambda state: None), "waited although nothing runs"),
        (odd_policy(next=lambda state: "somebody"), "not one of the exports"),
        (odd_policy(next=lambda state: 1 / 0), "ZeroDivisionError"),
        (odd_policy(order=lambda jobs, capacities: 1 / 0), "ZeroDivisionError"),
        (odd_policy(order=lambda jobs, capacities: ["e0", "e0", "e9"]), "not each once"),
        (odd_policy(front=lambda jobs, capacities: 1 / 0), "ZeroDivisionError"),
    ],
)
def test_a_wrong_answer_is_replaced_and_recorded(policy, word):
    dispatcher = Dispatcher(row([1.0, 1, 1]), capacity(1), policy)
    order = []
    while (found := dispatcher.claim()) is not None:
        order.append(found.name)
        dispatcher.finish(found.name)
    assert sorted(order) == ["e0", "e1", "e2"]
    assert dispatcher.violations >= 1
    assert word in dispatcher.violation_messages[0]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_claim_of_our_own_policies_costs_a_worker_no_thread(name, monkeypatch):
    """A limit around each claim would: 9 ms of each hand-over on a busy machine, a tenth of a campaign of small tables."""
    started = []
    begin = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread.name), begin(thread))[1])

    def play():
        dispatcher = Dispatcher(row([1.0] * 20), capacity(4), POLICIES[name])
        while (found := dispatcher.claim()) is not None:
            dispatcher.finish(found.name)

    worker = threading.Thread(target=play, name="worker")
    worker.start()
    worker.join()
    assert started == ["worker"]


def test_a_policy_cannot_start_more_than_fits():
    greedy = odd_policy(next=lambda state: state.heads[-1].name)
    dispatcher = Dispatcher(row([1.0] * 5, heavy=True), capacity(4, g=(4, 1)), greedy)
    assert len(start_all(dispatcher)) == 1


def test_a_policy_may_wait_while_something_runs():
    one_by_one = odd_policy(next=lambda state: None if state.running else state.heads[0].name)
    dispatcher = Dispatcher(row([1.0] * 3), capacity(4), one_by_one)
    assert len(start_all(dispatcher)) == 1
    assert dispatcher.violations == 0


@pytest.mark.parametrize("ref", ["rivet_core.no_such_room:order", "rivet_core.builtin.policies:missing", "nonsense"])
def test_a_reference_that_cannot_be_loaded_names_the_policy(ref):
    with pytest.raises(PluginError, match="odd"):
        Dispatcher((), capacity(1), odd_policy(order=ref))


def test_two_exports_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="twin"):
        Dispatcher((job("twin"), job("twin")), capacity(1), POLICIES["fifo"])


def test_a_circle_is_refused_and_shown():
    jobs = (job("a", depends_on=("c",)), job("b", depends_on=("a",)), job("c", depends_on=("b",)), job("d", depends_on=("c",)))
    with pytest.raises(ConfigError, match="a -> c -> b -> a"):
        Dispatcher(jobs, capacity(1), POLICIES["fifo"])


def test_what_a_policy_sees():
    jobs = (job("a", 10, heavy=True), job("b", 20, heavy=True), job("c", 4), job("d", 8, group="h"))
    dispatcher = Dispatcher(jobs, capacity(4, g=(2, 1), h=(4, 1)), POLICIES["bottleneck"])
    state = dispatcher.state()
    assert [found.name for found in state.heads] == ["b", "c", "d"]
    assert state.remaining == {"workers": 10.5, "connections:g": 17.0, "heavy:g": 30.0, "connections:h": 2.0}
    assert state.scarce == {"connections:g", "heavy:g"}
    assert dispatcher.claim().name == "b"
    assert [found.name for found in dispatcher.state().heads] == ["c", "d"]


def test_nothing_starts_in_a_group_that_is_held_and_others_go_on():
    jobs = [Job(name=f"{group}{n}", group=group, predicted_seconds=1.0) for n in range(2) for group in ("a", "b")]
    groups = {name: GroupCapacity(max_connections=4) for name in ("a", "b")}
    dispatcher = Dispatcher(jobs, Capacities(workers=4, groups=groups), POLICIES["fifo"])

    def held(group: str) -> str:
        return "a replica lags" if group == "a" else ""

    assert [dispatcher.claim(held).name for _ in range(2)] == ["b0", "b1"]
    assert dispatcher.claim(held) is None
    assert not dispatcher.finished
    (waiting,) = why_waiting(dispatcher, held)
    assert (waiting.exports, waiting.reason) == (("a0", "a1"), "the end of a pause: a replica lags")
    assert dispatcher.claim().name == "a0"
