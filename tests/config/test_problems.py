"""Every bad input: exit code 2, `path:line:`, the key path, one sentence, and a hint that helps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rivet_core.errors import ConfigError

Refuse = Callable[..., ConfigError]

HEAD = """\
source: {type: sqlite, path: a.db}
destination: {type: local, path: out}
exports:
  - name: a
    table: a
"""
# Lines 6 and on, message after `rivet.yaml:`, and what the hint must say.
AFTER_HEAD: list[tuple[str, str, str]] = [
    ("    chunk_szie: 1000\n", "6: exports[0].chunk_szie: unknown key", "did you mean `chunk_size`?"),
    (
        "paralel: 8\n",
        "6: paralel: unknown key",
        "did you mean `parallel`? It belongs under `defaults:` or in an entry of `exports:`",
    ),
    ("export: []\n", "6: export: unknown key", "did you mean `exports`?"),
    ("chunk_size: 8\n", "6: chunk_size: unknown key", "`chunk_size` belongs under `defaults:` or in an entry of `exports:`"),
    ("    batch_size: 8\n", "6: exports[0].batch_size: unknown key", "`batch_size` belongs under `tuning:`"),
    ("    workers: 8\n", "6: exports[0].workers: unknown key", "`workers` belongs under `planning:`"),
    ("    path: out\n", "6: exports[0].path: unknown key", "`path` belongs under `destination:`"),
    ("    tier: high\n", "6: exports[0].tier: unknown key", "`tier` belongs under `value:`"),
    ("    url_env: X\n", "6: exports[0].url_env: unknown key", "`url_env` belongs under `source:`"),
    ("planning: {mode: full}\n", "6: planning.mode: unknown key", "belongs in an entry of `exports:`"),
    ("    zzzzzz: 1\n", "6: exports[0].zzzzzz: unknown key", "rivet schema config"),
    ("state: {zzzz: 1}\n", "6: state", ""),
    ("  - nmae: b\n    table: b\n", "6: exports[1].nmae: unknown key", "did you mean `name`?"),
    ('    "chunk\\nsize": 5\n', "6: exports[0].chunk\\nsize: unknown key", "did you mean `chunk_size`?"),
    ("    value: {tear: high}\n", "6: exports[0].value.tear: unknown key", "did you mean `tier`?"),
    ("    tuning: {profil: safe}\n", "6: exports[0].tuning.profil: unknown key", "did you mean `profile`?"),
    (
        "    mode: incremantal\n",
        "6: exports[0].mode: must be one of full, incremental, chunked, time_window, not incremantal",
        "`incremental`",
    ),
    ("    mode: 3\n", "6: exports[0].mode: must be one of", ""),
    ("    mode: cdc\n", "6: exports[0].mode: mode cdc of the Rust tool is not in this rivet", "change data capture"),
    ("defaults: {mode: cdc}\n", "6: defaults.mode: mode cdc", "change data capture"),
    ("    parallel: four\n", "6: exports[0].parallel: must be a whole number, not four", "without quotes"),
    ("    parallel: '4'\n", "6: exports[0].parallel: must be a whole number, not '4'", "without quotes"),
    ("    parallel: 1_0\n", "6: exports[0].parallel: must be a whole number, not 1_0", "underscores"),
    ("    parallel: 4.5\n", "6: exports[0].parallel: must be a whole number, not 4.5", ""),
    ("    parallel: true\n", "6: exports[0].parallel: must be a whole number, not true", ""),
    ("    parallel: 0\n", "6: exports[0].parallel: must be at least 1, not 0", ""),
    ("    parallel: 100000\n", "6: exports[0].parallel: must be at most 256", ""),
    ("    skip_empty: yes\n", "6: exports[0].skip_empty: must be true or false, not yes", "YAML 1.2"),
    ("    skip_empty: 1\n", "6: exports[0].skip_empty: must be true or false, not 1", ""),
    ("    cursor_column: 5\n", "6: exports[0].cursor_column: must be text; put quotes around it, not 5", ""),
    ("    cursor_column: ''\n", "6: exports[0].cursor_column: must not be empty", ""),
    ("    lookback: 10 minutes\n", "6: exports[0].lookback: must be a span of time such as 90s, 10m, 1h or 2d", ""),
    ("    lookback: 12:30:00\n", "6: exports[0].lookback: must be a span of time", ""),
    ("    max_file_size: big\n", "6: exports[0].max_file_size: must be a size such as 256MB", ""),
    ("    value: {deadline: 6am}\n", "6: exports[0].value.deadline: must be a time of day", ""),
    ("    value: high\n", "6: exports[0].value: must be a mapping, not high", ""),
    ("    columns: id\n", "6: exports[0].columns: must be a list of columns, or a mapping", ""),
    ("    columns: []\n", "6: exports[0].columns: must not be empty", ""),
    ("    columns: [a, a]\n", "6: exports[0].columns: names a twice", ""),
    ("    columns: {a: 5}\n", "6: exports[0].columns: gives column a no type", ""),
    ("    depends_on: b\n", "6: exports[0].depends_on: must be a list", ""),
    ("    depends_on: [b]\n", "6: exports[0].depends_on: there is no export named b", "exports: a"),
    ("    depends_on: [a]\n", "6: exports[0].depends_on: exports wait for each other: a -> a", "remove one"),
    ("    quality: {null_ratio_max: {a: 2}}\n", "6: exports[0].quality.null_ratio_max.a: must be at most 1", ""),
    (
        "    quality: {row_count_min: 5, row_count_max: 4}\n",
        "6: exports[0].quality: row_count_min 5 is more than row_count_max 4",
        "no run",
    ),
    (
        "    quality: {row_count_min: 5}\ndefaults: {quality: {row_count_max: 4}}\n",
        "6: exports[0].quality: row_count_min 5 is more than row_count_max 4",
        "no run",
    ),
    (
        "defaults: {quality: {row_count_max: 4, row_count_min: 5}}\n",
        "6: defaults.quality: row_count_min 5 is more than row_count_max 4",
        "no run",
    ),
    ("    meta_columns: {row_hash: []}\n", "6: exports[0].meta_columns.row_hash: must not be an empty list", ""),
    ("    wave: 0\n", "6: exports[0].wave: must be at least 1", ""),
    ("    tuning: {page_seconds: 0}\n", "6: exports[0].tuning.page_seconds: must be greater than 0", ""),
    ("    tuning: {page_seconds: .inf}\n", "6: exports[0].tuning.page_seconds: must be a finite number, not .inf", ""),
    ("    table: b\n", "6: duplicate key `table` (first on line 5)", "keep one"),
    ("exports: []\n", "6: duplicate key `exports` (first on line 3)", "keep one"),
    ("  - name: a\n    table: b\n", "6: exports[1].name: two exports are named a (the first on line 4)", "rename"),
    ("  - table: b\n", "6: exports[1].name: is missing", "add `name:`"),
    ("  - name: b\n", "6: exports[1]: export b names nothing to read", "`query_file:`"),
    ("    query: SELECT 1\n", "6: exports[0].query: export a has both `table` and `query`", "exactly one"),
    ("  -\n", "6: exports[1]: is an empty entry", "remove the line"),
    ("  - b\n", "6: exports[1]: must be a mapping, not b", ""),
    ("    columns:\n", "6: exports[0].columns: is empty", "write a value after `columns:`"),
    ("    tables:\n", "6: exports[0].tables: is empty", "write a value after `tables:`"),
    ("planning:\n", "6: planning: is empty", "write a value after `planning:`"),
    ("planning: {workers: }\n", "6: planning.workers: is empty", "workers"),
    ("planning: null\n", "6: planning: must be a mapping, not null", ""),
    ("planning: {workers: 0}\n", "6: planning.workers: must be at least 1", ""),
    ("planning: {waves: many}\n", "6: planning.waves: must be a number from 1 to 1000, or auto, not many", ""),
    ("planning: {rules: {RV201: 25}}\n", "6: planning.rules.RV201: must be {points: N} or off, not 25", ""),
    ("planning: {rules: {RV201: {points: 41}}}\n", "6: planning.rules.RV201: must give whole points from -40 to 40", ""),
    ("planning: {rules: {RV201: false}}\n", "6: planning.rules.RV201: must be {points: N} or off", ""),
    ("planning: {rules: {size: off}}\n", "6: planning.rules.size: must be a reason code such as RV201", ""),
    ("planning: {suppress: [{export: a, code: RV302}]}\n", "6: planning.suppress[0].reason: is missing", "add `reason:`"),
    (
        "planning: {suppress: [{export: aa, code: RV302, reason: x}]}\n",
        "6: planning.suppress[0].export: there is no export named aa",
        "exports: a",
    ),
    (
        "planning: {suppress: [{export: a, code: RV302, reason: x, until: soon}]}\n",
        "6: planning.suppress[0].until: must be a date",
        "",
    ),
    ("planning: {suppress: {export: a}}\n", "6: planning.suppress: must be a list, not a mapping", "begin each entry"),
    ("plugins: {block: x}\n", "6: plugins.block: must be a list", ""),
    ("plugins: {grant: {x: [all]}}\n", "6: plugins.grant.x[0]: must be one of base, gate, not all", ""),
    ("plugins: {grant: {x: gate}}\n", "6: plugins.grant.x: must be a list, not gate", "[gate]"),
    (
        "source_groups: {g: {max_conections: 2}}\n",
        "6: source_groups.g.max_conections: unknown key",
        "did you mean `max_connections`?",
    ),
    ("source_groups: {g: {max_lag: long}}\n", "6: source_groups.g.max_lag: must be a span", ""),
    ("state: {url: 'mysql://h/db'}\n", "6: state.url: must be `sqlite:///PATH` or `postgresql://...`", "sqlite:///"),
    ("state: {url: 'sqlite://'}\n", "6: state.url: names no file", "three slashes"),
    ("sources: {b: {type: sqlite}}\n", "1: source: `source` and `sources` exclude each other", "sources"),
    ("defaults: {name: x}\n", "6: defaults.name: unknown key", "`name` belongs in an entry of `exports:`"),
    ("defaults: {destination: {type: local}}\n", "6: defaults.destination: unknown key", "at the top level"),
    ("    source: b\n", "6: exports[0].source: there is no source named b", "default"),
    ("defaults: {source: defualt}\n", "6: defaults.source: there is no source named defualt", "did you mean `default`?"),
]


@pytest.mark.parametrize(
    ("lines", "message", "hint"), AFTER_HEAD, ids=[row[0].strip().replace("\n", " ") for row in AFTER_HEAD]
)
def test_refused(refuse: Refuse, lines: str, message: str, hint: str) -> None:
    # A second exports list, and keys of the top level, stand after the first export all the same.
    error = refuse(HEAD + lines)
    assert error.message.startswith(f"rivet.yaml:{message}")
    assert hint in error.hint


WHOLE: list[tuple[str, str, str]] = [
    ("exports: [{name: a, table: a}]\n", "1: there is no source", "source: {type"),
    ("source: null\nexports: [{name: a, table: a}]\n", "1: there is no source", "source: {type"),
    ("sources: {}\nexports: [{name: a, table: a}]\n", "1: sources: there is no source", "source: {type"),
    ("source: {type: sqlite}\n", "1: exports: is missing", "add `exports:`"),
    ("source: {type: sqlite}\nexports: []\n", "2: exports: there is nothing to export", "add an entry"),
    ("source: {type: sqlite}\nexports:\n", "2: exports: is empty", "write a value"),
    (
        "source: {type: sqlite}\nexports: {a: {table: a}}\n",
        "2: exports: must be a list, not a mapping",
        "begin each entry with",
    ),
    ("source: {path: a.db}\nexports: [{name: a, table: a}]\n", "1: source.type: is missing", "add `type:`"),
    ("source: {type: }\nexports: [{name: a, table: a}]\n", "1: source.type: is empty", "type"),
    ("source: sqlite\nexports: [{name: a, table: a}]\n", "1: source: must be a mapping", ""),
    (
        "source:\n  type: sqlite\n  batch_size: 3\nexports: [{name: a, table: a}]\n",
        "3: source.batch_size: unknown key",
        "under `tuning:`",
    ),
    ("source:\n  type: sqlite\n  mongo: {}\nexports: [{name: a, table: a}]\n", "3: source.mongo: unknown key", "MongoDB"),
    ("source:\n  type: sqlite\n  path:\nexports: [{name: a, table: a}]\n", "3: source.path: is empty", "path"),
    ("source: {type: sqlite}\nexports: [{name: a, table: a}]\n", "2: exports[0]: no destination", "destination: {type: local"),
    (
        "source: {type: sqlite}\nexports: [{name: a, table: a, destination: {path: x}}]\n",
        "2: exports[0].destination: has no `type`",
        "type: local",
    ),
    (
        "sources: {a: {type: sqlite}, b: {type: sqlite}}\ndestination: {type: local}\nexports: [{name: a, table: a}]\n",
        "3: exports[0]: export a names no source and there are several",
        "a, b",
    ),
    (
        "sources: {'a/b': {type: sqlite}}\nexports: [{name: a, table: a}]\n",
        "1: sources.a/b: the name of a source must be usable",
        "",
    ),
    (
        "sources: {shop: {type: sqlite}, b: {type: sqlite}}\nexports: [{name: a, table: a, source: shp}]\n",
        "2: exports[0].source: there is no source named shp",
        "did you mean `shop`?",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), WHOLE, ids=[row[1] for row in WHOLE])
def test_refused_as_a_whole(refuse: Refuse, text: str, message: str, hint: str) -> None:
    error = refuse(text)
    assert error.message.startswith(f"rivet.yaml:{message}")
    assert hint in error.hint


def test_the_first_problem_in_the_file_is_told_and_the_others_are_counted(refuse: Refuse) -> None:
    error = refuse(HEAD + "    parallel: x\n    wave: y\n    keep_runs: z\nplanning: {workers: q}\n")
    assert error.message == "rivet.yaml:6: exports[0].parallel: must be a whole number, not x (3 more, next on line 7)"


def test_values_of_sources_and_destinations_are_never_shown(refuse: Refuse) -> None:
    text = (
        "source: {type: postgres, password: hunter2, tuning: hunter2}\ndestination: hunter2\nexports: [{name: a, table: a}]\n"
    )
    error = refuse(text)
    assert "hunter2" not in error.message + error.hint


def test_a_problem_behind_a_merge_names_the_line_of_the_anchor(refuse: Refuse) -> None:
    error = refuse("x-b: &b\n  chunk_szie: 3\n" + HEAD + "    <<: *b\n")
    assert error.message.startswith("rivet.yaml:2: exports[0].chunk_szie: unknown key")


@pytest.mark.parametrize(
    "name",
    ["a/b", "a\\b", ".", "..", "a\0b", "a\nb", "\x7f", "\x85", " a", "a ", "", "x" * 201, "\u00e9" * 101, ":" * 100],
    ids=range(14),
)
def test_names_must_be_usable_as_a_directory(refuse: Refuse, name: str) -> None:
    import json

    error = refuse(HEAD.replace("name: a", f"name: {json.dumps(name)}"))
    assert error.message.startswith("rivet.yaml:4: exports[0].name: must")


@pytest.mark.parametrize(
    "name", ["orders", "a.b", "a-b_c", "\u00fcber", "x" * 200, "select", "\u6ce8\u6587", "a b", "off", "...", "a:b"]
)
def test_other_names_are_fine(load: Callable[..., object], name: str) -> None:
    load(HEAD.replace("name: a", f"name: '{name}'"))
