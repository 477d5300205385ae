"""Import what a record names, `"package.module:name"`, on first use."""

from __future__ import annotations

import importlib
from typing import Any

from rivet_core.errors import PluginError, in_words
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins.limit import Overdue, call_within

SECONDS = 60.0
"""What such an import may take: drivers are large, and disks can be cold."""


def load_reference(ref: str) -> Any:
    """Return what `ref` names. Raises `PluginError` when its module is missing, raises whatever it likes, or hangs."""
    module, _, attribute = ref.partition(":")

    def load() -> Any:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found

    if module.startswith("rivet_core."):
        return load()
    cause: BaseException | None = None
    try:
        return call_within(SECONDS, load)
    except Overdue:
        why = f"it took more than {SECONDS:g} s"
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        # Whatever else the module raises, it is that plugin's fault.
        why, cause = in_words(error), error
        if isinstance(error, ImportError | AttributeError | ValueError):
            why = why.partition(": ")[2] or why
    package = module.partition(".")[0]
    raise PluginError(
        f"the reference {ref} cannot be imported: {why}",
        hint=f"reinstall or upgrade the plugin that ships {package}, or leave it out with plugins.block",
        code="plugin_reference",
    ) from cause
