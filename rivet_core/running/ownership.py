"""Whether a run still is the one that may write: a process that stood still may wake up after its export was taken over.

`--resume` writes into the directory of the run that it takes up, so a file published there by the process that lost the lease
would change a dataset that is already committed.
"""

from __future__ import annotations

import time

from rivet_core.errors import BusyError
from rivet_core.state import Lease
from rivet_core.state.leases import Leases

TRUSTED_SECONDS = 20.0
"""A lease younger than this is not asked for: nobody takes it over before it is 30 s without a heartbeat."""


class LeaseLostError(BusyError):
    """Another run has what this one thought it held; it must not write any more, neither files nor the state."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name}: another run took over while this one stood still",
            hint="nothing was committed by this one; rivet state show tells what runs",
            code="lease_lost",
        )


class Ownership:
    """The lease of one run."""

    def __init__(self, name: str, leases: Leases, lease: Lease) -> None:
        self._name = name
        self._leases = leases
        self._lease = lease
        self._since = _clock()

    def check(self) -> None:
        """Raise `LeaseLostError` when another run has taken the lease over; called before anything is published or deleted."""
        if _clock() - self._since >= TRUSTED_SECONDS and self._leases.lost(self._lease):
            raise LeaseLostError(self._name)


def _clock() -> float:
    """Return seconds of a clock that goes on while the machine sleeps, where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
