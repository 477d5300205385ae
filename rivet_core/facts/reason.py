"""A reason: why a score is what it is, with points, evidence and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rivet_core.facts.evidence import Evidence


class Dimension(StrEnum):
    """What a score is about (scoring section 1)."""

    COST = "cost"
    RISK = "risk"
    VALUE = "value"


class ReasonKind(StrEnum):
    """The part a reason plays in the fold (scoring section 2)."""

    BASE = "base"
    MODIFIER = "modifier"
    CORROBORATES = "corroborates"
    GATE = "gate"
    CLAMP = "clamp"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One entry of an explanation. All text derives from structured fields; no logic reads `message`.

    `points` are whole and signed; 0 for info, gate and corroborates. `provider` is filled in by core with the plugin's name.
    `potential` is what doing the remedy would win, in points. `group` and `exports` place a campaign reason: `exports` lists
    those concerned, one name when it belongs to a single export. `suppressed` is `(reason, until)` for one the config muted.
    """

    code: str
    kind: ReasonKind
    message: str
    dimension: Dimension | None = None
    family: str = ""
    points: int = 0
    provider: str = ""
    rule_version: int = 1
    evidence: tuple[Evidence, ...] = ()
    caveat: str = ""
    remedy: str = ""
    potential: int = 0
    group: str = ""
    exports: tuple[str, ...] = ()
    suppressed: tuple[str, str] | None = None
