"""The one error boundary: whatever goes wrong becomes `error:`, `hint:` and the documented exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

from rivet_core.cli.output import json_text, tolerate_any_text
from rivet_core.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_CONFIG,
    EXIT_FAILED,
    ConfigError,
    InternalError,
    InterruptedByUser,
    RivetError,
    named,
)
from rivet_core.interrupts import noting_interrupts

PROGRAM = "rivet"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    tolerate_any_text()
    try:
        code = _guarded(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away: nobody is left to tell.
        _drop_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _drop_stdout()
        show_error(RivetError(f"cannot write to stdout: {error.strerror}", hint="send the output to a place with room"))
        return EXIT_FAILED
    return code


def _guarded(arguments: list[str]) -> int:
    """Run the command; whatever goes wrong is reported, but for a stdout that takes nothing any more."""
    machine = _wants_json(arguments)
    try:
        with noting_interrupts():
            return _dispatch(arguments)
    except RivetError as error:
        return report(error, machine=machine)
    except KeyboardInterrupt:
        return report(InterruptedByUser("interrupted"), machine=machine)
    except Exception as error:
        if isinstance(error, BrokenPipeError) or (
            isinstance(error, OSError) and error.errno in _FULL and error.filename is None
        ):
            raise
        if {"-v", "--verbose"} & set(arguments):
            # The way there without the words at its end, which may hold a password.
            traceback.print_tb(error.__traceback__)
        return report(
            InternalError(
                f"internal error: {named(error)}",
                hint="this is a bug; run again with -v for the trace and report it",
            ),
            machine=machine,
        )


def _drop_stdout() -> None:
    """Send what is still buffered nowhere, or the interpreter would try again at its end and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    from typer.main import get_command

    from rivet_core.cli.app import app

    try:
        result = get_command(app).main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except RivetError:
        raise
    except SystemExit as end:
        # click turns a broken pipe into exit code 1 without a word.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        if not _is_its_own(end):
            raise InternalError(
                f"internal error: {named(end)}", hint="a plugin must not end the process: report it to its authors"
            ) from end
        raise
    except Exception as error:
        # typer vendors click since 0.20: its usage errors are known by their shape, not by their class.
        if not hasattr(error, "format_message"):
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else PROGRAM
        message = error.format_message()
        if not message or message.startswith("Usage:"):  # the help of a group that was given no command
            message = "a command is missing"
        raise ConfigError(message.rstrip("."), hint=f"{path} --help shows what it takes", code="usage") from None
    return result if isinstance(result, int) else 0


def _is_its_own(end: SystemExit) -> bool:
    """Whether the command line itself leaves, as shell completion does; anybody else would make it a success without a word."""
    trace = end.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("typer", "click")


def _wants_json(arguments: Sequence[str]) -> bool:
    if "--json" in arguments or "--format=json" in arguments:
        return True
    return ("--format", "json") in pairwise(arguments)


def report(error: RivetError, *, machine: bool) -> int:
    """Print an error for people or for machines; return its exit code."""
    if machine:
        print(json_text({"error": error.as_dict()}), file=sys.stdout)  # noqa: T201
    else:
        show_error(error)
    return error.exit_code or EXIT_CONFIG


def show_error(error: RivetError) -> None:
    """Print the one `error:` line and the one `hint:` line on stderr."""
    print(f"error: {_one_line(error.message)}", file=sys.stderr)  # noqa: T201
    if error.hint:
        print(f"hint: {_one_line(error.hint)}", file=sys.stderr)  # noqa: T201


def show_export_error(export: str, error: RivetError) -> None:
    """Print an error that ended what was to be done with one export, whose name it then says once."""
    show_error(RivetError(f"{export}: {error.message.removeprefix(f'{export}: ')}", hint=error.hint))


def _one_line(text: str) -> str:
    return " ".join(text.split())
