"""The objects that a plan is made of. Frozen; unknown keys are refused. Times are UTC, durations seconds, sizes bytes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue

Level: TypeAlias = Literal["low", "medium", "high"]
CostLevel: TypeAlias = Literal["low", "medium", "high", "very_high"]


_set = object.__setattr__


class Shape(BaseModel):
    """Base of every object in the plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    _names: ClassVar[set[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Note the fields once per shape."""
        cls._names = set(cls.model_fields)

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Build from every field's value, known to be right, without checking it: a large plan is made of a million values.

        What comes out equals what reading the file back gives, which checks each.
        """
        made = cls.__new__(cls)
        _set(made, "__dict__", values)
        _set(made, "__pydantic_fields_set__", cls._names)
        _set(made, "__pydantic_extra__", None)
        _set(made, "__pydantic_private__", None)
        return made


class PlanEvidence(Shape):
    """One signal behind a number. `quality` 0..100 when fresh; `observed_at` is when the value was true."""

    signal: str
    value: int | float | str | bool | None
    unit: str
    source: str
    observed_at: AwareDatetime | None
    quality: int


class Suppressed(Shape):
    """Why and until when the config mutes a reason (`until` empty: for good)."""

    reason: str
    until: str


class PlanReason(Shape):
    """One entry of the explanation; the points of a dimension add up to its score (law L6)."""

    code: str
    kind: Literal["base", "modifier", "corroborates", "gate", "clamp", "info"]
    dimension: Literal["cost", "risk", "value"] | None
    family: str
    points: int
    provider: str
    rule_version: int
    message: str
    evidence: tuple[PlanEvidence, ...]
    caveat: str
    remedy: str
    potential: int
    suppressed: Suppressed | None = None


class CampaignReason(PlanReason):
    """A reason about a group or the whole campaign: `exports` are those concerned."""

    group: str
    exports: tuple[str, ...]


class ConfigRef(Shape):
    """The config the plan was made from: absolute path and digest of its bytes."""

    path: str
    sha256: str


class PluginLock(Shape):
    """A plugin that took part; apply refuses another major or minor version of the source or destination."""

    name: str
    dist: str
    version: str
    api: int


class PlanSource(Shape):
    """A source as planned. `options` holds references only; an inline credential stands as `{config, key}`."""

    type: str
    group: str
    options: dict[str, JsonValue]
    observed_at: AwareDatetime | None
    role: Literal["primary", "standby", "unknown"]
    engine: str
    version: str
    address: str
    max_connections: int | None
    used_connections: int | None
    active_sessions: int | None
    replica_lag_seconds: float | None
    statements: int
    """Catalog statements that plan sent to this source."""


class PlanGroup(Shape):
    """Capacity of a source group; `assumed` when the config does not declare it."""

    max_connections: int
    max_heavy: int
    assumed: bool
    max_lag_seconds: float = 30.0
    max_lock_waits: int = 5


class PlanState(Shape):
    """Where the state lives: a URL or a reference; one with a credential in it stands as `{config, key}`."""

    url: str | dict[str, str]


class PolicyChoice(Shape):
    """What `apply PLAN` runs."""

    name: str
    workers: int


class PlanWave(Shape):
    """A numbered group that starts together, and how long it is predicted to take."""

    wave: int
    exports: tuple[str, ...]
    predicted_seconds: float


class GroupWarning(Shape):
    """What must not run together, and who it is."""

    group: str
    code: str
    message: str
    exports: tuple[str, ...]


class Binding(Shape):
    """The resource that sets the lower bound, in words."""

    kind: str
    name: str
    explanation: str


class LowerBound(Shape):
    """No schedule can be shorter than this."""

    seconds: float
    binding: Binding


class PredictionBasis(Shape):
    """How many exports' durations were measured, estimated from size, or unknown."""

    measured: int
    estimated: int
    unknown: int


class Prediction(Shape):
    """What the chosen policy is predicted to take."""

    policy: str
    workers: int
    makespan_seconds: float
    basis: PredictionBasis


class WhatIf(Shape):
    """The lower bound after one change."""

    change: str
    lower_bound_seconds: float


class Scores(Shape):
    """Cost, risk and value, or the confidence in each: 0..100."""

    cost: int
    risk: int
    value: int


class PredictedSeconds(Shape):
    """A range of wall time and what it rests on."""

    p10: float
    p50: float
    p90: float
    basis: Literal["measured", "estimated", "unknown"]


class Estimated(Shape):
    """What the export is expected to hold and to move."""

    rows: int | None
    bytes: int | None
    delta_rows: int | None
    basis: str
    peak_memory_bytes: int | None = None
    """What it takes at most while it runs, besides what the process takes, for rows of the average width."""


class CursorPlan(Shape):
    """The verdict on the cursor."""

    quality: Literal["strong_monotonic", "weak_time", "weak_multi_candidate", "fallback_only", "none"]
    columns: tuple[str, ...]
    evidence: tuple[PlanEvidence, ...]
    why: str


class Suggestion(Shape):
    """A better way to read this export, where there is one."""

    mode: str | None
    cursor: str | None
    chunk_by: str | None
    profile: str | None
    why: str


class Diagnostics(Shape):
    """What a reader should know; it never gates anything (PA8)."""

    verdict: str
    warnings: tuple[str, ...]


class PlanMark(Shape):
    """A typed point on a column."""

    column: str
    type: str
    value: str


class PlanUnit(Shape):
    """One checkpointed part of an export (rivet_core.facts.Unit)."""

    index: int
    kind: str
    columns: tuple[str, ...]
    lower: tuple[PlanMark, ...]
    upper: tuple[PlanMark, ...]
    lower_inclusive: bool
    upper_inclusive: bool
    relation: str
    rows: int | None


class PlanError(Shape):
    """Why an export could not be planned."""

    code: str
    message: str
    hint: str
