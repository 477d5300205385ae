"""What people see while it runs: counts and ranges, never a share of a guess (S05)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rivet_core.render import progress
from rivet_core.render.progress import PlainView
from rivet_core.running.events import RunEvent


def event(kind: str, **data: Any) -> RunEvent:
    return RunEvent(kind=kind, at=datetime(2026, 11, 29, tzinfo=UTC), export="orders", data=data)


@pytest.mark.parametrize("rows", [0, 100, 1000])
def test_s05_progress_counts_what_is_done_and_divides_by_no_estimate(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S05: ten times the estimate, none, or nothing at all: rows done are told, and no percentage."""
    monkeypatch.setattr(progress, "PLAIN_EVERY_SECONDS", 0.0)
    said: list[str] = []
    view = PlainView(said.append, verbose=True)
    view(event("export_started", estimated_rows=100))
    view(event("progress", rows=rows, bytes=rows * 10, parts=1))
    view(event("export_finished", rows=rows, bytes=rows * 10, seconds=0))
    assert len(said) == 3
    assert said[1].startswith(f"orders: {rows:,} rows")
    assert not any("%" in line for line in said)


def test_a_failure_says_why() -> None:
    said: list[str] = []
    view = PlainView(said.append, verbose=False)
    view(event("export_failed", error={"message": "no such table"}))
    view(event("export_failed", error=None, reason="could not be planned"))
    assert said == ["orders: failed: no such table", "orders: failed: could not be planned"]
