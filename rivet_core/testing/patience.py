"""A pytest plugin of `rivet plugins check`: a check that does not come back fails by its name, and the others go on."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from rivet_core.plugins.limit import Overdue, time_limit

VARIABLE = "RIVET_CHECK_SECONDS"
"""Holds the seconds that one check may take."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Interrupt a check that takes too long."""
    seconds = float(os.environ[VARIABLE])
    try:
        with time_limit(seconds):
            return (yield)
    except Overdue:
        pytest.fail(f"it did not come back within {seconds:g} s", pytrace=False)
