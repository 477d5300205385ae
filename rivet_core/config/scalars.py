"""What a plain YAML scalar means: the core schema of YAML 1.2, and text for everything else.

PyYAML reads YAML 1.1, where `on`, `no` and `y` are booleans, `12:30:00` is 45000 and `0123` is 83. Users mean text. One
deliberate difference from the core schema: digits with a leading zero stay text (`007` is an article number, not 7).
"""

from __future__ import annotations

import re

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INFINITY = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_NAN = frozenset({".nan", ".NaN", ".NAN"})
_MAX_DIGITS = 4000
"""Longer runs of digits stay text: nobody means a number, and Python refuses to convert them."""

_FIRST = frozenset("-+.0123456789")


def read_plain(text: str) -> bool | int | float | str | None:
    """Return the value of an unquoted scalar by the YAML 1.2 core schema."""
    if text in _NULLS:
        return None
    if text[0] not in _FIRST:
        return _BOOLEANS.get(text, text)
    if len(text) > _MAX_DIGITS:
        return text
    if _INTEGER.match(text):
        return int(text)
    if _OCTAL.match(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.match(text):
        return int(text[2:], 16)
    if _FLOAT.match(text):
        return float(text)
    if _INFINITY.match(text):
        return float(text.replace(".", ""))
    return float("nan") if text in _NAN else text
