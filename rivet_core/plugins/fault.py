"""What a plugin's unexpected exception becomes: a failure of its own source or destination."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rivet_core.errors import DestinationError, RivetError, SourceError
from rivet_core.interrupts import is_ctrl_c


def plugin_fault(kind: str, error: BaseException, *, destination: bool = False) -> RivetError:
    """Return the error of a source or destination of type `kind` whose plugin raised something that is no `RivetError`.

    It names the exception's type only: its text may hold a password (a driver's message shows the whole DSN).
    """
    what = "destination" if destination else "source"
    message = f"the plugin of {what} type {kind} failed: {type(error).__name__}"
    hint = "this is a fault of the plugin: report it to its authors"
    fault: RivetError = DestinationError(message, hint=hint) if destination else SourceError(message, hint=hint)
    # The command line shows a cause's trace under -v; what the exception says stays out of the row.
    fault.__cause__ = error
    return fault


@contextmanager
def raising(fault: Callable[[BaseException], RivetError]) -> Iterator[None]:
    """Turn whatever a plugin raises in the body, and is no error of ours, into `fault` of it."""
    try:
        yield
    except RivetError:
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise fault(error) from error


def faults_of(kind: str) -> AbstractContextManager[None]:
    """Turn whatever a source of type `kind` raises in the body, and is no error of ours, into its plugin's fault."""
    return raising(lambda error: plugin_fault(kind, error))


def quietly(call: Callable[[], object]) -> None:
    """Call what nothing depends on any more, such as a session's `close`, whatever its plugin makes of it."""
    try:
        call()
    except BaseException as error:
        if is_ctrl_c(error):
            raise
