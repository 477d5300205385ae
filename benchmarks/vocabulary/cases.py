"""Configs in the vocabulary of the Rust tool `rivet` (rivet-cli), for what both programs have. Neither gets an edited copy."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL = "destination: {type: local, path: ./out}"
S3 = (
    "destination: {type: s3, bucket: $BUCKET, prefix: lake/, region: us-east-1, endpoint: $ENDPOINT,"
    " access_key_env: AWS_ACCESS_KEY_ID, secret_key_env: AWS_SECRET_ACCESS_KEY}"
)


@dataclass(frozen=True)
class Case:
    """One config. `exports` is the list of exports; `source` what stands under it besides type and url; `reads` how often."""

    name: str
    exports: str
    source: str = ""
    reads: int = 1
    destination: str = LOCAL
    engines: tuple[str, ...] = ("postgres", "mysql")

    def config(self, engine: str) -> str:
        """Return the text of the config, `$BUCKET` and `$ENDPOINT` still in it."""
        exports = self.exports.strip("\n").replace("$DESTINATION", self.destination)
        return f"source:\n  type: {engine}\n  url_env: SHOP_URL\n{self.source}exports:\n{exports}\n"


COLUMNS = "id, total, note, updated_at, changed_at, day"

CASES = (
    Case(
        "full",
        """
  - name: orders
    table: orders
    mode: full
    format: parquet
    $DESTINATION
  - name: query
    query: "SELECT id, note FROM orders WHERE id % 7 = 0"
    mode: full
    format: parquet
    compression: snappy
    skip_empty: true
    $DESTINATION
""",
    ),
    Case(
        "csv",
        """
  - name: orders
    query: "SELECT id, total, note, day FROM orders"
    mode: full
    format: csv
    compression: none
    $DESTINATION
""",
    ),
    Case(
        "incremental",
        f"""
  - name: orders
    query: "SELECT {COLUMNS} FROM orders"
    mode: incremental
    cursor_column: id
    format: parquet
    compression_profile: fast
    $DESTINATION
""",
        reads=2,
    ),
    Case(
        "incremental table",
        """
  - name: orders
    table: orders
    mode: incremental
    cursor_column: updated_at
    format: parquet
    $DESTINATION
""",
        reads=2,
    ),
    Case(
        "coalesce",
        f"""
  - name: orders
    query: "SELECT {COLUMNS} FROM orders"
    mode: incremental
    cursor_column: changed_at
    cursor_fallback_column: updated_at
    incremental_cursor_mode: coalesce
    format: parquet
    $DESTINATION
""",
        reads=2,
    ),
    Case(
        "chunked",
        f"""
  - name: orders
    query: "SELECT {COLUMNS} FROM orders"
    mode: chunked
    chunk_column: id
    chunk_size: 300
    parallel: 2
    format: parquet
    compression: zstd
    wave: 1
    parallel_safe: true
    source_group: replica_a
    reconcile_required: false
    $DESTINATION
  - name: counted
    query: "SELECT {COLUMNS} FROM orders"
    mode: chunked
    chunk_column: id
    chunk_count: 4
    chunk_checkpoint: true
    chunk_max_attempts: 2
    format: parquet
    wave: 2
    $DESTINATION
""",
        source="  tuning: {profile: fast, batch_size: 200, throttle_ms: 0, max_retries: 2}\n",
    ),
    Case(
        "keyset",
        """
  - name: orders
    table: orders
    mode: chunked
    chunk_by_key: id
    chunk_size: 250
    format: parquet
    $DESTINATION
""",
    ),
    Case(
        "time window",
        f"""
  - name: recent
    query: "SELECT {COLUMNS} FROM recent"
    mode: time_window
    time_column: updated_at
    time_column_type: timestamp
    days_window: 3
    format: parquet
    $DESTINATION
""",
    ),
    Case(
        "output",
        """
  - name: orders
    query_file: orders.sql
    mode: full
    format: parquet
    columns: {total: "decimal(12,2)"}
    meta_columns: {exported_at: false, row_hash: false}
    quality: {row_count_min: 1, null_ratio_max: {id: 0.0}, unique_columns: [id]}
    parquet: {row_group_strategy: fixed_rows, row_group_rows: 100}
    on_schema_drift: warn
    $DESTINATION
""",
    ),
    Case(
        "s3",
        """
  - name: orders
    query: "SELECT id, note FROM orders"
    mode: full
    format: parquet
    $DESTINATION
""",
        destination=S3,
    ),
)
"""Every case of the shared features: full, incremental, chunked, time window; local and S3; both engines."""
