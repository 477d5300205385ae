"""Inline credentials: the plan says where one stands in the config, apply reads that one value from the same config (PA9)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from rivet_core.artifact.model import ConfigRef
from rivet_core.errors import PlanRefused
from rivet_core.facts import Json


def with_secrets(options: Mapping[str, Any], config: ConfigRef) -> dict[str, Json]:
    """Return the options with every `{config, key}` replaced by the value that stands there."""
    return {key: _filled(value, config) for key, value in options.items()}


def _filled(value: Any, config: ConfigRef) -> Json:
    if isinstance(value, Mapping):
        if set(value) == {"config", "key"}:
            return _read(str(value["key"]), config)
        return {str(key): _filled(item, config) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, config) for item in value]
    plain: Json = value
    return plain


def _read(key: str, config: ConfigRef) -> Json:
    try:
        data = Path(config.path).read_bytes()
    except OSError as error:
        raise _refused(key, config, f"cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != config.sha256.removeprefix("sha256:"):
        raise _refused(key, config, "was changed after the plan was made")
    # Scalars stay the text they are: what a credential looks like to YAML is nobody's business.
    found: Any = yaml.load(data, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes nothing but text, lists and mappings
    for steps in _places(key.split(".")):
        value = _find(found, steps)
        if value is not None:
            plain: Json = value
            return plain
    raise _refused(key, config, f"has no {key}")


def _places(steps: list[str]) -> Iterator[list[str]]:
    """Yield where a value may stand: at its own key, or where a single source or a default destination is written."""
    yield steps
    for place in range(2, len(steps)):
        if steps[0] == "sources":
            yield ["source", *steps[place:]]
        elif steps[0] == "exports" and steps[place - 1] == "destination":
            yield ["defaults", "destination", *steps[place:]]
            yield ["destination", *steps[place:]]


def _find(found: Any, steps: list[str]) -> Any:
    """Walk down; a name may itself hold dots, and a list's items go by their `name`."""
    if not steps:
        return found
    for count in range(1, len(steps) + 1):
        name = ".".join(steps[:count])
        if isinstance(found, Mapping) and name in found:
            inner = found[name]
        elif isinstance(found, list):
            inner = next((item for item in found if isinstance(item, Mapping) and item.get("name") == name), None)
        else:
            continue
        value = None if inner is None else _find(inner, steps[count:])
        if value is not None:
            return value
    return None


def _refused(key: str, config: ConfigRef, why: str) -> PlanRefused:
    return PlanRefused(
        f"the credential {key} stands inline in {config.path}, which {why}",
        hint="plan again, or use url_env / password_env so that the plan can keep a reference",
        code="inline_credential",
    )
