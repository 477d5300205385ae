"""What makes two runs of an export comparable: mode and source statement."""

from __future__ import annotations

import hashlib
import json

from rivet_core.facts import ExportSpec


def source_fingerprint(spec: ExportSpec) -> str:
    """Return the fingerprint that history is kept under: a changed export does not inherit the times of the old one."""
    parts = [spec.source, str(spec.mode), spec.table, spec.query, list(spec.columns)]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
