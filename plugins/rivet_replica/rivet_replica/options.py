"""What stands under `plugins.options.rivet_replica` in the config."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rivet_core.options import PluginOptions

Points = Annotated[int, Field(ge=0, le=10)]


class ReplicaOptions(PluginOptions):
    """Limits from which on a rule speaks, and what it then adds to the risk. Core caps one plugin at 10 points."""

    max_lag_seconds: float = Field(default=60.0, gt=0, description="a standby further behind than this gets X-replica-001")
    lag_points: Points = Field(default=4, description="points of X-replica-001")
    conflicts_per_day: float = Field(default=1.0, gt=0, description="from so many cancelled reads a day on, X-replica-002")
    conflict_points: Points = Field(default=4, description="points of X-replica-002; half of them when the rate is unknown")
    long_transaction_seconds: float = Field(default=600.0, gt=0, description="a transaction open for longer, X-replica-003")
    transaction_points: Points = Field(default=3, description="points of X-replica-003")
    headroom: float = Field(default=0.1, ge=0, lt=1, description="share of the connections that must stay free, X-replica-004")
    headroom_points: Points = Field(default=3, description="points of X-replica-004")
