"""One entry of `exports:`, and what may stand in `defaults:`: the keys, their types, what each is for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rivet_core.config.values import (
    Anything,
    Columns,
    Count,
    Deadline,
    KeyChoice,
    Name,
    Names,
    NotNegative,
    PartitionBy,
    Ratio,
    RowHash,
    Seconds,
    Section,
    Size,
    Span,
    Text,
)


class TuningModel(Section):
    """How hard a read may press. Unset keys follow the profile."""

    profile: Literal["safe", "balanced", "fast"] | None = Field(None, description="Figures for all keys below.")
    batch_size: Count | None = Field(None, description="At most this many rows in one record batch.")
    batch_size_memory_mb: Count | None = Field(None, description="Bound of one record batch, in MiB.")
    max_batch_memory_mb: Count | None = Field(
        None, description="A second bound of one record batch, in MiB; the smaller one holds."
    )
    page_seconds: Annotated[Seconds, Field(gt=0)] | None = Field(
        None, description="Length one statement is tuned toward, in seconds."
    )
    pause_share: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = Field(
        None, description="Pause after each statement, as a share of its time."
    )
    throttle_ms: NotNegative | None = Field(None, description="A fixed pause after each statement besides, in milliseconds.")
    statement_timeout_s: Seconds | None = Field(None, description="Statement timeout at the server, in seconds; 0 is none.")
    lock_timeout_s: Seconds | None = Field(None, description="Lock timeout at the server, in seconds; 0 is none.")
    max_retries: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        None, description="How often a transient error of one unit is tried again."
    )
    retry_backoff_ms: NotNegative | None = Field(
        None, description="Wait before the first retry, in milliseconds; later ones wait longer."
    )
    adaptive: bool | None = Field(None, description="Accepted, without effect.")
    min_parallel: NotNegative | None = Field(None, description="Accepted, without effect.")
    memory_threshold_mb: NotNegative | None = Field(None, description="Accepted, without effect.")
    on_batch_memory_exceeded: Literal["warn", "fail", "auto_shrink"] | None = Field(
        None, description="Accepted, without effect."
    )
    max_value_mb: NotNegative | None = Field(None, description="Accepted, without effect.")


class ParquetModel(Section):
    """Row groups of Parquet files."""

    row_group_strategy: Literal["auto", "fixed_rows", "fixed_memory"] | None = Field(
        None, description="How the rows of a row group are chosen: by memory (auto, fixed_memory) or by number."
    )
    row_group_rows: Count | None = Field(None, description="Rows of one row group, for fixed_rows.")
    target_row_group_mb: Count | None = Field(None, description="Memory of one row group in MiB, for auto and fixed_memory.")
    max_row_group_mb: Count | None = Field(None, description="Upper bound of one row group in MiB, for every strategy.")


class MetaColumnsModel(Section):
    """Columns that rivet adds to the output."""

    exported_at: bool | None = Field(None, description="Add `_rivet_exported_at`, when the row was read (UTC).")
    row_hash: RowHash | None = Field(None, description="Add `_rivet_row_hash` over all columns (true) or those listed.")


class QualityModel(Section):
    """What must hold before a run is committed; a breach ends with exit code 5."""

    row_count_min: NotNegative | None = Field(None, description="At least this many rows.")
    row_count_max: NotNegative | None = Field(None, description="At most this many rows.")
    null_ratio_max: dict[str, Ratio] | None = Field(None, description="Column -> greatest share of NULLs, 0 to 1.")
    unique_columns: Names | None = Field(None, description="Columns whose values must not repeat.")
    unique_max_entries: Count | None = Field(None, description="Stop tracking a column's values after so many, with a warning.")


class ValueModel(Section):
    """What the export is worth, and by when."""

    tier: Literal["low", "normal", "high"] | None = Field(
        None, description="Declared importance; orders exports before any score."
    )
    freshness: Span | None = Field(None, description="How old the data may grow.")
    deadline: Deadline | None = Field(None, description="Time of day by which it must be there; UTC without an offset.")
    consumers: Names | None = Field(None, description="Who reads the output.")


class DefaultsModel(Section):
    """What holds for every export that does not say otherwise. An explicit `null` in an export undoes a default."""

    source: Text | None = Field(None, description="Name of the source; may be left out when there is only one.")
    source_group: Text | None = Field(None, description="Group that shares a capacity; wins over the source's own.")
    mode: Literal["full", "incremental", "chunked", "time_window"] | None = Field(None, description="How the export reads.")
    format: Literal["parquet", "csv"] | None = Field(None, description="File format.")
    compression: Literal["zstd", "snappy", "gzip", "lz4", "none"] | None = Field(None, description="Codec of Parquet files.")
    compression_level: Annotated[int, Field(ge=0, le=22)] | None = Field(None, description="Level of the codec.")
    compression_profile: Literal["none", "fast", "balanced", "compact"] | None = Field(
        None, description="Codec and level in one word: fast is snappy, balanced zstd 3, compact zstd 9."
    )
    parquet: ParquetModel | None = Field(None, description="Row groups of Parquet files.")
    cursor_column: Text | None = Field(None, description="Column that marks progress (incremental).")
    cursor_fallback_column: Text | None = Field(None, description="Column used where the cursor is NULL (coalesce).")
    incremental_cursor_mode: Literal["single_column", "coalesce", "pair"] | None = Field(
        None, description="How cursor columns combine; chosen by itself when unset."
    )
    lookback: Span | None = Field(None, description="Read again this far behind the cursor; delivery is then at least once.")
    null_cursor: Literal["include", "skip", "fail"] | None = Field(None, description="Rows whose cursor is NULL.")
    allow_text_cursor: bool | None = Field(None, description="Allow a cursor of a text type.")
    chunk_column: Text | None = Field(None, description="Column to split by (chunked); the primary key when unset.")
    chunk_by_key: KeyChoice | None = Field(
        None, description="Split by keyset over this unique column, or true for the primary key."
    )
    chunk_size: Count | None = Field(None, description="Rows of one unit.")
    chunk_count: Annotated[int, Field(ge=1, le=2000)] | None = Field(None, description="Number of units; wins over chunk_size.")
    chunk_by_days: Count | None = Field(None, description="Days of one unit, over a date or time column.")
    chunk_max_attempts: Count | None = Field(None, description="Attempts at one unit; the same as tuning.max_retries plus one.")
    parallel: Annotated[int, Field(ge=1, le=256)] | None = Field(None, description="Units read at once, each on a connection.")
    time_column: Text | None = Field(None, description="Column of the window (time_window).")
    time_column_type: Literal["timestamp", "unix"] | None = Field(None, description="What the time column holds.")
    days_window: Annotated[int, Field(ge=1, le=36500)] | None = Field(None, description="Days read, counted back from now.")
    snapshot: Literal["per_unit", "consistent"] | None = Field(
        None, description="One snapshot per page, or one for the whole export."
    )
    out_of_range: Literal["fail", "null_counted", "text"] | None = Field(None, description="Dates that the format cannot hold.")
    keep_runs: Count | None = Field(None, description="Runs of a full export that are kept.")
    partition_by: PartitionBy | None = Field(None, description="Date or time column whose buckets become directories.")
    partition_granularity: Literal["day", "month", "year"] | None = Field(None, description="Width of a partition's bucket.")
    max_file_size: Size | None = Field(None, description="Begin a new file at this size.")
    skip_empty: bool | None = Field(None, description="Write no file when there are no rows.")
    meta_columns: MetaColumnsModel | None = Field(None, description="Columns that rivet adds.")
    quality: QualityModel | None = Field(None, description="What must hold before the commit.")
    on_schema_drift: Literal["warn", "continue", "fail"] | None = Field(
        None, description="When columns differ from the last run."
    )
    reconcile_required: bool | None = Field(
        None,
        description="The export must be reconciled after each run: planning counts the cost, `rivet state show` tells when.",
    )
    parallel_safe: bool | None = Field(None, description="May run beside others on its source; decided by cost when unset.")
    heavy: bool | None = Field(None, description="Counts against max_heavy of its group; decided by cost when unset.")
    value: ValueModel | None = Field(None, description="What the export is worth, and by when.")
    tuning: TuningModel | None = Field(None, description="How hard the export may press its source.")
    chunk_checkpoint: bool | None = Field(None, description="Accepted, without effect.")
    chunk_dense: bool | None = Field(None, description="Accepted, without effect.")
    chunk_size_memory_mb: Count | None = Field(None, description="Accepted, without effect.")
    verify: Literal["size", "content"] | None = Field(None, description="Accepted, without effect.")


class ExportModel(DefaultsModel):
    """One named table or query going to one place."""

    name: Name = Field(description="Unique name; also the name of its directory.")
    table: Text | None = Field(None, description="Table to read, with its schema where needed.")
    query: Text | None = Field(None, description="Query to read, passed to the server as it is.")
    query_file: Text | None = Field(None, description="File with the query, inside the config file's directory.")
    columns: Columns | None = Field(None, description="Columns to read (list), or column -> type to write it as (mapping).")
    destination: dict[str, Anything] | None = Field(
        None, description="Where it goes: with `type` instead of the default destination, without it laid over that."
    )
    wave: Annotated[int, Field(ge=1, le=10_000)] | None = Field(None, description="Hand-set wave; lower ones finish first.")
    depends_on: Names | None = Field(None, description="Exports that must have finished before.")
