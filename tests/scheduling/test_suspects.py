"""Who is a suspect: what failed the same way three runs in a row, or was there each time the process died (M16)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.facts import RunFact
from rivet_core.scheduling.suspects import DIED, find_suspects, message_of, own_runs

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def suspects_of(waits, histories):
    own = {name: own_runs(histories.get(name, ()), "now") for name in waits}
    return find_suspects(own, waits)


def runs(*ends: str, fingerprint: str = "now") -> tuple[RunFact, ...]:
    """Runs, newest first: `ok`, `stopped`, `died`, `running`, or the class of a failure."""
    status = {"ok": "succeeded", "stopped": "killed", "died": "killed", "running": "running"}
    classes = {"ok": "", "stopped": "interrupted", "died": "", "running": ""}
    return tuple(
        RunFact(
            run_id=f"r{place}",
            status=status.get(end, "failed"),
            started_at=NOW - timedelta(days=place),
            error_class=classes.get(end, end),
            fingerprint=fingerprint,
        )
        for place, end in enumerate(ends)
    )


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        (("limit",) * 3, ("limit", 3)),
        (("limit",) * 5 + ("ok",), ("limit", 5)),
        (("limit", "stopped", "limit", "stopped", "limit"), ("limit", 3)),
        (("running", "died", "died"), (DIED, 3)),
        (("died", "died", "stopped", "died", "ok"), (DIED, 3)),
        (("limit",) * 2, None),
        (("limit", "timeout", "limit", "limit"), None),
        (("ok", "limit", "limit", "limit"), None),
        (("limit", "limit", "ok", "limit"), None),
        (("died", "died", "limit"), None),
        (("stopped",) * 4, None),
        (("ok",) * 4, None),
        ((), None),
    ],
)
def test_three_alike_in_a_row(ends, found):
    suspects = suspects_of({"a": ()}, {"a": runs(*ends)})
    assert {name: (one.failed, one.times) for name, one in suspects.items()} == ({"a": found} if found else {})


@pytest.mark.parametrize(
    ("status", "error_class", "earlier", "found"),
    [
        ("running", "", [("running", "")] * 2, (DIED, 3)),
        ("killed", "", [("running", ""), ("killed", "interrupted"), ("running", "")], (DIED, 3)),
        ("failed", "limit", [("failed", "limit")] * 2, ("limit", 3)),
        ("failed", "", [("failed", "")] * 3, ("other", 4)),
        ("failed", "limit", [("running", "")] * 2, None),
        ("running", "", [("running", "")], None),
        ("succeeded", "", [("running", "")] * 3, None),
    ],
)
def test_a_run_counts_as_often_as_it_ended(status, error_class, earlier, found):
    run = replace(runs("ok")[0], status=status, error_class=error_class, earlier=tuple(earlier))
    suspects = suspects_of({"a": ()}, {"a": (run, *runs("ok"))})
    assert [(one.failed, one.times) for one in suspects.values()] == ([found] if found else [])


def test_runs_of_an_earlier_statement_prove_nothing():
    assert suspects_of({"a": ()}, {"a": runs("limit", "limit", "limit", fingerprint="before")}) == {}


def test_what_waits_for_a_suspect_starts_with_it():
    suspects = suspects_of({"a": (), "b": ("a",), "c": ("b",), "d": ()}, {"a": runs(*["died"] * 4)})
    assert {name: one.turn for name, one in suspects.items()} == {"a": 4, "b": 4, "c": 4}
    assert message_of("c", suspects["c"], "g") == "c starts last, because it waits for b"


def test_what_died_oftener_starts_later():
    """One export takes the process along; two others happened to run beside it. They are done before it starts again."""
    histories = {"a": runs(*["died"] * 5), "b": runs("timeout", "timeout", "timeout", "timeout"), "c": runs(*["died"] * 3)}
    suspects = suspects_of({"a": (), "b": (), "c": (), "d": ("b",)}, histories)
    assert sorted(suspects, key=lambda name: (suspects[name].turn, name)) == ["b", "d", "c", "a"]
    said = "b failed alike in its last 4 runs (timeout): it starts last, alone on group g"
    assert message_of("b", suspects["b"], "g") == said
