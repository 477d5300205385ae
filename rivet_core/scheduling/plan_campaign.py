"""A plan file seen as a campaign: its exports as jobs, its source groups as capacities. One reading for simulate and apply."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from rivet_core.errors import ConfigError, PlanRefused
from rivet_core.facts import Capacities, GroupCapacity, Job, connections_of
from rivet_core.scheduling.campaign_file import Campaign
from rivet_core.scheduling.deadlines import is_near_in_plan
from rivet_core.scheduling.shares import SplitIn, with_shares


def campaign_from_plan(plan: Mapping[str, Any]) -> Campaign:
    """Return the campaign of a plan mapping (the parsed plan file). Unplannable exports are left out.

    A split export is as many jobs as it has shares. An export runs in its hand-set wave if any export has one, else in the
    recommended one. Raises `PlanRefused` when the
    mapping is no plan.
    """
    try:
        workers = int(plan["campaign"]["policy"]["workers"])
        groups = {
            name: GroupCapacity(
                max_connections=int(group["max_connections"]),
                max_heavy=int(group["max_heavy"]),
                assumed=bool(group.get("assumed", False)),
            )
            for name, group in plan["source_groups"].items()
        }
        rank = {name: place for place, name in enumerate(plan["campaign"]["ordered_exports"])}
        planned = [(place, export) for place, export in enumerate(plan["exports"]) if export["status"] == "planned"]
        hand_set = any(export.get("wave") is not None for _, export in planned)
        as_of = datetime.fromisoformat(plan["as_of"])
        names = {export["name"] for _, export in planned}
        jobs = with_shares(
            [_job(export, place, rank, as_of, names, hand_set=hand_set) for place, export in planned],
            {
                export["name"]: SplitIn(units=len(export["units"]), shares=int(export["split_in"]))
                for _, export in planned
                if export.get("split_in")
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanRefused(f"this is not a plan file: {error!r}", hint="write one with `rivet plan -o plan.json`") from error
    if workers < 1:
        raise ConfigError(f"campaign.policy.workers is {workers}", hint="use at least 1 worker")
    return Campaign(jobs=jobs, capacities=Capacities(workers=workers, groups=groups))


def _job(
    export: Mapping[str, Any], place: int, rank: Mapping[str, int], as_of: datetime, names: Collection[str], *, hand_set: bool
) -> Job:
    spec = export.get("spec") or {}
    predicted = export["predicted_seconds"]
    return Job(
        name=export["name"],
        group=export["source_group"],
        predicted_seconds=float(predicted["p50"]),
        p90_seconds=float(predicted["p90"]),
        connections=connections_of(int(spec.get("parallel") or 1), len(export["units"]), str(spec.get("snapshot"))),
        heavy=bool(export.get("heavy", False)),
        serial=spec.get("parallel_safe") is False,
        parallel_safe=bool(export.get("parallel_safe", True)),
        tier=export.get("tier") or "normal",
        deadline=is_near_in_plan(spec, as_of),
        wave=export.get("wave") if hand_set else export.get("recommended_wave"),
        rank=rank.get(export["name"], len(rank) + place),
        position=place,
        depends_on=tuple(name for name in spec.get("depends_on") or () if name in names),
    )
