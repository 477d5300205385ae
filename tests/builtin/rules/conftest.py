"""Core's rules are tested on the same generated facts as the fold and the laws."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "planning"))
