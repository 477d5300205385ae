"""A policy record made callable, and its answers checked: a policy can be slow or odd, but never break a campaign.

The dispatcher counts every wrong answer as a *violation* and goes on with a safe choice instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from rivet_core.api import Ref, SchedulingPolicy
from rivet_core.errors import PluginError, in_words
from rivet_core.facts import Capacities, Job, PoolState
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins.lazy import load_reference
from rivet_core.plugins.limit import SECONDS, Overdue, call_within

MAX_MESSAGES = 20
"""Violations beyond this many different ones are counted but not worded."""

OURS = "rivet_core."


class PolicyGuard:
    """One policy in use. `violations` counts its wrong answers, `messages` words the first ones."""

    def __init__(self, policy: SchedulingPolicy) -> None:
        self.name = policy.name
        self.waves = policy.waves
        self.violations = 0
        self.messages: list[str] = []
        self.chooses = policy.next is not None
        self._order: Callable[..., Any] = _load(policy, policy.order)
        self._next: Callable[..., Any] | None = None if policy.next is None else _load(policy, policy.next)
        self._front: Callable[..., Any] | None = None if policy.front is None else _load(policy, policy.front)
        # A limit costs a thread or a timer for each claim: our own functions, which loop over a few heads, need none.
        functions = (self._order, self._next, self._front)
        self._ours = all(function is None or _module(function).startswith(OURS) for function in functions)

    def order(self, jobs: Sequence[Job], capacities: Capacities) -> list[str]:
        """Return each job's name exactly once, in the policy's order; what it forgot follows in config order."""
        # No more of an answer than can be right: it may have no end.
        most = len(jobs) + 1
        good, answer = self._ask("order", lambda: _texts(islice(self._order(jobs, capacities), most)))
        if good and (len(answer) != len(jobs) or set(answer) != {job.name for job in jobs}):
            said = "more" if len(answer) == most else str(len(answer))
            self.report(f"order returned {said} names for {len(jobs)} exports, or not each once")
        known = {job.name for job in jobs}
        rest = [job.name for job in sorted(jobs, key=lambda job: (job.position, job.name))]
        return list(dict.fromkeys([name for name in answer or () if name in known] + rest))

    def front(self, jobs: Sequence[Job], capacities: Capacities) -> frozenset[str]:
        """Return the names that may pass all others; empty for most policies."""
        front = self._front
        if front is None:
            return frozenset()
        good, answer = self._ask("front", lambda: {job.name for job in jobs}.intersection(_texts(front(jobs, capacities))))
        return frozenset(answer) if good else frozenset()

    def choose(self, state: PoolState) -> Job | None:
        """Return one of the heads, or `None` to wait; never waits while nothing runs."""
        heads, choose = state.heads, self._next
        if choose is None:
            return heads[0]
        good, name = self._ask("next", lambda: _text(choose(state)))
        if not good:
            return heads[0]
        if name is None:
            if state.running:
                return None
            self.report("next waited although nothing runs")
            return heads[0]
        for job in heads:
            if job.name == name:
                return job
        self.report(f"next returned {name[:80]!r}, which is not one of the exports that may start now")
        return heads[0]

    def _ask(self, what: str, call: Callable[[], Any]) -> tuple[bool, Any]:
        """Return whether the policy answered, and what. A foreign one may do anything; the campaign goes on without it."""
        try:
            return True, call() if self._ours else call_within(SECONDS, call)
        except Overdue:
            self.report(f"{what} took more than {SECONDS:g} s and is not asked again")
            self._next = None
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            self.report(f"{what} raised {in_words(error)}")
        return False, None

    def report(self, message: str) -> None:
        """Count a wrong answer."""
        self.violations += 1
        said = f"policy {self.name}: {message}"
        if len(self.messages) < MAX_MESSAGES and said not in self.messages:
            self.messages.append(said)


def _texts(names: Iterable[object]) -> list[str]:
    return [_text(name) or "" for name in names]


def _text(name: object) -> str | None:
    """Return a name as plain text: to compare whatever else it is would run the plugin's code outside of the guard."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{type(name).__name__} is no name")
    return None if name is None else str.__str__(name)  # a subclass has a `str()` of its own


def _module(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__module__", ""))


def _load(policy: SchedulingPolicy, ref: Ref) -> Callable[..., Any]:
    """Return the function behind a lazy reference. Raises `PluginError` when there is none."""
    target: object = ref
    if isinstance(ref, str):
        try:
            target = load_reference(ref)
        except (PluginError, ImportError, AttributeError, ValueError) as error:
            raise PluginError(
                f"scheduling policy {policy.name} refers to {ref}, which cannot be loaded: {error}",
                hint="upgrade or block the plugin that offers this policy, or choose another --policy",
            ) from error
    if not callable(target):
        raise PluginError(
            f"scheduling policy {policy.name} refers to {ref!r}, which is not a function",
            hint="upgrade or block the plugin that offers this policy, or choose another --policy",
        )
    return target
