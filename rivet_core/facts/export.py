"""One export, every key resolved: what the plan stores as `spec` and apply runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rivet_core.facts.evidence import Json


class Mode(StrEnum):
    """How an export reads (extraction section 1)."""

    FULL = "full"
    INCREMENTAL = "incremental"
    CHUNKED = "chunked"
    TIME_WINDOW = "time_window"


class NullCursor(StrEnum):
    """What happens to rows whose cursor is NULL."""

    INCLUDE = "include"
    SKIP = "skip"
    FAIL = "fail"


class Tier(StrEnum):
    """Declared importance. `rank` is -1.. in the rank key of scoring section 3 as 0, 1, 2."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 low, 1 normal, 2 high."""
        return list(Tier).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSpec:
    """Declared value. `tier` is `None` when nobody declared one (it then ranks as normal without RV510).

    `freshness_seconds` is the target age, `deadline` a wall time `HH:MM` with an optional offset (UTC without one).
    """

    tier: Tier | None = None
    freshness_seconds: float | None = None
    deadline: str | None = None
    consumers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """How hard a read may press. The profile's own figures stand unless one is set here (extraction section 8).

    Timeouts in seconds (0 = none), `page_seconds` the target length of one statement, `pause_share` of its time slept after
    it, `pause_seconds` slept after each statement besides (`throttle_ms`), `batch_bytes` the bound of one record batch,
    `max_retries` how often a transient error of one unit is tried again (`None` = the retry layer's own figure), with
    `retry_backoff_seconds` before the first retry.
    """

    profile: str = "balanced"
    page_seconds: float = 0.5
    pause_share: float = 0.1
    statement_timeout_seconds: float = 300.0
    lock_timeout_seconds: float = 30.0
    batch_bytes: int = 32 << 20
    batch_rows: int | None = None
    pause_seconds: float = 0.0
    max_retries: int | None = None
    retry_backoff_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationRef:
    """Where an export goes: the destination type and its own options, references unresolved."""

    type: str
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSpec:
    """One export as the config means it, defaults filled in. Sizes in bytes, times in seconds.

    `out_of_range` `None` is the engine's own default: `fail` for PostgreSQL, `null_counted` for MySQL's zero dates.
    """

    name: str
    source: str
    source_group: str | None = None
    mode: Mode = Mode.FULL
    table: str | None = None
    query: str | None = None
    columns: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    format: str = "parquet"
    compression: str = "zstd"
    compression_level: int | None = None
    compression_profile: str | None = None
    parquet: Mapping[str, Json] = field(default_factory=dict)
    destination: DestinationRef = field(default_factory=lambda: DestinationRef(type="local"))
    cursor_column: str | None = None
    cursor_fallback_column: str | None = None
    incremental_cursor_mode: str | None = None
    lookback_seconds: float | None = None
    null_cursor: NullCursor = NullCursor.INCLUDE
    allow_text_cursor: bool = False
    chunk_column: str | None = None
    chunk_by_key: bool = False
    chunk_size: int | None = None
    chunk_count: int | None = None
    chunk_by_days: int | None = None
    parallel: int = 1
    time_column: str | None = None
    time_column_type: str = "timestamp"
    days_window: int | None = None
    snapshot: str = "per_unit"
    out_of_range: str | None = None
    keep_runs: int = 2
    partition_by: tuple[str, ...] = ()
    partition_granularity: str = "day"
    max_file_size: int | None = None
    skip_empty: bool = False
    meta_columns: Mapping[str, Json] = field(default_factory=dict)
    quality: Mapping[str, Json] = field(default_factory=dict)
    on_schema_drift: str = "warn"
    reconcile_required: bool = False
    wave: int | None = None
    parallel_safe: bool | None = None
    heavy: bool | None = None
    depends_on: tuple[str, ...] = ()
    value: ValueSpec = field(default_factory=ValueSpec)
    tuning: Tuning = field(default_factory=Tuning)

    def unread_quality(self, names: Collection[str]) -> str:
        """Return which key of `quality` names which column that is not among `names`, the columns read; empty for none."""
        for key in ("null_ratio_max", "unique_columns"):
            wanted = self.quality.get(key)
            for name in wanted if isinstance(wanted, dict | list) else ():
                if name not in names:
                    return f"quality.{key} names {name!r}"
        return ""
