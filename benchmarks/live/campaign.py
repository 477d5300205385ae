"""A project directory with a config, planned and applied in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rivet_core.artifact import Plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, CampaignOutcome, RunEvent, apply_plan


class LiveCampaign:
    """`urls` maps the variables that the config names to URLs."""

    def __init__(self, directory: Path, config: Mapping[str, Any], urls: Mapping[str, str]) -> None:
        directory.mkdir(parents=True)
        self._path = directory / "rivet.yaml"
        self._path.write_text(yaml.safe_dump(dict(config), sort_keys=False))
        os.environ.update(urls)
        self._registry = load_plugins()
        self.opening_seconds = 0.0

    def plan(self, *, split: bool = False) -> Plan:
        """Plan it with what history there is."""
        return build_plan(load_config(self._path), self._registry, PlanRequest(split=split))

    def apply(self, plan: Plan) -> CampaignOutcome:
        """Run the plan; raises when an export was not done. `opening_seconds` is what passed before the first one started."""
        began, first = time.monotonic(), []

        def see(event: RunEvent) -> None:
            if event.kind == "export_started" and not first:
                first.append(time.monotonic())

        outcome = apply_plan(plan, self._registry, ApplyOptions(), see)
        self.opening_seconds = first[0] - began if first else 0.0
        failed = [export for export in outcome.exports if export.status != "done"]
        if failed:
            raise RuntimeError(f"{len(failed)} exports were not done, the first: {failed[0]}")
        return outcome
