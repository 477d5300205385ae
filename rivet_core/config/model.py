"""The outer shape of `rivet.yaml`. Options of sources and destinations belong to their plugins and are checked later."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from rivet_core.config.export_model import DefaultsModel, ExportModel, TuningModel
from rivet_core.config.values import Anything, Code, Count, Day, Grant, Names, NotNegative, Rule, Section, Span, Text, Waves
from rivet_core.facts import MAX_WORKERS


class SourceModel(Section):
    """One connection. Keys that are not named here are the source plugin's own."""

    model_config = ConfigDict(extra="allow")

    type: Text = Field(description="Kind of source: sqlite, postgres, mysql, or what a plugin adds.")
    source_group: Text | None = Field(None, description="Group whose capacity the source's exports share.")
    environment: Literal["local", "replica", "production"] | None = Field(
        None, description="What the server is for; local makes fast the default profile."
    )
    tuning: TuningModel | None = Field(None, description="How hard exports may press this source.")


class DestinationModel(Section):
    """Where output goes. Keys that are not named here are the destination plugin's own."""

    model_config = ConfigDict(extra="allow")

    type: Text = Field(description="Kind of destination: local, s3, or what a plugin adds.")


class GroupModel(Section):
    """A capacity shared by all exports of the group."""

    max_connections: Count | None = Field(
        None, description="Connections at once; half of the free ones, at most workers, when unset."
    )
    max_heavy: Count | None = Field(None, description="Heavy exports at once; 1 when unset.")
    max_lag: Span = Field(30.0, description="Replica lag above which no new page starts.")
    max_lock_waits: NotNegative = Field(5, description="Sessions waiting for locks above which no new page starts.")


class SuppressionModel(Section):
    """Mute one reason of one export; it stays listed, with 0 points."""

    export: Text = Field(description="Name of the export.")
    code: Code = Field(description="Code of the reason.")
    reason: Text = Field(description="Why it does not apply.")
    until: Day | None = Field(None, description="Last day on which it is muted.")


class PlanningModel(Section):
    """How to plan and in which order to run."""

    workers: Annotated[Count, Field(le=MAX_WORKERS)] = Field(4, description="Exports and units at work at once.")
    waves: Waves = Field(4, description="Asked number of waves, or auto.")
    policy: Text = Field("auto", description="What `apply PLAN` runs: a policy's name, or auto.")
    fail_fast: bool = Field(False, description="Stop the campaign at the first failure.")
    window: Span = Field(86400.0, description="Span from the plan's time on in which deadlines count.")
    rules: dict[Code, Rule] = Field(default_factory=dict, description="Code -> {points: N} or off.")
    suppress: list[SuppressionModel] = Field(default_factory=list, description="Reasons that do not apply.")


class PluginsModel(Section):
    """Which plugins may act."""

    block: Names = Field(default_factory=list, description="Plugins that stay out.")
    allow: Names | None = Field(None, description="The only plugins that may act.")
    grant: dict[str, list[Grant]] = Field(default_factory=dict, description="Plugin -> what it may do besides: base, gate.")
    options: dict[str, dict[str, Anything]] = Field(default_factory=dict, description="Plugin -> its own options.")


class StateModel(Section):
    """Where runs, cursors and history are kept."""

    url: Text = Field(description="`sqlite:///PATH` or `postgresql://...`; a relative path is relative to the config file.")


class RootModel(Section):
    """A rivet config: sources, a destination, and what to export."""

    source: SourceModel | None = Field(None, description="The one source; its name is `default`.")
    sources: dict[str, SourceModel] | None = Field(None, description="Name -> source, when there are several.")
    source_groups: dict[str, GroupModel] = Field(default_factory=dict, description="Name -> shared capacity.")
    destination: DestinationModel | None = Field(None, description="Where every export goes that does not say otherwise.")
    defaults: DefaultsModel = Field(
        default_factory=DefaultsModel, description="What holds for every export that does not say otherwise."
    )
    exports: list[ExportModel] = Field(description="What to export.")
    planning: PlanningModel = Field(default_factory=PlanningModel, description="How to plan and in which order to run.")
    plugins: PluginsModel = Field(default_factory=PluginsModel, description="Which plugins may act.")
    state: StateModel | None = Field(
        None, description="Where runs, cursors and history are kept; `.rivet/state.db` beside the config."
    )
    parallel_exports: bool | None = Field(None, description="Accepted, without effect.")
    parallel_export_processes: bool | None = Field(None, description="Accepted, without effect.")
