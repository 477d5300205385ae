"""A campaign as the plan predicts it, as `rivet simulate` plays it, and on the clock."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.live.campaign import LiveCampaign
from benchmarks.schedule.families import POLICIES
from benchmarks.schedule.row import Row
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.scheduling.simulate import simulate_campaign

SHARE, SECONDS = 0.10, 3.0
"""They agree when they differ by at most this share, or by so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Makespans in seconds, medians of `runs`."""

    planned: float
    simulated: float
    lived: float
    runs: int

    @property
    def off(self) -> float:
        """How far the worse of plan and simulation is from the clock."""
        return max(abs(self.planned - self.lived), abs(self.simulated - self.lived))

    def row(self, what: str) -> Row:
        """Return all three beside what is wanted."""
        return Row(
            "",
            f"{what}: plan / simulate / live, median of {self.runs}",
            f"{self.planned:.1f} / {self.simulated:.1f} / {self.lived:.1f} s",
            f"within {SHARE:.0%} or {SECONDS:.0f} s",
            self.off <= max(SHARE * self.lived, SECONDS),
        )


def compare(campaign: LiveCampaign, *, runs: int, split: bool = False) -> Compared:
    """Plan, simulate and run it so many times."""
    planned, simulated, lived = [], [], []
    for _ in range(runs):
        plan = campaign.plan(split=split)
        result = simulate_campaign(campaign_from_plan(plan.model_dump(mode="json")), POLICIES[plan.campaign.policy.name])
        planned.append(plan.campaign.predicted.makespan_seconds)
        simulated.append(result.makespan_seconds)
        lived.append(campaign.apply(plan).seconds)
    middle = [statistics.median(values) for values in (planned, simulated, lived)]
    return Compared(planned=middle[0], simulated=middle[1], lived=middle[2], runs=runs)
