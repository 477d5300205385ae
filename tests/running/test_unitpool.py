"""Units of one export, several at once."""

from __future__ import annotations

import threading

import pytest

from rivet_core.errors import SourceError
from rivet_core.facts import Unit, UnitKind
from rivet_core.running.unitpool import each_unit

UNITS = tuple(Unit(index=index, kind=UnitKind.RANGE) for index in range(20))


@pytest.mark.parametrize("threads", [1, 4])
def test_each_unit_is_read_once(threads):
    seen, lock = [], threading.Lock()

    def one(unit):
        with lock:
            seen.append(unit.index)

    each_unit(UNITS, one, threads=threads, halt=lambda: None, name="a")
    assert sorted(seen) == list(range(20))


def test_the_first_failure_stops_the_rest_and_is_told():
    halted = threading.Event()

    def one(unit):
        if unit.index == 0:
            raise SourceError("the reason", code="cut")
        assert halted.wait(10)
        raise SourceError("broken off", code="halted")

    with pytest.raises(SourceError, match="the reason"):
        each_unit(UNITS[:4], one, threads=4, halt=halted.set, name="a")
