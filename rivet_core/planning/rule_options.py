"""What stands under `plugins.options` for one rule, as its own model has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rivet_core.errors import ConfigError, in_words
from rivet_core.facts import Json
from rivet_core.options import validate_options


def rule_options(model: Any, raw: Mapping[str, Json], plugin: str, rule: str, base: Path) -> Any:
    """Return the options of a plugin's rule; as they stand where it has no model.

    Raises `ConfigError` with the key and the nearest name.
    """
    if model is None:
        return raw
    if isinstance(model, type) and issubclass(model, BaseModel):
        return validate_options(model, dict(raw), base=base, what=f"plugins.options.{plugin}")
    try:
        return model(**raw)
    except Exception as error:
        raise ConfigError(
            f"plugins.options.{plugin} does not fit rule {rule}: {in_words(error)}", hint=f"see rivet plugins show {plugin}"
        ) from error
