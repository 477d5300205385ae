"""Paths in a config: relative to it, and refused in words where no file system takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet_core.errors import ConfigError
from rivet_core.options import ConfigPath, PluginOptions, validate_options


class Options(PluginOptions):
    path: ConfigPath


def test_a_relative_path_is_relative_to_the_config(tmp_path: Path) -> None:
    found = validate_options(Options, {"path": "../out"}, base=tmp_path / "deep", what="here")
    assert isinstance(found, Options)
    assert found.path == tmp_path / "out"


@pytest.mark.parametrize(
    ("value", "words"),
    [("a\0b", "NUL"), ("", "empty"), (5, "must be a path"), (["a"], "must be a path"), (None, "must be a path")],
)
def test_what_is_no_path_is_refused(tmp_path: Path, value: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        validate_options(Options, {"path": value}, base=tmp_path, what="destination type local")
    assert "pathlib" not in caught.value.message
