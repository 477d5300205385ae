"""From what a filesystem raised to a `DestinationError`: its class, whether a retry helps, and the path in the message."""

from __future__ import annotations

import errno
import re

from rivet_core.errors import DestinationError, RivetError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
TRANSIENT = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EPIPE,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ETIMEDOUT,
    }
)
SHAPE = {
    errno.ENOTDIR: "a part of the path is a file",
    errno.EISDIR: "there is a directory in place of the file",
    errno.ENAMETOOLONG: "the name is too long for this filesystem",
    errno.EEXIST: "a file is in the way",
}
THROTTLED = (
    "SlowDown",
    "RequestLimitExceeded",
    "Throttling",
    "ServiceUnavailable",
    "TooManyRequests",
    "InternalError",
    "RequestTimeout",
)
_CODE = re.compile(r"An error occurred \((\w+)\)")


def destination_error(error: BaseException, path: str, action: str) -> RivetError:
    """Return the error that the user sees for `error`, raised while `action` (`write`, `read`, `list`, ...) touched `path`."""
    if isinstance(error, RivetError):
        return error
    code = error.errno if isinstance(error, OSError) else None
    what = f"cannot {action} {path}"
    if code in FULL:
        return DestinationError(
            f"{what}: no space left",
            hint="free space or choose another destination, then run with --resume",
            code="destination_full",
            error_class="full",
        )
    text = _texts(error)
    if code in PERMISSION or isinstance(error, PermissionError) or "Credentials" in text or "AccessDenied" in text:
        reason = (
            "read-only filesystem"
            if code == errno.EROFS
            else "no credentials"
            if "Credentials" in text
            else "permission denied"
        )
        return DestinationError(
            f"{what}: {reason}",
            hint="give this user the right to write there, or set the credentials the destination names",
            code="destination_permission",
            error_class="permission",
        )
    if code in SHAPE:
        return DestinationError(
            f"{what}: {SHAPE[code]}", hint="choose another path for this destination", code="destination_path"
        )
    if isinstance(error, FileNotFoundError):
        return DestinationError(
            f"{what}: it does not exist",
            hint="check the path or bucket of the destination",
            code="destination_missing",
            error_class="missing",
        )
    if code in TRANSIENT or isinstance(error, TimeoutError | ConnectionError) or any(word in text for word in THROTTLED):
        return _connection(what, error)
    if any(
        word in text for word in ("Connect", "Timeout", "Endpoint", "ServerDisconnected", "ClientPayload", "IncompleteRead")
    ):
        return _connection(what, error)
    detail = (error.strerror if isinstance(error, OSError) else None) or _name(error)
    return DestinationError(f"{what}: {detail}", hint="rivet doctor checks each destination", code="destination_failed")


def _name(error: BaseException) -> str:
    """Return the type of an exception, and the store's own code in it; the rest of its text may hold a connection string."""
    code = _CODE.search(str(error))
    return f"{type(error).__name__} ({code[1]})" if code else type(error).__name__


def _connection(what: str, error: BaseException) -> DestinationError:
    return DestinationError(
        f"{what}: the store did not answer ({type(error).__name__})",
        hint="the store is unreachable or throttles; try again, or lower `parallel`",
        code="destination_connection",
        transient=True,
        error_class="connection",
    )


def _texts(error: BaseException) -> str:
    """Class names and messages along the chain: object-store clients wrap the answer of the server."""
    seen: list[str] = []
    current: BaseException | None = error
    while current is not None and len(seen) < 6:
        seen.append(f"{type(current).__name__} {current}")
        current = current.__cause__ or current.__context__
    return " ".join(seen)
