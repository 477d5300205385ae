"""The journal keeps events in order without holding anybody up, and a state that cannot be written is heard of."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from rivet_core.errors import InternalError
from rivet_core.running.events import RunEvent
from rivet_core.running.journal import Journal
from rivet_core.state import open_state, read_state


def event(number: int, kind: str = "warning") -> RunEvent:
    return RunEvent(kind=kind, at=datetime.now(UTC), export=f"e{number}", data={"number": number})


def test_every_entry_is_there_at_the_end_in_order(tmp_path):
    seen = []
    with open_state("sqlite:///state.db", base=tmp_path) as state:
        with Journal(state, "p", seen.append) as journal:
            for number in range(200):
                journal(event(number, "progress" if number % 2 else "export_finished"))
        found = state.events(plan_id="p")
    assert [entry.data["number"] for entry in found] == list(range(0, 200, 2))
    assert [one.data["number"] for one in seen] == list(range(200))


def test_a_campaign_that_raises_keeps_what_was_told_before(tmp_path):
    with open_state("sqlite:///state.db", base=tmp_path) as state:
        journal = Journal(state, "p", None)
        with contextlib.suppress(KeyError), journal:
            journal(event(1))
            raise KeyError("bug")
        assert len(state.events(plan_id="p")) == 1


def test_a_state_that_cannot_be_written_is_heard_of_at_the_end(tmp_path):
    seen = []
    with read_state("sqlite:///none.db", base=tmp_path) as state, Journal(state, "p", seen.append) as journal:
        journal(event(1))
    assert len(seen) == 1
    assert isinstance(journal.failure, InternalError)
    assert "reading only" in journal.failure.message
