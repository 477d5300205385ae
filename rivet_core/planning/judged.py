"""One planned export as campaigns are put together from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rivet_core.facts import ExportFacts, Tier
from rivet_core.planning.judge import Judgement
from rivet_core.scheduling.predict import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One planned export with its judgement and prediction; it answers to the rank key and to isolation."""

    facts: ExportFacts
    judgement: Judgement
    prediction: Prediction
    connections: int
    deadline: bool

    @property
    def name(self) -> str:
        """The export's name."""
        return self.facts.spec.name

    @property
    def group(self) -> str:
        """Its source group."""
        return self.facts.group

    @property
    def tier(self) -> Tier:
        """The declared tier, normal when none is."""
        return self.facts.spec.value.tier or Tier.NORMAL

    @property
    def tier_rank(self) -> int:
        """0 low, 1 normal, 2 high."""
        return self.tier.rank

    @property
    def priority(self) -> int:
        """0..1000."""
        return self.judgement.priority

    @property
    def last_success(self) -> datetime | None:
        """When it last succeeded."""
        return self.facts.last_success

    @property
    def cost(self) -> int:
        """0..100."""
        return self.judgement.scores.cost

    @property
    def work_bytes(self) -> int:
        """Expected work in bytes."""
        return self.judgement.work.bytes

    @property
    def heavy(self) -> bool:
        """Whether it takes a heavy slot of its group."""
        return self.judgement.heavy
