"""The one error boundary: whatever goes wrong becomes `error:`, `hint:` and the documented exit code, never a traceback."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

from rivet_core.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_CONFIG,
    EXIT_INTERRUPTED,
    ConfigError,
    InternalError,
    RivetError,
)

PROGRAM = "rivet"


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except RivetError as error:
        return report(error, machine=_wants_json(arguments))
    except KeyboardInterrupt:
        return report(_Interrupted("interrupted"), machine=_wants_json(arguments))
    except BrokenPipeError:
        # The reader went away: nobody is left to tell, and the interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence
        if {"-v", "--verbose"} & set(arguments):
            traceback.print_exc()
        return report(
            InternalError(
                f"internal error: {type(error).__name__}: {error}".splitlines()[0],
                hint="this is a bug; run again with -v for the trace and report it",
            ),
            machine=_wants_json(arguments),
        )


class _Interrupted(RivetError):  # noqa: N818 - what happened, not an error
    exit_code = EXIT_INTERRUPTED
    kind = "interrupted"


def _dispatch(arguments: list[str]) -> int:
    from typer.main import get_command

    from rivet_core.cli.app import app

    try:
        result = get_command(app).main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except RivetError:
        raise
    except Exception as error:
        # typer vendors click since 0.20: its usage errors are known by their shape, not by their class.
        if not hasattr(error, "format_message"):
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else PROGRAM
        message = error.format_message() or "a command is missing"
        raise ConfigError(message.rstrip("."), hint=f"{path} --help shows what it takes", code="usage") from None
    return result if isinstance(result, int) else 0


def _wants_json(arguments: Sequence[str]) -> bool:
    if "--json" in arguments or "--format=json" in arguments:
        return True
    return ("--format", "json") in pairwise(arguments)


def report(error: RivetError, *, machine: bool) -> int:
    """Print an error for people or for machines; return its exit code."""
    if machine:
        print(json.dumps({"error": error.as_dict()}, ensure_ascii=False), file=sys.stdout)  # noqa: T201
    else:
        show_error(error)
    return error.exit_code or EXIT_CONFIG


def show_error(error: RivetError) -> None:
    """Print the one `error:` line and the one `hint:` line on stderr."""
    print(f"error: {_one_line(error.message)}", file=sys.stderr)  # noqa: T201
    if error.hint:
        print(f"hint: {_one_line(error.hint)}", file=sys.stderr)  # noqa: T201


def _one_line(text: str) -> str:
    return " ".join(text.split())
