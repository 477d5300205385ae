"""Two plans compared: what moved, which reason moved it, and that times and ids are no differences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from plans import export, plan, reason

from rivet_core.artifact.diff import diff_plans
from rivet_core.render.diff_view import diff_text

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def test_the_same_plan_at_another_time_does_not_differ() -> None:
    one = plan([export("a")], at=NOW)
    two = plan([export("a")], at=NOW + timedelta(days=1), plan_id="other")
    found = diff_plans(one, two)
    assert not found.differs
    assert diff_text(found) == "the plans say the same"
    assert found.as_dict() == {"differs": False, "added": [], "removed": [], "campaign": {}, "changed": []}


def test_the_reason_that_moved_a_rank_is_named() -> None:
    one = plan([export("a", priority=60.0), export("b", priority=50.0)])
    heavy = export("a", priority=40.0, reasons=(reason("RV201", points=15),))
    two = plan([export("b", priority=50.0), heavy])
    found = diff_plans(one, two)
    change = next(item for item in found.changed if item.name == "a")
    assert change.fields["rank"] == (1, 2)
    assert change.fields["priority"] == (60.0, 40.0)
    (moved,) = change.reasons
    assert (moved.code, moved.before, moved.after) == ("RV201", None, 15)
    assert "RV201 cost - -> +15" in diff_text(found)


def test_added_and_removed_exports() -> None:
    found = diff_plans(plan([export("a"), export("b")]), plan([export("b"), export("c")]))
    assert (found.added, found.removed) == (("c",), ("a",))
    assert "+ c is new" in diff_text(found)


def test_a_changed_spec_is_a_difference() -> None:
    found = diff_plans(plan([export("a")]), plan([export("a", spec={"mode": "chunked"})]))
    assert found.changed[0].fields["spec.mode"] == (None, "chunked")
