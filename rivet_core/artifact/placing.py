"""Putting a file that a command writes in its place: whole or not at all, and never over something that is no file."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from rivet_core.errors import ConfigError


def check_place(path: Path, *, hint: str) -> None:
    """Raise `ConfigError` with `hint` where `write_whole` could not begin: for what is written after hours of work."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            return
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", dir=Path(os.path.realpath(path)).parent):
            pass
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}", hint=hint) from None


def write_whole(
    path: Path,
    pieces: Iterable[bytes],
    *,
    hint: str = "choose another place with -o",
    check: Callable[[Path], object] | None = None,
    replace: bool = True,
) -> None:
    """Write the file atomically: a reader sees the old one or the whole new one.

    A link keeps its place and its target gets the bytes; a device or a pipe is written to, never replaced. `check` sees the
    draft beside the target before it takes the place, and may raise. Without `replace` what is there already stays and
    `FileExistsError` is raised. Raises `ConfigError` with `hint` where it cannot be written.
    """
    try:
        if replace and path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as special:
                special.writelines(pieces)
            return
        real = Path(os.path.realpath(path)) if replace else path
        descriptor, temporary = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        draft = Path(temporary)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp makes 0600; what is written here holds no secrets and is meant to be handed on.
            umask = os.umask(0)
            os.umask(umask)
            draft.chmod(0o666 & ~umask)
            if check is not None:
                check(draft)
            if replace:
                draft.replace(real)
            else:
                # A link fails where something appeared meanwhile; a rename would silently replace it.
                os.link(draft, real)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()
    except OSError as error:
        if isinstance(error, FileExistsError) and not replace:
            raise
        raise ConfigError(f"cannot write {path}: {error.strerror or error}", hint=hint) from None
