"""The plan file: the only door between `plan` and `apply`. Model, canonical bytes, seal, reading and writing."""

from __future__ import annotations

from rivet_core.artifact.canonical import plan_bytes, read_plan, seal, seal_of, write_plan
from rivet_core.artifact.model import ExportPlan, Plan

__all__ = ["ExportPlan", "Plan", "plan_bytes", "read_plan", "seal", "seal_of", "write_plan"]
