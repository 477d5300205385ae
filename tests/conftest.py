"""Settings for the whole suite. The fixtures come from rivet-core's own pytest plugin, as a plugin author gets them."""

from __future__ import annotations

import os
import signal

import hypothesis
import pytest

# A loaded machine is no failure; `make soak` looks longer.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("rivet"):
        raise pytest.UsageError("rivet-core is not installed in this environment: run make test, or pip install -e .")


@pytest.fixture(autouse=True, scope="session")
def _signals_as_on_a_terminal() -> None:
    """A runner in the background of a script, or under nohup, ignores these, and whatever it starts would, too."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _no_settings_of_the_developer() -> None:
    """What a developer's shell says to Rivet must not change a test."""
    for name in ("RIVET_PLUGINS_BLOCK",):
        os.environ.pop(name, None)
