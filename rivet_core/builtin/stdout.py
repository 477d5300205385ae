"""The `stdout` destination: one export's data on standard output and nothing else, for pipes."""

from __future__ import annotations

from fsspec.implementations.local import LocalFileSystem

from rivet_core.api import StoreCapabilities, Target
from rivet_core.options import PluginOptions


class StdoutOptions(PluginOptions):
    """There is nothing to choose."""


def open_stdout(options: StdoutOptions) -> Target:
    """Return a target that has no files; nothing is written before an export runs."""
    capabilities = StoreCapabilities(atomic_replace=False, conditional_put=False, list_after_write=False, stream=True)
    return Target(filesystem=LocalFileSystem(), root="-", url_prefix="stdout", capabilities=capabilities)
