"""T3: random events against the real executor on a virtual clock, with the capacities counted outside of it."""

from __future__ import annotations

import random
from dataclasses import replace

from benchmarks.schedule.families import POLICIES, Instance, draw
from benchmarks.schedule.play import Play
from benchmarks.schedule.row import Row
from rivet_core.facts import Job
from rivet_core.state import read_state


def measure_disturbance(events: int) -> list[Row]:
    """T3: the real executor on a virtual clock: starts, ends, failures, retries, cancels; the capacities counted outside."""
    rng, done, wrong, seed = random.Random("events"), 0, 0, 0
    names = list(POLICIES)
    with read_state("sqlite:///none.db") as state:
        while done < events:
            instance = disturb(draw(rng.choice(["replica", "tight", "narrow", "scan"]), seed), rng)
            play = Play(instance.jobs, instance.capacities, POLICIES[names[seed % len(names)]], state, rng)
            play.play(failing=0.03, cancelling=0.0002)
            done, wrong, seed = done + play.events, wrong + len(play.wrong), seed + 1
    return [Row("T3", f"broken promises in {done:,} events of the executor", str(wrong), "0", wrong == 0)]


def disturb(instance: Instance, rng: random.Random) -> Instance:
    """Return `instance` with inner parallelism, serial exports, waves and dependencies sprinkled in."""
    jobs: list[Job] = []
    for job in instance.jobs:
        before = (rng.choice(jobs).name,) if jobs and rng.random() < 0.1 else ()
        jobs.append(
            replace(
                job,
                connections=rng.choice((1, 1, 1, 2, 8)),
                serial=rng.random() < 0.05,
                wave=rng.choice((None, 1, 2, 3)),
                depends_on=before,
            )
        )
    return replace(instance, jobs=tuple(jobs))
