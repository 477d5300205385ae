"""The one retry layer: a unit, up to three tries, pauses with decorrelated jitter, and a budget for the whole campaign."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import TypeVar

import tenacity

from rivet_core.errors import DestinationError, RivetError, SourceError
from rivet_core.facts import Tuning

ResultT = TypeVar("ResultT")

RETRIES = 2
"""Retries after the first try, where the tuning does not say."""
BASE_SECONDS = 1.0
"""The shortest pause; two of them, up to three times and nine times as long, are what a server has for a restart."""
CAP_SECONDS = 10.0
BUDGET = 20
BUDGET_SHARE = 0.05


class Budget:
    """Retries left to the campaign, so that a broken source is not asked for ever: 20, 5 % of its units, and for each unit that
    may run at one time its two, because one restart of a server hits all of those.
    """

    def __init__(self, units: int, at_once: int = 0) -> None:
        self._left = BUDGET + int(units * BUDGET_SHARE) + RETRIES * at_once
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Use one retry; false when none is left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True


class Retrier:
    """Runs the units of one export. `stopped` is asked before every retry: an interrupted campaign does not try again."""

    def __init__(
        self,
        tuning: Tuning,
        budget: Budget,
        *,
        stopped: threading.Event,
        told: Callable[[RivetError, int, float], None] | None = None,
    ) -> None:
        self._tries = 1 + (RETRIES if tuning.max_retries is None else tuning.max_retries)
        self._base = BASE_SECONDS if tuning.retry_backoff_seconds is None else tuning.retry_backoff_seconds
        self._budget = budget
        self._stopped = stopped
        self._told = told
        self.retries = 0
        self._lock = threading.Lock()

    def run(self, action: Callable[[], ResultT]) -> ResultT:
        """Run `action`, again after a transient error. Permanent errors, and the last one, are raised as they are."""
        pause = DecorrelatedJitter(self._base)
        policy = tenacity.Retrying(
            retry=tenacity.retry_if_exception(self._again),
            stop=tenacity.stop_after_attempt(self._tries),
            wait=pause,
            sleep=self._sleep,
            before_sleep=self._tell,
            reraise=True,
        )
        return policy(action)

    def _again(self, error: BaseException) -> bool:
        transient = isinstance(error, SourceError | DestinationError) and error.transient
        return transient and not self._stopped.is_set()

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, RivetError):
            return
        if not self._budget.take():
            raise error
        with self._lock:
            self.retries += 1
        if self._told is not None:
            self._told(error, state.attempt_number, state.next_action.sleep if state.next_action else 0.0)

    def _sleep(self, seconds: float) -> None:
        self._stopped.wait(seconds)


class DecorrelatedJitter(tenacity.wait.wait_base):
    """Wait a random time between the base and three times the last wait, so that retries of many exports drift apart (M10)."""

    def __init__(self, base: float) -> None:
        self._base = base
        self._last = base

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        """Return the next pause in seconds."""
        self._last = min(CAP_SECONDS, random.uniform(self._base, max(self._base, self._last * 3)))  # noqa: S311 - spreads load
        return self._last
