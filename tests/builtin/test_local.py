"""The local destination."""

from __future__ import annotations

import pytest

from rivet_core.errors import ConfigError
from rivet_core.plugins import load_plugins


def test_a_relative_path_is_relative_to_the_config(tmp_path):
    target = load_plugins().open_destination("local", {"path": "out/x"}, base=tmp_path)
    assert target.root == target.url_prefix == str(tmp_path / "out" / "x")
    assert target.capabilities.local
    assert not (tmp_path / "out").exists()


def test_unknown_and_missing_options_are_config_errors(tmp_path):
    for options in ({}, {"path": "x", "bucket": "y"}):
        with pytest.raises(ConfigError):
            load_plugins().open_destination("local", options, base=tmp_path)
