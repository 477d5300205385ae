"""What is left of a campaign while it runs: a lower bound of the time, the wave, and the connections each group has in use."""

from __future__ import annotations

from collections.abc import Mapping

from rivet_core.artifact import Plan
from rivet_core.facts import Job
from rivet_core.render.quantities import seconds
from rivet_core.running.jobs import capacities_of, jobs_of
from rivet_core.running.task import tasks_from_plan
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.resources import demands


class Remaining:
    """The jobs of a plan that have not ended. `workers` and `policy` are those that run it."""

    def __init__(self, plan: Plan, workers: int, policy: str) -> None:
        tasks = tasks_from_plan(plan)
        self._capacities = capacities_of(plan, tasks, workers)
        self._left = {job.name: job for job in jobs_of(tasks, self._capacities, {})}
        self._unknown = {task.name for task in tasks if task.basis == "unknown"}
        self._waves = {job.wave for job in self._left.values() if job.wave is not None} if policy.startswith("waves") else set()

    def ended(self, export: str) -> None:
        """Leave an export out from now on."""
        for name in [name for name, job in self._left.items() if job.export == export]:
            del self._left[name]

    def share_ended(self, name: str) -> None:
        """Leave a share of a split export out from now on."""
        self._left.pop(name, None)

    def time_text(self, elapsed: Mapping[str, float]) -> str:
        """Say how long it takes at least, given the seconds that each running export or share has run; empty when nothing is
        left.

        It is a bound and said as one: an export past its prediction counts nothing, since nobody knows when it ends.
        """
        if not self._left:
            return ""
        durations = {
            name: max(0.0, self._left[name].predicted_seconds - spent) for name, spent in elapsed.items() if name in self._left
        }
        bound = lower_bound(tuple(self._left.values()), self._capacities, durations)
        left = {job.export for job in self._left.values()}
        unknown = len(self._unknown & left)
        hedge = f", {unknown} of {len(left)} left unmeasured" if unknown else ""
        return f"at least {seconds(bound.seconds)} to go{hedge}"

    def wave_text(self, running: Mapping[str, float]) -> str:
        """Say which wave runs, empty without barriers."""
        if len(self._waves) < 2:
            return ""
        now = [job.wave for name in running if (job := self._left.get(name)) is not None and job.wave is not None]
        return f"wave {min(now)} of {len(self._waves)}" if now else ""

    def occupancy_text(self, running: Mapping[str, float]) -> str:
        """Say how many connections each group has in use, and how many it may have."""
        used: dict[str, int] = {}
        for name in running:
            job = self._left.get(name)
            if job is not None:
                used[job.group] = used.get(job.group, 0) + self._connections(job)
        return "  ".join(
            f"{name} {taken}/{self._capacities.groups[name].max_connections} connections"
            for name, taken in sorted(used.items())
        )

    def _connections(self, job: Job) -> int:
        return dict(demands(job, self._capacities))[f"connections:{job.group}"]
