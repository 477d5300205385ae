"""What a user sees when something cannot be done.

One class, `RivetError`, means "not a bug": it has one sentence that says what is wrong, one that says what to do, and the
process exit code. Its kinds are sorted by what one does about them. Anything else that is raised is a bug (exit code 7).
"""

from __future__ import annotations

from collections.abc import Iterable

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_PLUGIN = 3
EXIT_REFUSED = 4
EXIT_INTEGRITY = 5
EXIT_BUSY = 6
EXIT_INTERNAL = 7
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_TERMINATED = 143

LONGEST_TEXT = 500
"""Characters of somebody else's text in an error."""

SEVERITY = (EXIT_INTERNAL, EXIT_INTEGRITY, EXIT_REFUSED, EXIT_PLUGIN, EXIT_BUSY, EXIT_CONFIG, EXIT_FAILED)
"""Exit codes, the most serious first: when several apply, the first one wins."""


def most_serious(codes: Iterable[int]) -> int:
    """Return the exit code that wins among `codes`; 0 when there is none."""
    found = set(codes)
    return next((code for code in SEVERITY if code in found), EXIT_DONE)


class RivetError(Exception):
    """Something the user can act on.

    `message` says what is wrong, `hint` what to do about it, `code` is the stable word for machines.
    """

    exit_code = EXIT_FAILED
    kind = "failed"
    default_hint = ""
    """What to do when whoever raises knows nothing better: an error line never stands without a hint line."""

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        # Whatever a plugin gave: what is shown is text.
        self.message = str(message)
        self.hint = str(hint or self.default_hint)
        self.code = code or self.kind

    def as_dict(self) -> dict[str, object]:
        """Return the `{"code", "message", "hint", "exit_code"}` object that `--json` prints under `error`."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "exit_code": self.exit_code}


class ConfigError(RivetError):
    """The command line or the config is wrong: edit it."""

    exit_code = EXIT_CONFIG
    kind = "config"
    default_hint = "rivet schema config describes every key, rivet --help every command"


class PluginError(RivetError):
    """A plugin cannot be used: install, upgrade or block it."""

    exit_code = EXIT_PLUGIN
    kind = "plugin"
    default_hint = "rivet plugins list shows every plugin and its status"


class PlanRefused(RivetError):  # noqa: N818 - the name of the outcome, as users read it
    """The plan file is stale, drifted or changed: plan again."""

    exit_code = EXIT_REFUSED
    kind = "plan_refused"
    default_hint = "make a new plan with rivet plan -o"


class IntegrityError(RivetError):
    """Data does not agree with its manifest, its source or its declared quality: look before going on."""

    exit_code = EXIT_INTEGRITY
    kind = "integrity"


class BusyError(RivetError):
    """Another run holds what this one needs: wait, or look who holds it."""

    exit_code = EXIT_BUSY
    kind = "busy"


class SourceError(RivetError):
    """The source refused, failed or vanished.

    `transient` says that the same statement may succeed later (a retry is worth it); `sqlstate` is the server's own code;
    `error_class` is the coarse class that history and the shared-cause breaker compare
    (`connection`, `auth`, `permission`, `missing`, `timeout`, `conflict`, `limit`, `data`, `other`).
    """

    kind = "source"
    default_hint = "look at the server's own log for the same moment"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str | None = None,
        transient: bool = False,
        sqlstate: str = "",
        error_class: str = "other",
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.transient = transient
        self.sqlstate = sqlstate
        self.error_class = error_class


class DestinationError(RivetError):
    """The destination refused, failed or is full. `error_class` is `full`, `permission`, `connection` or `other`."""

    kind = "destination"
    default_hint = "check that the destination is there, writable and not full"

    def __init__(
        self, message: str, *, hint: str = "", code: str | None = None, transient: bool = False, error_class: str = "other"
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.transient = transient
        self.error_class = error_class


def in_words(error: BaseException) -> str:
    """Return the type of a foreign exception and the first line of its text, whatever asking for that text does."""
    try:
        lines = str(error).strip().splitlines()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its `__str__` is as foreign as what raised it
        lines = []
    return f"{type(error).__name__}: {lines[0][:LONGEST_TEXT]}" if lines else type(error).__name__


def named(error: BaseException) -> str:
    """Return an exception's type and the line it came from; its text may hold a password (a driver's message shows the DSN)."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


class InterruptedByUser(RivetError):  # noqa: N818 - what happened, not an error
    """Ctrl-C while no campaign listened for it."""

    exit_code = EXIT_INTERRUPTED
    kind = "interrupted"
    default_hint = "start it again; a run that was broken off goes on with --resume"


class InternalError(RivetError):
    """A bug of ours or of a plugin, caught at the outermost boundary."""

    exit_code = EXIT_INTERNAL
    kind = "internal"
