"""Suspects: exports that ended the same bad way run after run. They start when all others are done, each alone (M16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from rivet_core.facts import RunFact

SAME_FAILURES = 3
"""An export whose last runs failed alike this often is a suspect."""

RUNS_LOOKED_AT = 10
"""How many of an export's newest runs say whether it is one."""

DIED = "the process ended without a word"
"""The class of a run in which the whole process died: killed, or out of memory. Nobody knows which of its exports did it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One suspect: the class of its failures, and how many runs in a row ended so. `behind` is set for what waits for one."""

    failed: str
    times: int
    behind: str = ""

    @property
    def turn(self) -> int:
        """When it starts: 0 is with the others. What died starts later the more often it did, so that in the end the one
        that takes the process along is the only one behind it.
        """
        return self.times if self.failed == DIED else 1


def own_runs(history: Sequence[RunFact], fingerprint: str) -> list[RunFact]:
    """Return the newest runs of this statement, newest first: those of an earlier one prove nothing."""
    newest = sorted(history, key=lambda run: (run.started_at, run.run_id), reverse=True)[:RUNS_LOOKED_AT]
    return [run for run in newest if run.fingerprint in ("", fingerprint)]


def find_suspects(runs: Mapping[str, Sequence[RunFact]], waits: Mapping[str, Sequence[str]]) -> dict[str, Suspect]:
    """Return the suspects by name, and everything that waits for one. `runs` are each export's own, newest first; `waits`
    names what each one depends on. A run that was resumed counts as often as it ended.
    """
    found: dict[str, Suspect] = {}
    for name, history in runs.items():
        each = (one for run in history for one in ((run.status, run.error_class), *run.earlier))
        ends = [end for status, error_class in each if (end := _end(status, error_class)) is not None]
        times = len(list(takewhile(lambda end: end == ends[0], ends)))  # noqa: B023 - used up at once
        if times >= SAME_FAILURES and ends[0]:
            found[name] = Suspect(failed=ends[0], times=times)
    while found:
        behind = {name: [other for other in others if other in found] for name, others in waits.items()}
        changed = False
        for name, before in behind.items():
            last = max((found[other] for other in before), key=lambda suspect: suspect.turn, default=None)
            if last is not None and (name not in found or found[name].turn < last.turn):
                found[name] = Suspect(failed=last.failed, times=last.times, behind=before[0])
                changed = True
        if not changed:
            break
    return found


def message_of(name: str, suspect: Suspect, group: str) -> str:
    """Return what is said of a suspect before it starts."""
    if suspect.behind:
        return f"{name} starts last, because it waits for {suspect.behind}"
    return f"{name} failed alike in its last {suspect.times} runs ({suspect.failed}): it starts last, alone on group {group}"


def _end(status: str, error_class: str) -> str | None:
    """Return the class that a run failed with, empty for a success, `None` where somebody stopped it: that says nothing."""
    if status == "succeeded":
        return ""
    if status == "failed":
        return error_class or "other"
    return None if error_class else DIED
