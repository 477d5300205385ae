"""When a group pauses and goes on: what counts as over a limit, and what a moment changes."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from rivet_core.facts import ServerFacts
from rivet_core.running.events import Events, RunEvent
from rivet_core.running.pressure import Excess, Limits, Pressure, SourceGate, excess_of
from rivet_core.running.stop import Stop, StoppedError
from rivet_core.running.watchdog import Acts

LIMITS = Limits(lag_seconds=30.0, lock_waits=5)
CALM = ServerFacts(engine="postgres", replica_lag_seconds=0.0, lock_waits=0)
LAGGING = replace(CALM, replica_lag_seconds=45.5)


@pytest.mark.parametrize(
    ("lag", "waits", "signal"),
    [
        (30.0, 5, None),
        (30.1, 0, "replica_lag"),
        (0.0, 6, "lock_waits"),
        (None, None, None),
        (None, 6, "lock_waits"),
        (31.0, 6, "replica_lag"),
    ],
)
def test_only_more_than_the_limit_is_too_much(lag, waits, signal):
    found = excess_of(replace(CALM, replica_lag_seconds=lag, lock_waits=waits), LIMITS)
    assert (found.signal if found else None) == signal


def test_an_excess_names_value_and_limit():
    assert str(Excess(signal="replica_lag", value=45.5, limit=30)) == "the replica lags 45.5 s, over max_lag 30 s"
    assert str(Excess(signal="lock_waits", value=9, limit=5)) == "9 sessions wait for locks, over max_lock_waits 5"


class Answering:
    """A third party's source that answers its probe from a list, the last answer for ever."""

    def __init__(self, *answers: ServerFacts | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def probe(self) -> ServerFacts:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def watched(*answers, first=CALM, calm=0.0, again=0.0):
    events: list[RunEvent] = []
    stop = Stop()
    pressure = Pressure({"g": LIMITS}, Events(events.append), stop, calm_seconds=calm, again_seconds=again)
    source = Answering(*answers)
    pressure.join("s", ("g",), source, first)
    return pressure, source, events, stop


def test_one_answer_over_the_limit_holds_back_and_is_not_told():
    pressure, _, events, _ = watched(CALM, first=LAGGING)
    assert "45.5 s" in pressure.why("g")
    SourceGate(pressure, "s", "g", "e", Acts()).wait()
    assert pressure.why("g") == ""
    assert events == []
    assert pressure.summary() == ()


def test_two_answers_make_a_pause_that_ends_with_its_cause():
    pressure, _, events, _ = watched(LAGGING, replace(LAGGING, replica_lag_seconds=90.0), CALM, first=LAGGING)
    SourceGate(pressure, "s", "g", "e", Acts()).wait()
    assert [event.kind for event in events] == ["paused", "resumed"]
    assert (events[0].data["value"], events[0].data["limit"], events[0].data["group"]) == (45.5, 30.0, "g")
    (said,) = pressure.summary()
    assert "group g paused once" in said
    assert "lags 90.0 s, over max_lag 30 s" in said


def test_a_source_that_cannot_answer_is_left_to_the_read():
    pressure, source, events, _ = watched(LAGGING, RuntimeError("gone"), first=LAGGING)
    SourceGate(pressure, "s", "g", "e", Acts()).wait()
    assert source.asked == 2
    assert [event.kind for event in events] == ["paused", "resumed"]


def test_a_stop_and_a_failure_elsewhere_end_the_wait():
    pressure, _, _, stop = watched(LAGGING, first=LAGGING)
    gate = SourceGate(pressure, "s", "g", "e", Acts())
    gate.halted.set()
    gate.wait()
    gate = SourceGate(pressure, "s", "g", "e", Acts())
    threading.Timer(0.1, stop.request, ("Ctrl-C", 130)).start()
    with pytest.raises(StoppedError):
        gate.wait()


def test_a_calm_source_is_not_asked_at_every_page():
    pressure, source, _, _ = watched(CALM, calm=60.0)
    gate = SourceGate(pressure, "s", "g", "e", Acts())
    for _ in range(100):
        assert gate.is_clear
        gate.wait()
    assert source.asked == 0


def test_a_group_without_limits_never_pauses():
    pressure = Pressure({}, Events(None), Stop())
    pressure.join("s", ("g",), Answering(LAGGING), LAGGING)
    assert pressure.why("g") == ""
    assert pressure.is_clear("s", "g")


def test_a_paused_group_is_asked_where_nobody_reads():
    pressure, source, events, _ = watched(LAGGING, CALM, first=LAGGING, again=0.01)
    told = threading.Event()
    pressure.told = told.set
    lent: list[str] = []

    class Lent:
        def __init__(self, name: str) -> None:
            lent.append(name)

        def __enter__(self) -> bool:
            return len(lent) > 1  # no connection is free the first time

        def __exit__(self, *_: object) -> None: ...

    with pressure.watching(Lent):
        assert told.wait(10)
    assert source.asked == 2
    assert len(lent) == 3
    assert [event.kind for event in events] == ["paused", "resumed"]


def test_a_source_without_signals_is_never_asked():
    pressure, source, _, _ = watched(LAGGING, first=ServerFacts(engine="sqlite"))
    SourceGate(pressure, "s", "g", "e", Acts()).wait()
    assert (source.asked, pressure.is_clear("s", "g")) == (0, True)
