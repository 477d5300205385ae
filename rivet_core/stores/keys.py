"""Keys: slash-separated paths below a target's root. None of them can leave it."""

from __future__ import annotations

from rivet_core.errors import IntegrityError

_UNSAFE = frozenset('/\\:*?"<>|%')


def segment(text: str) -> str:
    """Return `text` as one path component: injective, so two names never share a file; ordinary names stay as they are."""
    encoded = "".join(_escape(char) if char in _UNSAFE or ord(char) < 32 or ord(char) == 127 else char for char in text)
    return _escape(encoded[0]) + encoded[1:] if encoded.startswith(".") else encoded


def _escape(char: str) -> str:
    return f"%{ord(char):02X}"


def join(*parts: str) -> str:
    """Join components to a key, leaving empty ones out."""
    return "/".join(part.strip("/") for part in parts if part.strip("/"))


def safe_key(key: str) -> str:
    """Return `key` when it lies below the root, else raise: keys also come from manifests, which are only data."""
    pieces = key.split("/")
    if not key or "\x00" in key or "\\" in key or any(piece in ("", ".", "..") for piece in pieces):
        raise IntegrityError(
            f"the key {key!r} would leave the destination or name nothing",
            hint="a manifest or path template is damaged; restore it or export again",
            code="unsafe_key",
        )
    return key
