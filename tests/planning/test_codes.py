"""Reason codes in a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet_core.config import load_config
from rivet_core.errors import ConfigError
from rivet_core.planning.codes import check_codes, check_plugin_names
from rivet_core.plugins import load_plugins

CONFIG = """source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
exports: [{name: a, table: a}]
planning: %s
"""


def checked(folder: Path, planning: str) -> list[str]:
    (folder / "rivet.yaml").write_text(CONFIG % planning)
    return check_codes(load_config(folder / "rivet.yaml"), load_plugins())


@pytest.mark.parametrize(
    ("planning", "place", "hint"),
    [
        ("{rules: {RV299: off}}", "planning.rules.RV299", "did you mean `RV2"),
        ("{rules: {RV201: off, RV999: {points: 3}}}", "planning.rules.RV999", "did you mean `RV9"),
        ("{suppress: [{export: a, code: RV399, reason: x}]}", "planning.suppress[0].code", "did you mean `RV3"),
    ],
)
def test_a_core_code_that_does_not_exist_is_refused(tmp_path, planning, place, hint):
    with pytest.raises(ConfigError, match="there is no reason RV") as caught:
        checked(tmp_path, planning)
    assert f"rivet.yaml:4: {place}: " in caught.value.message
    assert hint in caught.value.hint


def test_a_code_that_no_loaded_plugin_gives_is_warned_about(tmp_path):
    (warning,) = checked(tmp_path, "{rules: {X-NOBODY-001: off}}")
    assert "rivet.yaml:4: planning.rules.X-NOBODY-001: no loaded plugin gives X-NOBODY-001" in warning


def test_codes_that_exist_pass(tmp_path):
    given = sorted({code for owned in load_plugins().rules for code in owned.record.codes})
    assert any(code.startswith("X-") for code in given), "the plugins of this repository are installed"
    off = ", ".join(f"{code}: off" for code in given)
    assert checked(tmp_path, f"{{rules: {{{off}}}}}") == []


def test_a_plugin_that_is_not_there_is_named(tmp_path):
    text = CONFIG % "{}" + "plugins: {options: {rivet-core: {a: 1}, core: {}}, grant: {nobody-knows: [gate]}}\n"
    (tmp_path / "rivet.yaml").write_text(text)
    first, second = check_plugin_names(load_config(tmp_path / "rivet.yaml"), load_plugins())
    assert "rivet.yaml:5: plugins.options.rivet-core: no installed plugin is called rivet-core: it has no effect" in first
    assert first.endswith("; did you mean `core`?")
    assert second.endswith(
        "rivet.yaml:5: plugins.grant.nobody-knows: no installed plugin is called nobody-knows: it has no effect"
    )
