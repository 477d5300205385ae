"""The figures of a read: a profile's own, overlaid by what source, defaults and export say, the nearest last."""

from __future__ import annotations

from collections.abc import Iterable

from rivet_core.config.export_model import TuningModel
from rivet_core.facts import Tuning

_MIB = 1 << 20

PROFILES: dict[str, Tuning] = {
    "safe": Tuning(
        profile="safe",
        page_seconds=0.25,
        pause_share=0.5,
        statement_timeout_seconds=120.0,
        lock_timeout_seconds=10.0,
        batch_bytes=16 * _MIB,
    ),
    "balanced": Tuning(profile="balanced"),
    "fast": Tuning(
        profile="fast",
        page_seconds=5.0,
        pause_share=0.0,
        statement_timeout_seconds=0.0,
        lock_timeout_seconds=0.0,
        batch_bytes=64 * _MIB,
    ),
}
"""Extraction section 8. `balanced` is what `Tuning()` holds."""


def merge_tuning(layers: Iterable[TuningModel | None], *, environment: str | None, max_attempts: int | None) -> Tuning:
    """Return the figures after all layers, the farthest first.

    The nearest `profile` decides what unset keys are; without one, `environment: local` means `fast`. A key set in any layer
    wins over the profile, and the nearest such layer wins over the others. `max_attempts` (`chunk_max_attempts`) counts the
    first attempt too and wins over `max_retries`.
    """
    keys: dict[str, float | int | str] = {}
    for layer in layers:
        for name in layer.model_fields_set if layer is not None else ():
            value = getattr(layer, name)
            if value is None:
                keys.pop(name, None)
            else:
                keys[name] = value
    profile = PROFILES[str(keys.get("profile") or ("fast" if environment == "local" else "balanced"))]
    bounds = [int(keys[name]) * _MIB for name in ("batch_size_memory_mb", "max_batch_memory_mb") if name in keys]
    rows = keys.get("batch_size")
    retries = keys.get("max_retries") if max_attempts is None else max_attempts - 1
    backoff = keys.get("retry_backoff_ms")
    return Tuning(
        profile=profile.profile,
        page_seconds=float(keys.get("page_seconds", profile.page_seconds)),
        pause_share=float(keys.get("pause_share", profile.pause_share)),
        statement_timeout_seconds=float(keys.get("statement_timeout_s", profile.statement_timeout_seconds)),
        lock_timeout_seconds=float(keys.get("lock_timeout_s", profile.lock_timeout_seconds)),
        batch_bytes=min(bounds, default=profile.batch_bytes),
        batch_rows=None if rows is None else int(rows),
        pause_seconds=float(keys.get("throttle_ms", 0)) / 1000,
        max_retries=None if retries is None else int(retries),
        retry_backoff_seconds=None if backoff is None else float(backoff) / 1000,
    )
