"""Configs in the vocabulary of the Rust tool load unchanged; what is not here is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from rivet_core.config import CampaignConfig
from rivet_core.config.foreign import INERT, REFUSED
from rivet_core.errors import ConfigError
from rivet_core.facts import Mode

Load = Callable[..., CampaignConfig]
Refuse = Callable[..., ConfigError]

CONFIGS: dict[str, str] = {
    "full copy of a query": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - name: customers
            query: "SELECT id, name FROM customers"
            mode: full
            format: parquet
            compression: zstd
            destination: {type: local, path: ./data}
        """,
    "incremental to a bucket": """
        source:
          type: mysql
          host: 127.0.0.1
          port: 3306
          user: reader
          password_env: READER_PASSWORD
          database: crm
        exports:
          - name: tickets
            query: SELECT * FROM tickets
            mode: incremental
            cursor_column: updated_at
            format: csv
            skip_empty: true
            destination:
              type: s3
              bucket: lake
              prefix: raw/tickets/
              region: eu-west-1
        """,
    "coalesced cursor": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - name: users
            table: public.users
            mode: incremental
            cursor_column: updated_at
            cursor_fallback_column: created_at
            incremental_cursor_mode: coalesce
            format: parquet
            destination: {type: local, path: out}
        """,
    "chunks in parallel": """
        source:
          type: postgres
          url_env: DATABASE_URL
          tuning: {profile: balanced, batch_size: 10000}
        exports:
          - name: clicks
            query: "SELECT id, at FROM clicks"
            mode: chunked
            chunk_column: id
            chunk_size: 50000
            parallel: 4
            chunk_checkpoint: true
            chunk_max_attempts: 3
            format: parquet
            compression: zstd
            destination: {type: s3, bucket: lake, prefix: clicks/, region: us-east-1, endpoint: "http://127.0.0.1:9000"}
            tuning: {batch_size: 5000, throttle_ms: 100}
        """,
    "chunks by count": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - {name: a, table: a, mode: chunked, chunk_column: id, chunk_count: 16, format: parquet,
             destination: {type: local, path: o}}
        """,
    "chunks by days": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - {name: a, table: a, mode: chunked, chunk_column: day, chunk_by_days: 7, format: csv,
             destination: {type: local, path: o}}
        """,
    "keyset": """
        source: {type: mysql, url_file: /run/secrets/url}
        exports:
          - {name: a, table: a, mode: chunked, chunk_by_key: uuid, chunk_size: 10000, format: parquet,
             destination: {type: local, path: o}}
        """,
    "time window": """
        source: {type: mysql, url_env: DATABASE_URL}
        exports:
          - name: log
            query: SELECT * FROM log
            mode: time_window
            time_column: created_at
            time_column_type: unix
            days_window: 7
            format: parquet
            destination: {type: local, path: ./o}
        """,
    "partitions": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - name: log
            table: log
            partition_by: created_at
            partition_granularity: month
            format: parquet
            destination: {type: local, path: "./o/{export}/{partition}"}
        """,
    "tls and environment": """
        source:
          type: postgres
          url_env: DATABASE_URL
          environment: replica
          tls: {mode: verify-full, ca_file: ca.pem}
        exports:
          - {name: a, table: a, format: parquet, destination: {type: local, path: o}}
        """,
    "quality and columns": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - name: payments
            table: payments
            columns: {amount: "decimal(18,2)", paid_at: timestamp_tz}
            meta_columns: {exported_at: true, row_hash: true}
            quality:
              row_count_min: 1
              row_count_max: 1000000
              null_ratio_max: {email: 0.05}
              unique_columns: [id]
              unique_max_entries: 100000
            on_schema_drift: fail
            format: parquet
            destination: {type: local, path: o}
        """,
    "row groups and file size": """
        source: {type: postgres, url_env: DATABASE_URL}
        exports:
          - name: wide
            table: wide
            format: parquet
            compression_profile: compact
            max_file_size: 256MB
            parquet: {row_group_strategy: fixed_rows, row_group_rows: 500000, target_row_group_mb: 64, max_row_group_mb: 128}
            destination: {type: local, path: o}
        """,
    "waves and groups": """
        source: {type: postgres, url_env: DATABASE_URL}
        parallel_exports: true
        exports:
          - {name: a, table: a, wave: 1, parallel_safe: true, source_group: replica, format: parquet,
             destination: {type: local, path: o}}
          - {name: b, table: b, wave: 2, reconcile_required: true, format: parquet, destination: {type: local, path: o}}
        """,
    "every tuning key": """
        source:
          type: postgres
          url_env: DATABASE_URL
          tuning:
            profile: safe
            batch_size_memory_mb: 64
            throttle_ms: 500
            statement_timeout_s: 120
            lock_timeout_s: 10
            max_retries: 10
            retry_backoff_ms: 5000
            memory_threshold_mb: 2048
            max_batch_memory_mb: 128
            on_batch_memory_exceeded: auto_shrink
            adaptive: true
            min_parallel: 2
            max_value_mb: 0
        exports:
          - {name: a, table: a, format: parquet, destination: {type: local, path: o}}
        """,
    "keys without effect": """
        source: {type: postgres, url_env: DATABASE_URL}
        parallel_export_processes: true
        exports:
          - name: a
            table: a
            mode: chunked
            chunk_column: id
            chunk_dense: true
            chunk_size_memory_mb: 256
            chunk_checkpoint: true
            verify: content
            format: parquet
            destination: {type: local, path: o}
        """,
    "interpolated url": """
        source:
          type: postgres
          url: "postgresql://${DB_USER}:${DB_PASS}@${DB_HOST}:5432/shop"
        exports:
          - {name: a, table: a, format: parquet, destination: {type: local, path: "o/{date}/{export}"}}
        """,
    "to stdout": """
        source: {type: mysql, url_env: DATABASE_URL}
        exports:
          - {name: a, query: "SELECT 1", format: csv, compression: none, destination: {type: stdout}}
        """,
    "query from a file": """
        source: {type: mysql, url_env: DATABASE_URL}
        exports:
          - {name: a, query_file: sql/a.sql, format: csv, destination: {type: local, path: o}}
        """,
}


@pytest.mark.parametrize("name", CONFIGS)
def test_loads_unchanged(load: Load, tmp_path: Path, name: str) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "a.sql").write_text("SELECT 1")
    config = load(CONFIGS[name])
    assert config.exports
    assert all("has no effect" in warning for warning in config.warnings)


def test_the_meaning_is_kept(load: Load) -> None:
    (spec,) = load(CONFIGS["chunks in parallel"]).exports
    assert (spec.mode, spec.chunk_column, spec.chunk_size, spec.parallel) == (Mode.CHUNKED, "id", 50000, 4)
    assert (spec.tuning.batch_rows, spec.tuning.pause_seconds, spec.tuning.max_retries) == (5000, 0.1, 2)
    (spec,) = load(CONFIGS["every tuning key"]).exports
    assert (spec.tuning.profile, spec.tuning.batch_bytes, spec.tuning.max_retries) == ("safe", 64 << 20, 10)
    (spec,) = load(CONFIGS["row groups and file size"]).exports
    assert (spec.max_file_size, spec.compression, spec.compression_level) == (256 << 20, "zstd", 9)
    (spec,) = load(CONFIGS["quality and columns"]).exports
    assert spec.quality["null_ratio_max"] == {"email": 0.05}
    assert spec.meta_columns == {"exported_at": True, "row_hash": True}
    config = load(CONFIGS["tls and environment"])
    assert config.sources["default"].options == {"url_env": "DATABASE_URL", "tls": {"mode": "verify-full", "ca_file": "ca.pem"}}


@pytest.mark.parametrize("key", REFUSED, ids=lambda key: f"{key.section}.{key.name}")
def test_what_is_not_here_is_refused_by_name(refuse: Refuse, key: object) -> None:
    section, name, note = key  # type: ignore[misc]
    lines = {"": f"{name}: 1\n", "source": "", "export": ""}[section]
    source = f", {name}: 1" if section == "source" else ""
    export = f", {name}: 1" if section == "export" else ""
    error = refuse(
        f"{lines}source: {{type: sqlite{source}}}\ndestination: {{type: local}}\nexports: [{{name: a, table: a{export}}}]\n"
    )
    assert f"{name}: unknown key: this feature of the Rust tool is not in this rivet" in error.message
    assert error.hint == note


@pytest.mark.parametrize("key", INERT, ids=lambda key: f"{key.section}.{key.name}")
def test_what_needs_no_key_is_accepted_with_a_warning(load: Load, key: object) -> None:
    section, name, note = key  # type: ignore[misc]
    value = {"verify": "content", "on_batch_memory_exceeded": "warn"}.get(
        name, "1" if name.endswith(("mb", "parallel")) else "true"
    )
    text = {
        "": f"{name}: {value}\nexports: [{{name: a, table: a}}]\n",
        "export": f"exports: [{{name: a, table: a, {name}: {value}}}]\n",
        "tuning": f"exports: [{{name: a, table: a, tuning: {{{name}: {value}}}}}]\n",
    }[section]
    config = load("source: {type: sqlite}\ndestination: {type: local}\n" + dedent(text))
    assert [warning.partition(": has no effect: ")[2] for warning in config.warnings] == [note]
