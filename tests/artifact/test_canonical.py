"""Canonical bytes and the seal: any change is found, nothing but a change is."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.artifact.canonical import canonical, looks_like_plan, read_plan, seal_of
from rivet_core.errors import ConfigError, PlanRefused

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=6))
def test_canonical_bytes_survive_a_round_trip_and_ignore_order(data: dict[str, object]) -> None:
    raw = canonical(data)
    again = json.loads(raw.decode("utf-8", "surrogatepass"))
    assert canonical(again) == raw
    assert canonical(dict(reversed(list(data.items())))) == raw


@given(st.dictionaries(st.text(min_size=1), values, min_size=1, max_size=5), st.data())
def test_changing_any_value_changes_the_seal(data: dict[str, object], draw: st.DataObject) -> None:
    key = draw.draw(st.sampled_from(sorted(data)))
    other = draw.draw(values)
    changed = {**data, key: other}
    if key == "seal" or canonical(changed) == canonical(data):
        assert seal_of(changed) == seal_of(data)
    else:
        assert seal_of(changed) != seal_of(data)


def test_the_seal_does_not_cover_itself() -> None:
    assert seal_of({"a": 1, "seal": "x"}) == seal_of({"a": 1, "seal": "y"})


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError):
        canonical({"a": math.nan})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"plan_version": 1, "plan_version": 1}',
        '{"plan_version": NaN}',
        '{"plan_version": 1}',
        '{"plan_version": 1e999}',
        '{"plan_version": 1, "fail_fast": -1e999}',
        '{"\\ud800": 1, "\\ud800": 2}',
        "[" * 100000,
        "\ud800",
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(PlanRefused) as caught:
        read_plan(path)
    assert caught.value.exit_code == 4
    assert caught.value.hint


def test_a_plan_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_plan(tmp_path / "none.json")


def test_plan_or_config(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('\n {"plan_version": 1}')
    (tmp_path / "b").write_text("{source: {type: sqlite}}")
    assert looks_like_plan(tmp_path / "a")
    assert not looks_like_plan(tmp_path / "b")
    assert looks_like_plan(tmp_path / "missing.json")
    assert not looks_like_plan(tmp_path / "missing.yaml")
