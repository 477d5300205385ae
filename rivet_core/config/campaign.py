"""A config as the other rooms see it: every default filled in, every name checked, secrets still references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from rivet_core.facts import ExportSpec, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """One connection. `options` are the plugin's own keys as written: references unresolved, relative paths relative."""

    name: str
    type: str
    options: Mapping[str, Json]
    source_group: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The declared capacity of a source group; `None` is assumed by planning. The limits belong to the pause rule."""

    max_connections: int | None = None
    max_heavy: int | None = None
    max_lag_seconds: float = 30.0
    max_lock_waits: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A reason that the config mutes for one export, with why, and until which day (that day included)."""

    export: str
    code: str
    reason: str
    until: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningConfig:
    """How to plan.

    `waves` is the asked number of waves, `None` for as many as serve; `rules` maps a reason code to points, or `None` for off.
    """

    workers: int = 4
    waves: int | None = 4
    policy: str = "auto"
    fail_fast: bool = False
    rules: Mapping[str, int | None] = field(default_factory=dict)
    suppress: tuple[Suppression, ...] = ()
    window_seconds: float = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsConfig:
    """Which plugins may act, what they may do, and their own options. `allow` is `None` when every plugin may."""

    block: tuple[str, ...] = ()
    allow: tuple[str, ...] | None = None
    grant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignConfig:
    """A whole config file.

    `given` is the path as the user named it, `sha256` is of the file's bytes, `warnings` begin with `path:line:`, and
    `export_lines` says on which line each export begins.
    """

    path: Path
    sha256: str
    sources: Mapping[str, SourceConfig]
    exports: tuple[ExportSpec, ...]
    state_url: str
    source_groups: Mapping[str, GroupConfig] = field(default_factory=dict)
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    plugins: PluginsConfig = field(default_factory=PluginsConfig)
    warnings: tuple[str, ...] = ()
    export_lines: Mapping[str, int] = field(default_factory=dict)
    given: Path = field(default_factory=Path)

    @property
    def base(self) -> Path:
        """The directory that relative paths in the config are relative to."""
        return self.path.parent
