"""Keys of the Rust tool `rivet` (rivet-cli) that mean something else here, or nothing.

Its configs for the shared features load unchanged. A key whose effect is always there, or which tunes something that works
otherwise here, is accepted with a warning; a key that asks for a feature which is not here is refused by name, since going
on without it would silently do something else.
"""

from __future__ import annotations

from typing import NamedTuple


class ForeignKey(NamedTuple):
    """One key: where it may stand (`""` = top level), its name, and what to know."""

    section: str
    name: str
    note: str


_CDC = "change data capture is not here; use `mode: incremental` with a cursor"
_LOAD = "loading into a warehouse is not here; `rivet files EXPORT --json` lists what a loader needs"

REFUSED: tuple[ForeignKey, ...] = (
    ForeignKey("", "load", _LOAD),
    ForeignKey(
        "",
        "notifications",
        "notifications (Slack) are not here; act on the exit code or on `rivet apply --summary-output FILE`",
    ),
    ForeignKey("source", "mongo", "MongoDB is not here; sources are PostgreSQL, MySQL/MariaDB, SQLite and what plugins add"),
    ForeignKey("source", "mssql", "SQL Server is not here; sources are PostgreSQL, MySQL/MariaDB, SQLite and what plugins add"),
    ForeignKey("source", "oracle", "Oracle is not here; sources are PostgreSQL, MySQL/MariaDB, SQLite and what plugins add"),
    ForeignKey("export", "cdc", _CDC),
    ForeignKey(
        "export", "tables", "capturing several tables in one export belongs to change data capture; write one export per table"
    ),
    ForeignKey("export", "load", _LOAD),
    ForeignKey("export", "target", "warehouse targets are not here; `rivet check` shows the type of every column"),
    ForeignKey("export", "settle", "holding young rows back is not here; `lookback: 10m` re-reads them instead"),
    ForeignKey("export", "keyset_incremental", "use `mode: incremental` with the key as `cursor_column`"),
    ForeignKey(
        "export", "shape_drift_warn_factor", "watching the length of values is not here; use `quality:` or `on_schema_drift:`"
    ),
)

REFUSED_MODES: dict[str, str] = {"cdc": _CDC}

INERT: tuple[ForeignKey, ...] = (
    ForeignKey("", "parallel_exports", "exports run in parallel by `planning.workers`"),
    ForeignKey("", "parallel_export_processes", "exports run in parallel by `planning.workers`"),
    ForeignKey("export", "chunk_checkpoint", "every unit is a checkpoint; resume with `rivet apply --resume`"),
    ForeignKey("export", "chunk_dense", "units follow rows, not the span of the key, so sparse keys need nothing"),
    ForeignKey(
        "export", "chunk_size_memory_mb", "units are sized by rows and read in pages that tune themselves; use `chunk_size`"
    ),
    ForeignKey("export", "verify", "`rivet validate` always checks size and checksum; `--depth` says how far it goes"),
    ForeignKey("tuning", "adaptive", "pages always tune themselves toward `page_seconds`"),
    ForeignKey("tuning", "min_parallel", "pressure pauses pages; it does not change the number of workers"),
    ForeignKey("tuning", "memory_threshold_mb", "memory is bounded by the bytes of a batch (`batch_size_memory_mb`)"),
    ForeignKey("tuning", "on_batch_memory_exceeded", "a batch never grows past its bound"),
    ForeignKey("tuning", "max_value_mb", "one large value is read as it is, whatever its size"),
)

REFUSED_NOTES: dict[tuple[str, str], str] = {(key.section, key.name): key.note for key in REFUSED}
