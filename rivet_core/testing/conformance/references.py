"""The lazy references of a record."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

REFERENCES = ("options", "connect", "open", "classify", "score", "emit", "order", "next", "front", "render")


def references(record: Any) -> list[Any]:
    """Return what `record` names: functions, classes and the texts that stand for them."""
    names = [field.name for field in fields(record) if field.name in REFERENCES]
    return [value for name in names if (value := getattr(record, name)) is not None]


def load(reference: Any) -> Any:
    """Return what a reference stands for."""
    if not isinstance(reference, str):
        return reference
    from rivet_core.plugins import Registry

    return Registry(()).resolve(reference)


def build_options(model: Any, given: Any, base: Any) -> Any:
    """Return an instance of an options model, as core would make it for a config beside `base`; `None` without a model."""
    if model is None:
        return None
    from rivet_core.options import validate_options

    return validate_options(load(model), dict(given), base=base, what="the options under test")
