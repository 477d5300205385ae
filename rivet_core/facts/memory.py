"""What one export holds in memory while it runs: the bounds that running keeps, and the figure that planning makes of them."""

from __future__ import annotations

from rivet_core.facts.export import ExportSpec

MIB = 1 << 20

PROCESS_BYTES = 256 * MIB
"""Python, Arrow, the drivers and what allocators keep, whatever runs."""

ROW_GROUP_BYTES = 32 * MIB
"""Arrow bytes of one row group; what a writer holds besides one encoded group."""

QUEUE_BYTES = 32 * MIB
"""Arrow bytes that may wait for the encoder; one batch may always wait, however large."""

MAX_OPEN_PARTITIONS = 128
"""Partitions of one unit that are written side by side; beyond it the fullest one is closed and continued in a new part."""

MAX_HELD_BYTES = 256 * MIB
"""Arrow bytes that one unit's open partitions hold back together for their row groups; beyond it the largest is written out."""

SINK_BYTES = MIB
"""Encoded bytes that an open file gathers before it passes them on."""

PIECE_BYTES = 16 * MIB
"""Bytes of a file that an object store is sent at once."""


def peak_memory(spec: ExportSpec, *, row_bytes: int, connections: int) -> int:
    """Return the bytes that the export takes at most, besides the process: `connections` units, rows of about `row_bytes`.

    A batch is read while another is handed over, one waits or is encoded, a row group is held, encoded and compressed, and its
    file is on the way.
    """
    batch = spec.tuning.batch_bytes + row_bytes
    open_files = MAX_OPEN_PARTITIONS if spec.partition_by else 1
    held = max(MAX_HELD_BYTES if spec.partition_by else 0, group_limits(spec)[0]) + batch
    group = group_limits(spec)[0] + batch
    local = spec.destination.type == "local"
    # A piece stands in our buffer, in the filesystem's, in the one that it is sent from, and in the request.
    gathering, sending = (SINK_BYTES, 2 * PIECE_BYTES) if local else (SINK_BYTES + PIECE_BYTES, 5 * PIECE_BYTES)
    return connections * (2 * batch + max(QUEUE_BYTES, batch) + held + 2 * group + open_files * gathering + sending)


def group_limits(spec: ExportSpec) -> tuple[int, int | None]:
    """Return the bytes, and where asked the rows, at which a row group is full."""
    size = int(_number(spec, "target_row_group_mb", ROW_GROUP_BYTES / MIB) * MIB)
    size = min(size, int(_number(spec, "max_row_group_mb", size / MIB) * MIB))
    if spec.max_file_size:
        # A file is closed when one more group like the last would pass its limit, so a group must be a fraction of it.
        size = min(size, max(MIB // 16, spec.max_file_size // 4))
    rows = spec.parquet.get("row_group_rows")
    fixed = spec.parquet.get("row_group_strategy") in (None, "fixed_rows") and isinstance(rows, int)
    return max(1, size), int(str(rows)) if fixed else None


def _number(spec: ExportSpec, key: str, default: float) -> float:
    value = spec.parquet.get(key)
    return float(value) if isinstance(value, int | float) and value else default
