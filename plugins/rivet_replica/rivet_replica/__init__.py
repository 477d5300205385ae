"""Scoring rules about reading from replicas. Holds the hook only; everything else is imported when a plan is judged."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import ScoringRule, hookimpl

__version__ = "0.1.0"

_OPTIONS = "rivet_replica.options:ReplicaOptions"


@hookimpl
def rivet_scoring_rules() -> Sequence[ScoringRule]:
    """Four rules, one code each, all on the risk."""
    return [
        ScoringRule(
            name="replica-lag",
            summary="The standby is behind by more than max_lag_seconds",
            codes=("X-replica-001",),
            dimension="risk",
            score="rivet_replica.lag:score",
            options=_OPTIONS,
        ),
        ScoringRule(
            name="replica-conflicts",
            summary="Replay has cancelled reads on this standby",
            codes=("X-replica-002",),
            dimension="risk",
            score="rivet_replica.conflicts:score",
            options=_OPTIONS,
        ),
        ScoringRule(
            name="replica-transactions",
            summary="A transaction has been open for longer than long_transaction_seconds",
            codes=("X-replica-003",),
            dimension="risk",
            score="rivet_replica.transactions:score",
            options=_OPTIONS,
        ),
        ScoringRule(
            name="replica-headroom",
            summary="Few connections would be left beside the export",
            codes=("X-replica-004",),
            dimension="risk",
            score="rivet_replica.headroom:score",
            options=_OPTIONS,
        ),
    ]
