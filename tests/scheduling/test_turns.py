"""Who starts last starts when all others have ended, alone on its group."""

from __future__ import annotations

from rivet_core.scheduling.simulate import audit, simulate
from rivet_core.scheduling.turns import alone, simulate_turns
from tests.scheduling.campaigns import POLICIES, capacity, job, row


def spans(result):
    return {run.name: (run.start, run.end) for run in result.schedule}


def test_turns_come_one_after_the_other_and_take_their_group():
    jobs = (job("bad", 5), *row([10.0, 10.0]), job("worse", 3), job("worst", 1), job("behind", 2, depends_on=("bad",)))
    found = simulate_turns(jobs, capacity(2), POLICIES["bottleneck"], {"bad": 1, "behind": 1, "worse": 4, "worst": 4})
    assert spans(found) == {
        "e0": (0, 10),
        "e1": (0, 10),
        "bad": (10, 15),
        "behind": (15, 17),
        "worse": (17, 20),
        "worst": (20, 21),
    }
    assert (found.makespan_seconds, found.violations) == (21, 0)
    assert [run.order for run in found.schedule] == list(range(6))
    first = [found for found in jobs if found.name in ("e0", "e1")]
    assert (
        audit(found.schedule, [*first, *alone([found for found in jobs if found not in first], capacity(2))], capacity(2)) == []
    )
    assert found.bound.seconds == simulate(jobs, capacity(2), POLICIES["bottleneck"]).bound.seconds


def test_without_turns_it_is_the_same_simulation():
    jobs = row([3.0, 2.0, 1.0])
    plain = simulate(jobs, capacity(2), POLICIES["waves"])
    assert simulate_turns(jobs, capacity(2), POLICIES["waves"], {}) == plain
    assert simulate_turns(jobs, capacity(2), POLICIES["waves"], {"other": 3}) == plain
