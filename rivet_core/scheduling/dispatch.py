"""The one engine that decides what starts next, shared by the executor, the simulator and the plan's prediction.

Nothing here knows threads or time: whoever uses it from several threads holds one lock around every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rivet_core.api import SchedulingPolicy
from rivet_core.errors import ConfigError
from rivet_core.facts import Capacities, Job, PoolState
from rivet_core.scheduling.chains import LAST_WAVE, Chains
from rivet_core.scheduling.policies import PolicyGuard
from rivet_core.scheduling.queues import Queues
from rivet_core.scheduling.resources import WORKERS, check_capacities

MAX_HEADS = 64
"""A policy sees at most this many heads, the first ones in its own order, so a claim stays cheap with hundreds of groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job left: `succeeded`, `failed` or `skipped`; `because` is the failed job's name, or the reason given to `skip`."""

    status: str
    because: str = ""
    seconds: float | None = None


class Dispatcher:
    """Hands out jobs one by one under `policy`, each once, and never more than `capacities` hold.

    Raises `ConfigError` for a capacity below 1, two jobs of one name, or a circle in `depends_on`; `PluginError` when the
    policy cannot be loaded. Wrong answers of the policy are counted in `violations` and replaced by the first feasible job.
    """

    def __init__(self, jobs: Sequence[Job], capacities: Capacities, policy: SchedulingPolicy) -> None:
        check_capacities(capacities)
        self._jobs = {job.name: job for job in jobs}
        if len(self._jobs) < len(jobs):
            twice = next(job.name for job in jobs if job is not self._jobs[job.name])
            raise ConfigError(f"two exports are named {twice}", hint="give each export a name of its own")
        self.capacities = capacities
        self._guard = PolicyGuard(policy)
        self._chains = Chains(jobs)
        self._wave_of = self._chains.waves(jobs) if policy.waves else dict.fromkeys(self._jobs, LAST_WAVE)
        self._unfinished: dict[int, int] = {}
        for wave in self._wave_of.values():
            self._unfinished[wave] = self._unfinished.get(wave, 0) + 1
        self._waves = sorted(self._unfinished, reverse=True) or [LAST_WAVE]
        self._ordered = tuple(self._jobs[name] for name in self._guard.order(jobs, capacities))
        self._front = self._guard.front(jobs, capacities)
        self._queues = Queues(
            self._ordered,
            capacities,
            self._wave_of,
            self._chains.held,
            self._waves[-1],
            split_promised=policy.front is not None,
        )
        self._remaining = MappingProxyType(self._queues.remaining)
        self._running: dict[str, Job] = {}
        self._running_now: tuple[Job, ...] | None = ()
        self._ended: dict[str, Ended] = {}
        self._begun: dict[str, int] = {}
        self._waiting = len(jobs)
        self._drained = ""

    @property
    def waiting(self) -> int:
        """How many jobs have not started."""
        return self._waiting

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs on the way, in the order in which they started."""
        if self._running_now is None:
            self._running_now = tuple(self._running.values())
        return self._running_now

    @property
    def done(self) -> Mapping[str, Ended]:
        """Every job that ended, by name, in the order of ending."""
        return MappingProxyType(self._ended)

    @property
    def finished(self) -> bool:
        """True when nothing runs and nothing will start any more."""
        return not self._running and (self._waiting == 0 or (bool(self._drained) and not self.begun))

    @property
    def drained(self) -> str:
        """Why nothing starts any more, empty while it may."""
        return self._drained

    @property
    def begun(self) -> frozenset[str]:
        """The exports of which a share has started, and another one has not ended."""
        return frozenset(name for name, left in self._begun.items() if left)

    @property
    def lowest_wave(self) -> int | None:
        """The wave that may start now; `None` without barriers, or when only jobs without a wave are left."""
        return None if self._waves[-1] == LAST_WAVE else self._waves[-1]

    @property
    def waves(self) -> Mapping[str, int]:
        """The wave in which each job runs; `LAST_WAVE` for those without, and for all where there are no barriers."""
        return MappingProxyType(self._wave_of)

    def may_start_now(self, name: str) -> bool:
        """Whether the wave of `name` is the one that may start now."""
        return self._wave_of[name] == self._waves[-1]

    @property
    def front(self) -> frozenset[str]:
        """The jobs that the policy lets pass all others (those that `fast-lane` promoted)."""
        return self._front

    @property
    def remaining(self) -> Mapping[str, float]:
        """Predicted seconds still ahead per resource (work / units), running jobs included."""
        return self._remaining

    @property
    def violations(self) -> int:
        """How many answers of the policy were wrong and replaced."""
        return self._guard.violations

    @property
    def violation_messages(self) -> tuple[str, ...]:
        """The first of them in words."""
        return tuple(self._guard.messages)

    def waiting_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that have not started, in the policy's order."""
        return tuple(job for job in self._ordered if job.name not in self._ended and job.name not in self._running)

    def state(self, heads: Sequence[Job] | None = None) -> PoolState:
        """Return what the policy sees when a worker asks for work; `heads` are what it may choose from, by default all."""
        heads = self._heads() if heads is None else heads
        return PoolState(
            heads=tuple(heads[:MAX_HEADS]) if self._queues.free[WORKERS] > 0 else (),
            running=self.running,
            remaining=self._remaining,
            waiting=self._waiting,
            lowest_wave=self.lowest_wave,
            scarce=self._queues.scarce,
            front=self._front,
            workers=self.capacities.workers,
        )

    def claim(self, held: Callable[[str], str] | None = None) -> Job | None:
        """Start the policy's next job and return it; `None` when nothing may start before a running job ends.

        `held(group)` says why nothing may start in a group just now, empty when it may.
        """
        heads = self._heads()
        if held is not None:
            heads = [job for job in heads if not held(job.group)]
        if not heads or self._queues.free[WORKERS] <= 0:
            return None
        job = self._guard.choose(self.state(heads)) if self._guard.chooses else heads[0]
        if job is None:
            return None
        self._queues.take(job)
        if job.share_of and job.share_of not in self._begun:
            self._begun[job.share_of] = job.shares - self._gone(job)
        self._running[job.name] = job
        self._running_now = None
        self._waiting -= 1
        return job

    def finish(self, name: str, *, ok: bool = True, actual_seconds: float | None = None) -> tuple[str, ...]:
        """Record that running job `name` ended and free what it took; return the dependants skipped because it failed.

        Raises `KeyError` when `name` is not running: a bug of the caller.
        """
        job = self._running.pop(name)
        self._running_now = None
        self._queues.give_back(job)
        self._leave(job, Ended(status="succeeded" if ok else "failed", seconds=actual_seconds))
        if not ok:
            return self._skip_behind(name)
        for later in self._chains.release(name):
            if later not in self._ended:
                self._queues.push(self._jobs[later])
        return ()

    def fail(self, name: str, *, actual_seconds: float | None = None) -> tuple[str, ...]:
        """Record that running job `name` failed: `finish` with `ok=False`."""
        return self.finish(name, ok=False, actual_seconds=actual_seconds)

    def skip(self, name: str, because: str) -> tuple[str, ...]:
        """Take the waiting job `name` out for a reason of the caller; return it and its dependants, `()` if not waiting."""
        if name not in self._jobs or name in self._ended or name in self._running:
            return ()
        self._take_out(name, because)
        return (name, *self._skip_behind(name))

    def drain(self, because: str = "interrupted") -> None:
        """Start nothing any more but the shares of exports that have begun; running jobs go on until they end."""
        self._drained = self._drained or because

    def _heads(self) -> list[Job]:
        """Return what a policy may choose from."""
        heads = self._queues.heads
        return [job for job in heads if self._begun.get(job.share_of)] if self._drained else heads

    def _gone(self, share: Job) -> int:
        """Return how many shares of an export that begins now were taken out before."""
        return sum(self._jobs[name].share_of == share.share_of for name in self._ended)

    def _skip_behind(self, name: str) -> tuple[str, ...]:
        skipped = tuple(later for later in self._chains.behind(name) if later not in self._ended)
        for later in skipped:
            self._take_out(later, name)
        return skipped

    def _take_out(self, name: str, because: str) -> None:
        job = self._jobs[name]
        self._waiting -= 1
        self._queues.discard(job)
        self._leave(job, Ended(status="skipped", because=because))

    def _leave(self, job: Job, ended: Ended) -> None:
        self._ended[job.name] = ended
        self._queues.settle(job)
        if job.share_of in self._begun:
            self._begun[job.share_of] -= 1
        self._unfinished[self._wave_of[job.name]] -= 1
        opened = False
        while len(self._waves) > 1 and self._unfinished[self._waves[-1]] == 0:
            self._waves.pop()
            opened = True
        if opened:
            self._queues.open_wave(self._waves[-1])
