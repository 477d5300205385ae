"""Why exports have not started: what each waiting job waits for, and who holds it (M08)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rivet_core.facts import Job
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import CONNECTIONS, HEAVY, SERIAL, WORKERS, demands, units_of

MOST_NAMED = 3
"""So many exports are named in a text; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Exports that wait for the same thing, in the policy's order; `reason` says for what, and who has it."""

    exports: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        """Return both in words."""
        return f"{_names(self.exports)} {'waits' if len(self.exports) == 1 else 'wait'} for {self.reason}"


def why_waiting(dispatcher: Dispatcher, held: Callable[[str], str] | None = None) -> tuple[Waiting, ...]:
    """Return the jobs that have not started, by what keeps them, in the order in which the policy would take them.

    `held` is what `Dispatcher.claim` is given.
    """
    holders: dict[str, dict[str, int]] = {}
    for job in dispatcher.running:
        for resource, units in demands(job, dispatcher.capacities):
            holders.setdefault(resource, {})[job.export if resource.startswith(HEAVY) else job.name] = units
    waiting = dispatcher.waiting_jobs()
    unfinished = {job.name for job in (*waiting, *dispatcher.running)}
    found: dict[str, list[str]] = {}
    for job in waiting:
        why = held(job.group) if held is not None and (not dispatcher.drained or job.share_of in dispatcher.begun) else ""
        reason = f"the end of a pause: {why}" if why else _reason(dispatcher, job, holders, unfinished)
        found.setdefault(reason, []).append(job.name)
    return tuple(Waiting(exports=tuple(names), reason=reason) for reason, names in found.items())


def _reason(dispatcher: Dispatcher, job: Job, holders: Mapping[str, Mapping[str, int]], unfinished: set[str]) -> str:
    if dispatcher.drained and job.share_of not in dispatcher.begun:
        return f"nothing: none starts any more ({dispatcher.drained})"
    before = [name for name in job.depends_on if name in unfinished]
    if before:
        return f"{_names(before)} (depends_on)"
    wave = dispatcher.lowest_wave
    if wave is not None and not dispatcher.may_start_now(job.name):
        return f"the end of wave {wave}"
    for resource, units in demands(job, dispatcher.capacities):
        held = holders.get(resource, {})
        if job.share_of in dispatcher.begun and resource.startswith(HEAVY):
            continue  # its export has it
        there = units_of(resource, dispatcher.capacities)
        if units > there - sum(held.values()):
            takers = ", ".join(f"{name} has {count}" for name, count in held.items())
            return f"{_words(resource, units)} of {there}: {takers}"
    return "its turn: the policy lets others pass"


def _words(resource: str, units: int) -> str:
    kind, _, group = resource.partition(":")
    if kind + ":" in (CONNECTIONS, HEAVY):
        noun = "connection" if kind + ":" == CONNECTIONS else "heavy slot"
        return f"{units} {noun}{'' if units == 1 else 's'} of group {group}, out"
    return {WORKERS: "a worker, out", SERIAL: "the serial token, out"}[kind]


def _names(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return shown if more <= 0 else f"{shown} and {more} more"
