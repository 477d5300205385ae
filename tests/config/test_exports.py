"""From an entry to a spec: defaults, modes, output, queries, names, places, dependencies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from rivet_core.config import CampaignConfig
from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec, Mode, Tier

Load = Callable[..., CampaignConfig]
Refuse = Callable[..., ConfigError]

HEAD = "source: {type: sqlite, path: a.db}\ndestination: {type: local, path: out}\n"


def spec_of(load: Load, lines: str, *, top: str = "") -> ExportSpec:
    return load(f"{HEAD}{top}exports:\n  - name: e\n{indent(lines, '    ')}").exports[0]


def test_every_default_holds_unless_the_export_says_otherwise(load: Load) -> None:
    top = """\
defaults:
  format: parquet
  mode: incremental
  cursor_column: updated_at
  compression: gzip
  compression_level: 4
  lookback: 1h
  keep_runs: 5
  parallel: 3
  max_file_size: 64MiB
  partition_by: day
  on_schema_drift: fail
  value: {tier: low, freshness: 1d, consumers: [a]}
  quality: {row_count_min: 1, unique_columns: [id]}
  meta_columns: {exported_at: true}
  parquet: {row_group_rows: 5}
"""
    spec = spec_of(
        load, "table: t\nvalue: {tier: high}\nquality: {row_count_min: null}\nkeep_runs: null\nparallel: 1\n", top=top
    )
    assert (spec.mode, spec.cursor_column, spec.compression, spec.compression_level) == (
        Mode.INCREMENTAL,
        "updated_at",
        "gzip",
        4,
    )
    assert (spec.lookback_seconds, spec.max_file_size, spec.partition_by, spec.on_schema_drift) == (
        3600,
        64 << 20,
        ("day",),
        "fail",
    )
    assert (spec.keep_runs, spec.parallel) == (2, 1)
    assert (spec.value.tier, spec.value.freshness_seconds, spec.value.consumers) == (Tier.HIGH, 86400, ("a",))
    assert spec.quality == {"unique_columns": ["id"]}
    assert spec.meta_columns == {"exported_at": True}
    assert spec.parquet == {"row_group_rows": 5}


def test_columns_select_or_override(load: Load) -> None:
    assert spec_of(load, "table: t\ncolumns: [b, a]").columns == ("b", "a")
    spec = spec_of(load, "table: t\ncolumns: {amount: 'decimal(18,2)', at: timestamp_tz}")
    assert (spec.columns, spec.overrides) == ((), {"amount": "decimal(18,2)", "at": "timestamp_tz"})


@pytest.mark.parametrize(
    ("lines", "column", "by_key"),
    [
        ("chunk_column: id", "id", False),
        ("chunk_by_key: id", "id", True),
        ("chunk_by_key: true", None, True),
        ("chunk_by_key: false", None, False),
        ("chunk_size: 1000", None, False),
    ],
)
def test_chunk_keys(load: Load, lines: str, column: str | None, by_key: bool) -> None:
    spec = spec_of(load, f"table: t\nmode: chunked\n{lines}")
    assert (spec.chunk_column, spec.chunk_by_key) == (column, by_key)


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("", None),
        ("incremental_cursor_mode: pair", "pair"),
        ("incremental_cursor_mode: single_column", "single_column"),
        ("cursor_fallback_column: b", "coalesce"),
        ("cursor_fallback_column: b\nincremental_cursor_mode: coalesce", "coalesce"),
    ],
)
def test_cursor_modes(load: Load, lines: str, mode: str | None) -> None:
    assert spec_of(load, f"table: t\nmode: incremental\ncursor_column: a\n{lines}").incremental_cursor_mode == mode


MODES = [
    ("table: t\nmode: incremental", "mode: export e is incremental and has no `cursor_column`"),
    ("table: t\nmode: time_window\ndays_window: 3", "mode: export e is a time_window and has no `time_column`"),
    ("table: t\nmode: time_window\ntime_column: a", "mode: export e is a time_window and has no `days_window`"),
    (
        "table: t\nmode: time_window\ntime_column: a\ndays_window: 1\npartition_by: a",
        "partition_by: export e is a time_window, which is cut by day",
    ),
    ("query: SELECT 1\nmode: chunked", "mode: export e is chunked over a query, which has no primary key"),
    ("table: t\nmode: chunked\nchunk_column: a\nchunk_by_key: b", "chunk_by_key: export e has both"),
    ("table: t\nmode: chunked\nchunk_column: a\nchunk_by_days: 1\nchunk_count: 3", "chunk_by_days: export e has both"),
    ("table: t\nmode: chunked\nchunk_by_days: 1", "chunk_by_days: export e has `chunk_by_days` and no `chunk_column`"),
    (
        "table: t\nmode: incremental\ncursor_column: a\nincremental_cursor_mode: coalesce",
        "export e combines by coalesce and has no fallback",
    ),
    (
        "table: t\nmode: incremental\ncursor_column: a\ncursor_fallback_column: b\nincremental_cursor_mode: pair",
        "which pair does not use",
    ),
    (
        "table: t\nmode: incremental\ncursor_column: a\ncursor_fallback_column: a",
        "cursor_fallback_column: is the cursor itself",
    ),
    ("table: t\nmode: chunked\ndestination: {type: stdout}", "mode: a chunked export cannot go to stdout"),
]


@pytest.mark.parametrize(("lines", "words"), MODES, ids=[row[1] for row in MODES])
def test_modes_need_what_they_need(refuse: Refuse, lines: str, words: str) -> None:
    error = refuse(f"{HEAD}exports:\n  - name: e\n{indent(lines, '    ')}")
    assert words in error.message
    assert error.hint


def test_keys_of_another_mode_are_warned_about_when_the_export_sets_them(load: Load) -> None:
    lines = "table: a\nchunk_size: 5\nnull_cursor: skip\nchunk_column: id\n"
    config = load(f"{HEAD}defaults: {{lookback: 1h}}\nexports:\n  - name: a\n{indent(lines, '    ')}")
    assert [warning.partition("rivet.yaml")[2] for warning in config.warnings] == [
        ":8: exports[0].null_cursor: has no effect, mode is full (it belongs to incremental)",
        ":7: exports[0].chunk_size: has no effect, mode is full (it belongs to chunked)",
    ]


@pytest.mark.parametrize(
    ("defaults", "lines", "expected"),
    [
        ("", "", ("zstd", None, None)),
        ("", "compression_profile: none", ("none", None, "none")),
        ("", "compression_profile: fast", ("snappy", None, "fast")),
        ("", "compression_profile: balanced", ("zstd", 3, "balanced")),
        ("", "compression_profile: compact", ("zstd", 9, "compact")),
        ("", "compression: gzip\ncompression_level: 9", ("gzip", 9, None)),
        ("", "compression_level: 19", ("zstd", 19, None)),
        ("compression_profile: compact", "", ("zstd", 9, "compact")),
        ("compression_profile: compact", "compression: lz4", ("lz4", None, None)),
        ("compression_profile: compact", "compression_level: 1", ("zstd", 1, None)),
        ("compression_profile: compact", "compression_profile: null", ("zstd", None, None)),
        ("compression: gzip, compression_level: 2", "compression_profile: fast", ("snappy", None, "fast")),
        ("compression: gzip", "format: csv", ("none", None, None)),
        ("format: csv", "compression: none", ("none", None, None)),
        ("format: csv", "format: parquet", ("zstd", None, None)),
    ],
)
def test_compression(load: Load, defaults: str, lines: str, expected: tuple[str, int | None, str | None]) -> None:
    top = f"defaults: {{{defaults}}}\n" if defaults else ""
    spec = spec_of(load, f"table: t\n{lines}", top=top)
    assert (spec.compression, spec.compression_level, spec.compression_profile) == expected


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("format: csv\ncompression: gzip", "compression: CSV files are not compressed"),
        ("format: csv\ncompression_profile: fast", "compression_profile: CSV files are not compressed"),
        ("compression: snappy\ncompression_level: 3", "compression_level: snappy has no levels"),
        ("compression: gzip\ncompression_level: 12", "compression_level: must be from 1 to 9 for gzip, not 12"),
        ("compression_level: 23", "compression_level: must be at most 22"),
    ],
)
def test_compression_refused(refuse: Refuse, lines: str, words: str) -> None:
    assert words in refuse(f"{HEAD}exports:\n  - name: e\n    table: t\n{indent(lines, '    ')}").message


def test_a_codec_beside_a_profile_is_warned_about(load: Load) -> None:
    config = load(f"{HEAD}exports: [{{name: e, table: t, compression: gzip, compression_profile: fast}}]\n")
    assert "have no effect beside compression_profile fast" in config.warnings[0]


def test_destinations_replace_with_a_type_and_lie_over_without(load: Load) -> None:
    config = load(
        """\
        source: {type: sqlite, path: a.db}
        destination: {type: s3, bucket: b, prefix: "x/", region: r}
        exports:
          - {name: a, table: a}
          - {name: b, table: b, destination: {prefix: "y/", region: null}}
          - {name: c, table: c, destination: {type: local, path: out}}
        """
    )
    assert [(spec.destination.type, spec.destination.options) for spec in config.exports] == [
        ("s3", {"bucket": "b", "prefix": "x/", "region": "r"}),
        ("s3", {"bucket": "b", "prefix": "y/", "region": None}),
        ("local", {"path": "out"}),
    ]


@pytest.mark.parametrize(
    ("path", "words", "hint"),
    [
        ("out/{exprot}", "{exprot} is not a token", "did you mean `export`?"),
        ("out/{}", "{} is not a token", "tokens: date"),
        ("out/{partition}", "{partition} needs a partition", "partition_by"),
    ],
)
def test_path_tokens(refuse: Refuse, path: str, words: str, hint: str) -> None:
    error = refuse(
        f"source: {{type: sqlite}}\ndestination: {{type: local, path: '{path}'}}\nexports: [{{name: e, table: t}}]\n"
    )
    assert error.message == f"rivet.yaml:2: destination.path: {words}"
    assert hint in error.hint


QUERY = "-- {x} :a %s ${y}\nSELECT '%' || $1::text FROM t; -- end;"


def test_queries_pass_through_untouched(load: Load, tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "q.sql").write_bytes(b"\xef\xbb\xbf" + QUERY.encode())
    config = load(
        f"{HEAD}exports:\n  - name: a\n    query: |-\n{indent(QUERY, '      ')}\n  - {{name: b, query_file: sql/q.sql}}\n"
    )
    assert [spec.query for spec in config.exports] == [QUERY, QUERY]
    assert [warning.partition(": ")[2].partition(" ")[0] for warning in config.warnings] == [
        "exports[0].query:",
        "exports[1].query_file:",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../secret.sql", "lies outside"),
        ("/etc/hosts", "lies outside"),
        ("link.sql", "lies outside"),
        ("missing.sql", "cannot read missing.sql: no such file"),
        ("dir", "is a directory"),
        ("empty.sql", "is empty"),
        ("latin.sql", "is not UTF-8"),
        ("large.sql", "larger than 1 MiB"),
        ("loop.sql", "cannot read loop.sql"),
    ],
)
def test_query_files_stay_inside_and_readable(refuse: Refuse, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path.parent / "secret.sql").write_text("SELECT 1")
    (tmp_path / "link.sql").symlink_to(tmp_path.parent / "secret.sql")
    (tmp_path / "loop.sql").symlink_to("loop.sql")
    (tmp_path / "dir").mkdir()
    (tmp_path / "empty.sql").write_text(" \n")
    (tmp_path / "latin.sql").write_bytes("SELECT 'é'".encode("latin-1"))
    (tmp_path / "large.sql").write_text("SELECT 1 -- " + "x" * (1 << 20))
    error = refuse(f"{HEAD}exports:\n  - name: e\n    query_file: {name}\n")
    assert error.message.startswith("rivet.yaml:5: exports[0].query_file: ")
    assert words in error.message
    assert error.hint


def test_a_query_file_inside_may_be_named_with_dots(load: Load, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1")
    assert load(f"{HEAD}exports: [{{name: e, query_file: ./x/../q.sql}}]\n").exports[0].query == "SELECT 1"


SAME: list[tuple[str, str]] = [
    ("{name: T, table: a}", "{name: t, table: b}"),
    ("{name: Straße, table: a}", "{name: STRASSE, table: b}"),
    ("{name: 'caf\\u00e9', table: a}", '{name: "cafe\\u0301", table: b}'),
    ("{name: a, table: a}", "{name: a., table: b}"),
    ("{name: a, table: t, destination: {path: './x/{table}'}}", "{name: b, table: t, destination: {path: 'x/{table}/'}}"),
    ("{name: a, table: t, destination: {path: 'x/{table}'}}", "{name: b, table: T, destination: {path: 'X/{table}'}}"),
    ("{name: a, table: t, destination: {path: 'x/a/{export}'}}", "{name: A, table: t, destination: {path: 'x/{export}/a'}}"),
    ("{name: a, table: t, destination: {path: 'x/{table}'}}", "{name: A, table: u, destination: {path: 'x/{table}'}}"),
    ("{name: a, table: b, destination: {path: 'x/{table}'}}", "{name: b, table: u, destination: {path: x}}"),
    ("{name: a, table: t, destination: {path: 'x/{date}'}}", "{name: A, table: u, destination: {path: 'x/{date}'}}"),
    ("{name: a, table: t, destination: {type: stdout}}", "{name: b, table: t, destination: {type: stdout}}"),
    (
        "{name: a, table: t, destination: {type: s3, bucket: b, prefix: 'p/{table}'}}",
        "{name: b, table: t, destination: {type: s3, bucket: b, prefix: '/p//{table}/'}}",
    ),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_o02_two_exports_of_one_place_are_refused_naming_both(refuse: Refuse, one: str, two: str) -> None:
    error = refuse(f"{HEAD}exports:\n  - {one.encode().decode('unicode_escape') if chr(92) in one else one}\n  - {two}\n")
    assert error.message.startswith("rivet.yaml:5: exports[1].name: exports ")
    assert "(line 4)" in error.message
    assert "write to the same place" in error.message
    assert error.hint


OTHER: list[tuple[str, str]] = [
    ("{name: x-y, table: x-y}", "{name: x_y, table: x_y}"),
    ("{name: a, table: s1.t}", "{name: b, table: s2.t}"),
    ("{name: a, table: s1.t, destination: {path: 'x/{table}'}}", "{name: b, table: s2.t, destination: {path: 'x/{table}'}}"),
    ("{name: T, table: t}", "{name: t, table: t, destination: {path: elsewhere}}"),
    ("{name: a, table: t, destination: {path: x}}", "{name: b, table: t, destination: {path: x}}"),
    (
        "{name: a, table: t, destination: {type: s3, bucket: b, prefix: '{table}'}}",
        "{name: b, table: t, destination: {type: s3, bucket: c, prefix: '{table}'}}",
    ),
]


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_o02_distinct_places_are_fine(load: Load, one: str, two: str) -> None:
    assert len(load(f"{HEAD}exports:\n  - {one}\n  - {two}\n").exports) == 2


def test_cycles_are_named_in_order(refuse: Refuse) -> None:
    error = refuse(
        f"{HEAD}exports:\n"
        "  - {name: a, table: t, depends_on: [z]}\n"
        "  - {name: b, table: t, depends_on: [c]}\n"
        "  - {name: c, table: t, depends_on: [z, d]}\n"
        "  - {name: d, table: t, depends_on: [b]}\n"
        "  - {name: z, table: t}\n"
    )
    assert error.message == "rivet.yaml:5: exports[1].depends_on: exports wait for each other: b -> c -> d -> b"


def test_a_dependency_in_a_later_wave_is_refused(refuse: Refuse) -> None:
    error = refuse(f"{HEAD}exports:\n  - {{name: a, table: t, wave: 1, depends_on: [b]}}\n  - {{name: b, table: t, wave: 2}}\n")
    assert error.message == "rivet.yaml:4: exports[0].depends_on: a is in wave 1 and depends on b in wave 2"


def test_a_dependency_named_twice_is_refused_before_it_confuses_anything(refuse: Refuse) -> None:
    assert (
        "names b twice"
        in refuse(f"{HEAD}exports: [{{name: a, table: t, depends_on: [b, b]}}, {{name: b, table: t}}]\n").message
    )
