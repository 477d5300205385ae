"""Why an export does not rank higher: the causes add up to its priority."""

from __future__ import annotations

from plans import export, plan, reason

from rivet_core.planning.breakdown import ahead_of, recompute_exports, shares
from rivet_core.planning.ranking import priority
from rivet_core.render.why_not import why_not

REASONS = (
    reason("RV102", points=45, kind="base", family="size"),
    reason("RV201", points=15, remedy="CREATE INDEX", potential=15),
    reason("RV001", points=10, kind="base", dimension="risk", family="neutral"),
    reason("RV304", points=10, dimension="risk", family="cursor"),
    reason("RV002", points=40, kind="base", dimension="value", family="neutral"),
    reason("RV510", points=30, dimension="value", family="declared"),
)
SCORES = {"cost": 60, "risk": 20, "value": 70}


def judged(confidence: int = 100) -> object:
    rank = priority(60, 20, 70, confidence)
    return export(
        "a",
        priority=rank / 10,
        reasons=REASONS,
        scores=SCORES,
        confidence={"cost": 80, "risk": 90, "value": confidence},
    )


def test_the_causes_add_up_to_the_priority() -> None:
    for confidence in (100, 95, 20):
        one = judged(confidence)
        causes = shares(one)  # type: ignore[arg-type]
        assert sum(share.points for share in causes) == round(one.priority_score * 10) - 500  # type: ignore[attr-defined]
    by_cause = {share.cause: share for share in shares(judged())}  # type: ignore[arg-type]
    assert by_cause["cost, pressure"].points == -45
    assert by_cause["cost, pressure"].remedies == ("CREATE INDEX",)
    assert by_cause["risk, cursor"].points == -30
    assert by_cause["value, declared"].points == 180
    assert by_cause["cost, size"].points == 15


def test_weak_support_of_value_is_a_cause_of_its_own() -> None:
    causes = [share.cause for share in shares(judged(20))]  # type: ignore[arg-type]
    assert "value counts only as far as it is supported" in causes


def test_folding_again_agrees_and_finds_a_lie() -> None:
    (found,) = recompute_exports([judged()])  # type: ignore[list-item]
    assert found.agrees
    lie = judged().model_copy(update={"priority_score": 99.9})  # type: ignore[attr-defined]
    (found,) = recompute_exports([lie])
    assert not found.agrees


def test_who_is_ahead_and_why() -> None:
    first, second = export("x", tier="high", priority=10.0), export("y", priority=80.0)
    third = export("z", priority=80.0)
    made = plan([first, second, third])
    assert [(item.name, item.because.split(":")[0]) for item in ahead_of(made, third)] == [
        ("y", "equal priority"),
        ("x", "tier high before normal"),
    ]
    text = why_not(made, third)
    assert "who ranks just before" in text
    assert "it ranks first" in why_not(made, first)
