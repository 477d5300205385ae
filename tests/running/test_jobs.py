"""Deadlines mean the same in the plan, in the run and in a simulation of the plan."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.artifact.canonical import seal
from rivet_core.running.jobs import capacities_of, choose_policy, jobs_of
from rivet_core.running.task import tasks_from_plan
from rivet_core.scheduling.plan_campaign import campaign_from_plan


@pytest.mark.parametrize(("window", "near"), [("24h", True), ("3h", True), ("1h", False)])
def test_a_deadline_counts_inside_the_window_and_a_declared_one_chooses_the_policy(shop, window, near):
    now = datetime.now(UTC)
    due = now + timedelta(hours=2)
    shop.config(
        {"name": "a", "table": "customers", "value": {"deadline": f"{due:%H:%M}"}},
        {"name": "b", "table": "orders"},
        planning={"window": window},
    )
    plan = shop.plan(as_of=now)
    assert plan.campaign.policy.name == "fast-lane"
    tasks = tasks_from_plan(plan)
    assert choose_policy(plan, tasks, shop.registry, policy=None, pool=2).name == "fast-lane"
    running = jobs_of(tasks, capacities_of(plan, tasks, 2), {})
    simulated = campaign_from_plan(plan.model_dump(mode="json")).jobs
    assert [job.deadline for job in running] == [job.deadline for job in simulated] == [near, False]
    assert ("RV504" in [reason.code for reason in plan.exports[0].reasons]) is near


def test_a_split_export_is_the_same_jobs_for_the_run_and_for_a_simulation(shop):
    shop.config(
        {"name": "orders", "table": "orders", "mode": "chunked", "chunk_size": 25, "parallel": 2},
        {"name": "late", "table": "customers", "depends_on": ["orders"]},
        source={"type": "sqlite", "path": "shop.db", "source_group": "g"},
        source_groups={"g": {"max_connections": 4}},
    )
    plan = shop.plan()
    orders, late = plan.exports
    plan = seal(plan.model_copy(update={"exports": (orders.model_copy(update={"split_in": 3}), late)}))
    tasks = tasks_from_plan(plan)
    running = jobs_of(tasks, capacities_of(plan, tasks, 4), {})
    assert running == campaign_from_plan(plan.model_dump(mode="json")).jobs
    assert [job.name for job in running] == ["orders/1", "orders/2", "orders/3", "late"]
    assert running[3].depends_on == ("orders/1", "orders/2", "orders/3")
    assert running[0].predicted_seconds == pytest.approx(orders.predicted_seconds.p50 * 2 / 3)
    whole, _ = jobs_of(tasks, capacities_of(plan, tasks, 4), {}, whole=True)
    assert (whole.name, whole.connections) == ("orders", 2)
