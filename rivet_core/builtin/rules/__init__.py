"""Core's own scoring rules, a file per family. Records with lazy references: listing them imports none of the rules."""

from __future__ import annotations

from rivet_core.api import ScoringRule

_HERE = "rivet_core.builtin.rules"
_RULES: tuple[tuple[str, str, str | None, tuple[str, ...]], ...] = (
    ("neutral", "where risk and value start", None, ("RV001", "RV002")),
    ("size", "how much work it is", "cost", ("RV101", "RV102", "RV103", "RV105", "RV106", "RV107", "RV109", "RV110", "RV801")),
    ("shape", "what the table's shape adds", "cost", ("RV104", "RV202", "RV204", "RV205", "RV206")),
    ("pressure", "range reads without an index", "cost", ("RV201", "RV203")),
    (
        "cursor",
        "how far the cursor can be trusted",
        "risk",
        ("RV301", "RV302", "RV303", "RV304", "RV305", "RV306", "RV307", "RV308", "RV309", "RV310"),
    ),
    ("mutability", "rows that change or vanish", "risk", ("RV401", "RV402", "RV403")),
    ("config", "drifted columns, required reconcile", None, ("RV404", "RV606")),
    ("freshness", "age against the target, and whether anything changed", "value", ("RV501", "RV502", "RV505", "RV706")),
    ("declared", "consumers, deadline, tier", "value", ("RV503", "RV504", "RV510")),
    ("history", "what past runs say", None, ("RV601", "RV602", "RV603", "RV604", "RV605", "RV607")),
    ("source", "the source's role and present state", "risk", ("RV704", "RV705", "RV707", "RV708")),
    ("trust", "why a number is uncertain", None, ("RV802", "RV803", "RV804", "RV805", "RV806")),
    ("advice", "a better way to read, and declared gates", None, ("RV111", "RV901")),
)


def builtin_rules() -> tuple[ScoringRule, ...]:
    """Return the records of all core rules."""
    return tuple(
        ScoringRule(name=name, summary=summary, codes=codes, score=f"{_HERE}.{name}:score", dimension=dimension)
        for name, summary, dimension, codes in _RULES
    )
