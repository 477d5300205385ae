"""The base of every plugin's options model, and the types that options share.

Options models are pydantic, strict about unknown keys, and imported only when their plugin is used. `model_validate` is
called with the context `{"base": Path}`: the directory that relative paths in the config are relative to.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo


class PluginOptions(BaseModel):
    """Base class of options models: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False, hide_input_in_errors=True)


def _against_base(value: Path, info: ValidationInfo) -> Path:
    context: dict[str, Any] = info.context or {}
    base = Path(context.get("base", "."))
    # Not resolve(): a link in the user's path stays the user's choice.
    return Path(os.path.abspath(base / value.expanduser()))  # noqa: PTH100


ConfigPath = Annotated[Path, AfterValidator(_against_base)]
"""A path that, when relative, is relative to the config file; always absolute after validation."""
