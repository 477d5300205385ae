"""Secrets on their way through a process: never in a repr, and taken out of any text that is shown."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "***"


class Secret:
    """A text that shows itself only on `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text itself, to hand to a driver."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def mask(text: str, secrets: Iterable[Secret | None]) -> str:
    """Return `text` with every form of every secret (raw, URL-encoded, base64) replaced by `***`."""
    forms = {form for secret in secrets if secret for form in _forms(secret.reveal())}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _forms(value: str) -> set[str]:
    if not value:
        return set()
    raw = value.encode("utf-8", "surrogateescape")
    return {
        value,
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        value.replace("\\", "\\\\").replace("'", "\\'"),
        value.replace("'", "''"),
    }
