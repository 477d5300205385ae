"""Whatever stands in the file, loading ends in a config or in an error that names the file: never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivet_core.config import load_config
from rivet_core.config.sections import SECTIONS, keys_of
from rivet_core.errors import ConfigError

KEYS = sorted({key for section in SECTIONS for key in keys_of(section)})
WORDS = [
    "full",
    "incremental",
    "chunked",
    "time_window",
    "a",
    "${A}",
    "${",
    "{export}",
    "off",
    "10m",
    "1GB",
    "06:00",
    "RV201",
    "",
    "../x",
    "\0",
    "sqlite:///x",
]

scalars = st.one_of(
    st.sampled_from(WORDS),
    st.none(),
    st.booleans(),
    st.integers(-5, 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=14,
)
exports = st.lists(
    st.builds(
        lambda name, others: {"name": name, "table": "t", **others},
        st.sampled_from(["a", "b", "A"]),
        st.dictionaries(st.sampled_from(keys_of("export")), trees, max_size=2),
    ),
    max_size=3,
)
configs = st.fixed_dictionaries(
    {"source": st.just({"type": "sqlite"}), "destination": st.just({"type": "local"})},
    optional={
        "exports": st.one_of(exports, trees),
        **dict.fromkeys(("planning", "plugins", "state", "defaults", "source_groups", "sources"), trees),
    },
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(configs, st.dictionaries(st.sampled_from(KEYS), trees, max_size=4)))
def test_any_tree_loads_or_is_refused(tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]) -> None:
    expect_config_or_error(tmp_path_factory.mktemp("c"), json.dumps(tree).encode())


@settings(max_examples=150)
@given(st.text(alphabet="ab:-{}[]*&!|>#'\"%@,?\n \t<$", max_size=60))
def test_any_text_loads_or_is_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    expect_config_or_error(tmp_path_factory.mktemp("c"), text.encode())


@settings(max_examples=60)
@given(st.binary(max_size=40))
def test_any_bytes_load_or_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    expect_config_or_error(tmp_path_factory.mktemp("c"), data)


def expect_config_or_error(directory: Path, data: bytes) -> None:
    path = directory / "rivet.yaml"
    path.write_bytes(data)
    try:
        assert load_config(path, {"A": "1"}).exports
    except ConfigError as error:
        told = error
    else:
        return
    assert told.message.startswith(f"{path}:")
    assert "\n" not in told.message + told.hint
