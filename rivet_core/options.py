"""The base of every plugin's options model, and the types that options share.

Options models are pydantic, strict about unknown keys, and imported only when their plugin is used. `model_validate` is
called with the context `{"base": Path, "environ": mapping or None}`: the directory that relative paths in the config are
relative to, and the variables to look references up in (`None` = the process's own).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from rivet_core.errors import ConfigError, PluginError, RivetError, named
from rivet_core.interrupts import is_ctrl_c


class PluginOptions(BaseModel):
    """Base class of options models: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False, hide_input_in_errors=True)


def _text(value: object) -> object:
    """Refuse what no file system takes, in words for the reader of a config."""
    if not isinstance(value, str | os.PathLike):
        raise PydanticCustomError("path", "must be a path, written as text")
    if not os.fspath(value):
        raise PydanticCustomError("path", "must not be empty; write . for the directory of the config")
    if "\0" in str(value):
        raise PydanticCustomError("path", "must not hold a NUL character")
    return value


def _against_base(value: Path, info: ValidationInfo) -> Path:
    context: dict[str, Any] = info.context or {}
    base = Path(context.get("base", "."))
    # Not resolve(): a link in the user's path stays the user's choice.
    return Path(os.path.abspath(base / value.expanduser()))  # noqa: PTH100


ConfigPath = Annotated[Path, BeforeValidator(_text), AfterValidator(_against_base)]
"""A path that, when relative, is relative to the config file; always absolute after validation."""


def validated(
    model: type[BaseModel], values: object, *, base: Path, what: str, environ: Mapping[str, str] | None = None
) -> BaseModel:
    """Return `values` as an instance of `model`, pydantic's own errors as they are.

    Raises `PluginError` for whatever else a validator of a plugin raises: its text may hold a value, so its type is shown.
    """
    try:
        return model.model_validate(values, context={"base": base, "environ": environ})
    except (ValidationError, RivetError):
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise PluginError(
            f"{what}: the options model of its plugin failed: {named(error)}",
            hint="this is a fault of the plugin: report it to its authors",
            code="plugin_failed",
        ) from error


def validate_options(
    model: type[BaseModel], values: object, *, base: Path, what: str, environ: Mapping[str, str] | None = None
) -> BaseModel:
    """Return `values` as an instance of `model`; a `ConfigError` names the key, never its value.

    Raises `PluginError` where the model itself fails.
    """
    try:
        return validated(model, values, base=base, what=what, environ=environ)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(sorted(model.model_fields))
        near = difflib.get_close_matches(key, model.model_fields, n=1) if first["type"] == "extra_forbidden" else []
        raise ConfigError(
            f"{what}: {key}: {first['msg']}" if key else f"{what}: {first['msg']}",
            hint=f"did you mean {near[0]}?" if near else f"it takes {known}",
            code="options",
        ) from None
