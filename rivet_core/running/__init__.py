"""Running a plan: gates, executor, extraction, publishing. It reads plans and never the config (PA1)."""

from __future__ import annotations

from rivet_core.running.apply import ApplyOptions, apply_plan
from rivet_core.running.events import RunEvent
from rivet_core.running.layout import Layout, layout_of
from rivet_core.running.outcome import CampaignOutcome, ExportOutcome
from rivet_core.running.publish import LiveFile, list_files

__all__ = [
    "ApplyOptions",
    "CampaignOutcome",
    "ExportOutcome",
    "Layout",
    "LiveFile",
    "RunEvent",
    "apply_plan",
    "layout_of",
    "list_files",
]
