"""YAML cases for rules and classifiers: facts that differ from a sample, and what must come out.

```yaml
- name: a wide table is expensive
  facts: {table: {avg_width: 9000}}       # fields of the facts; what is not named stays as in the sample
  options: {limit: 4096}                  # the rule's options, optional
  expect: [{code: X-acme-001, points: 20}]
```
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

KEYS = {"name", "facts", "ref", "options", "expect"}


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `expect` holds, per expected reason, the fields to compare; `ref` the cursor a classifier is asked about."""

    name: str
    facts: Any
    expect: Sequence[Mapping[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)
    ref: Mapping[str, Any] = field(default_factory=dict)


def load_cases(path: Path, kind: type[Any], sample: Any) -> tuple[Case, ...]:
    """Read a file of cases whose facts are changes to `sample`, a `kind`. Raises `ValueError` naming the case and the key."""
    import yaml

    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(found, list) or not found:
        raise ValueError(f"{path.name} holds no list of cases")
    return tuple(_case(entry, f"{path.name}, case {number}", kind, sample) for number, entry in enumerate(found, 1))


def _case(entry: Any, where: str, kind: type[Any], sample: Any) -> Case:
    if not isinstance(entry, dict) or "expect" not in entry or "name" not in entry:
        raise ValueError(f"{where}: a case has name, facts and expect")
    if unknown := set(entry) - KEYS:
        raise ValueError(f"{where}: unknown key {min(unknown)}")
    where = f"{where} ({entry['name']})"
    expect = entry["expect"] if isinstance(entry["expect"], list) else [entry["expect"]]
    return Case(
        name=str(entry["name"]),
        facts=_build(kind, entry.get("facts", {}), where, sample),
        expect=expect,
        options=entry.get("options", {}),
        ref=entry.get("ref", {}),
    )


def _build(kind: Any, value: Any, where: str, sample: Any = None) -> Any:
    """Return `value`, plain YAML, as a `kind`; mappings become dataclasses, changes to `sample` where there is one."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in inside:
            return None
        return _build(next(option for option in inside if option is not type(None)), value, where, sample)
    if origin is tuple and isinstance(value, list):
        return tuple(_build(inside[0], item, where) for item in value)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        known = typing.get_type_hints(kind)
        for key in value:
            if key not in {one.name for one in fields(kind)}:
                near = difflib.get_close_matches(str(key), known, n=1)
                meant = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"{where}: {kind.__name__} has no field {key}{meant}")
        built = {key: _build(known[key], item, where, getattr(sample, key, None)) for key, item in value.items()}
        if isinstance(sample, kind):
            return replace(sample, **built)
        try:
            return kind(**built)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is datetime and isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return value
