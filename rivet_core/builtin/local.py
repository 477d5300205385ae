"""The `local` destination: a directory on this machine."""

from __future__ import annotations

from fsspec.implementations.local import LocalFileSystem
from pydantic import Field

from rivet_core.api import StoreCapabilities, Target
from rivet_core.options import ConfigPath, PluginOptions


class LocalOptions(PluginOptions):
    """`path` is the directory below which exports are written; relative to the config file."""

    path: ConfigPath = Field(description="directory that exports are written below")


def open_local(options: LocalOptions) -> Target:
    """Open the directory; nothing is created before something is written."""
    root = str(options.path)
    return Target(
        filesystem=LocalFileSystem(),
        root=root,
        url_prefix=root,
        capabilities=StoreCapabilities(atomic_replace=True, conditional_put=True, list_after_write=True, local=True),
    )
