"""Put new bytes in the place of a config: all of them or none, mode and links kept. Nothing else ever edits a config."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from rivet_core.errors import ConfigError


def rewrite(path: Path, old: bytes, new: bytes, check: Callable[[Path], object]) -> None:
    """Replace the file behind `path`, which held `old` when it was read. `check` sees the draft first and may raise.

    A link stays a link, the file keeps its mode and owner. Raises `ConfigError` for a file that is write-protected, cannot
    be replaced, or was changed meanwhile.
    """
    real = Path(os.path.realpath(path))
    draft = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        status = real.stat()
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
            raise ConfigError(
                f"{path} is read-only", hint=f"chmod u+w {path}, or write the plan's waves by hand", code="read_only"
            )
        # Made with few rights, for a config may hold a credential.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        check(draft)
        if real.read_bytes() != old:
            raise ConfigError(f"{path} was changed by somebody else meanwhile", hint="run the command again")
        draft.replace(real)
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}",
            hint="make its directory writable: the new text is put beside the config first",
            code="read_only",
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
