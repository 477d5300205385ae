"""Turns what pydantic found into what a user needs: the line, the key path, one sentence, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from rivet_core.config.document import Document
from rivet_core.config.foreign import REFUSED_NOTES
from rivet_core.config.nodes import Location, Node, Scalar, Sequence
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.sections import hint_for_key, section_of, suggest
from rivet_core.errors import ConfigError

_SECRET_SECTIONS = frozenset({"source", "sources", "destination", "state"})
_LONGEST = 60
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "greater than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def raise_first(document: Document, error: ValidationError, *, within: Location = ()) -> None:
    """Raise the `ConfigError` of the problem that comes first in the file; it says how many more there are.

    `within` is where the validated mapping stands in the document.
    """
    causes = leave_causes(error.errors(include_url=False))
    found = sorted((to_error(document, within, details) for details in causes), key=lambda item: item[0])
    line, first = found[0]
    if len(found) > 1:
        following = next((other for other, _ in found if other != line), line)
        first.message += f" ({len(found) - 1} more, next on line {following})"
        first.args = (first.message,)
    raise first from None


def leave_causes(problems: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Drop a missing key where an unknown one stands beside it: `nmae` is why `name` is missing."""
    found = list(problems)
    misspelt = {details["loc"][:-1] for details in found if details["type"] == "extra_forbidden"}
    return [details for details in found if details["type"] != "missing" or details["loc"][:-1] not in misspelt]


def to_error(document: Document, within: Location, details: Mapping[str, Any]) -> tuple[int, ConfigError]:
    """Return the line of a pydantic error and the error that a user sees."""
    location: Location = (*within, *(step for step in details["loc"] if step != "[key]"))
    node, line = document.find(location)
    what, hint = _explain(details, location, node)
    written = _written(node, location)
    if written and what.startswith("must"):
        what += f", not {written}"
    return line, document.error(location, what, hint=hint)


def refuse_unknown(name: str, section: str) -> tuple[str, str]:
    """Return what to say about a key that is not valid in `section`, and the hint."""
    origin = "export" if section == "defaults" else section
    note = REFUSED_NOTES.get((origin, name))
    if note is not None:
        return "unknown key: this feature of the Rust tool is not in this rivet", note
    return "unknown key", hint_for_key(name, section)


def _explain(details: Mapping[str, Any], location: Location, node: Node | None) -> tuple[str, str]:
    kind: str = details["type"]
    context: Mapping[str, Any] = details.get("ctx", {})
    if kind == "extra_forbidden":
        return refuse_unknown(str(location[-1]), section_of(location[:-1]))
    if kind == "missing":
        return "is missing", f"add `{location[-1]}:`"
    if kind == "literal_error":
        choices = [choice.strip().strip("'") for choice in context["expected"].replace(" or ", ",").split(",")]
        text = details.get("input")
        return f"must be one of {', '.join(choices)}", suggest(text, choices, what="choices") if isinstance(text, str) else ""
    if kind == "value_error":
        return str(context["error"]), ""
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {context[name]}", ""
    expected = _EXPECTED.get(kind)
    if expected is None:
        return str(details["msg"]), ""
    return f"must be {expected}", _hint_for_type(kind, details.get("input"), node)


def _hint_for_type(kind: str, value: object, node: Node | None) -> str:
    if isinstance(node, Scalar) and not node.plain and "${" in node.text and kind != "string_type":
        return "write the reference without quotes, on a line of its own"
    if kind == "string_type" and isinstance(value, int | float):
        return "put quotes around it"
    if kind == "bool_type" and isinstance(value, str):
        return "write true or false, without quotes (YAML 1.2: on, off, yes and no are text)"
    if kind in {"int_type", "float_type"} and isinstance(value, str):
        if value.replace("_", "").isdigit():
            return "write the number without quotes, underscores or leading zeros"
        return "write a number without quotes"
    if kind == "list_type" and isinstance(value, str):
        return f"write a list: [{value}]"
    if kind == "list_type" and isinstance(value, dict):
        return "begin each entry with `- `"
    return ""


def _written(node: Node | None, location: Location) -> str:
    if (location and location[0] in _SECRET_SECTIONS) or "destination" in location or "tls" in location:
        return ""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Scalar):
        text = node.text if len(node.text) <= _LONGEST else node.text[:_LONGEST] + "..."
        return text if node.plain and text else repr(text)
    return ""
