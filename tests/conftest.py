"""Settings for the whole suite. The fixtures come from rivet-core's own pytest plugin, as a plugin author gets them."""

from __future__ import annotations

import os

import hypothesis
import pytest

# A loaded machine is no failure; `make soak` looks longer.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("rivet"):
        raise pytest.UsageError("rivet-core is not installed in this environment: run make test, or pip install -e .")


@pytest.fixture(autouse=True, scope="session")
def _no_settings_of_the_developer() -> None:
    """What a developer's shell says to Rivet must not change a test."""
    for name in ("RIVET_PLUGINS_BLOCK",):
        os.environ.pop(name, None)
