"""Evidence of what the server said when it was asked."""

from __future__ import annotations

from rivet_core.facts import Basis, Dimension, Evidence, ExportFacts, Reason, ReasonKind

DAY = 86400.0


def live(facts: ExportFacts, signal: str, value: float | bool, unit: str = "", *, quality: int = 60) -> Evidence:
    """Return one sample of the server's state, as old as the server's facts."""
    server = facts.server
    return Evidence(
        signal=signal,
        value=value,
        unit=unit,
        source=server.engine,
        observed_at=server.observed_at or facts.as_of,
        quality=quality,
        basis=Basis.ACTIVITY,
    )


def risk(code: str, message: str, *evidence: Evidence, points: int, remedy: str, caveat: str = "") -> tuple[Reason, ...]:
    """Return one reason that adds to the risk; doing the remedy wins its points back."""
    return (
        Reason(
            code=code,
            kind=ReasonKind.MODIFIER,
            dimension=Dimension.RISK,
            family="replica",
            points=points,
            message=message,
            evidence=evidence,
            remedy=remedy,
            caveat=caveat,
            potential=points,
        ),
    )


def span(seconds: float) -> str:
    """Return `90 s`, `12 min`, `5 h` or `3 days`."""
    for length, unit in ((DAY, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
