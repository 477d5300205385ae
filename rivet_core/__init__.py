"""Rivet: plan and run table extraction from shared databases."""

from __future__ import annotations

__version__ = "0.1.0"
