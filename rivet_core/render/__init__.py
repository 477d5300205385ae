"""Text for people. The only place that formats; everything it prints stands in a structure somewhere else."""

from __future__ import annotations
