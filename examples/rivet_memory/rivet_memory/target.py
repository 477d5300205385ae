"""The store: fsspec's memory filesystem below one name, with room for so many bytes."""

from __future__ import annotations

import errno
from typing import Any, ClassVar

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from pydantic import Field

from rivet_core.api import StoreCapabilities, Target
from rivet_core.options import PluginOptions


class Options(PluginOptions):
    """What stands under `destination:` in the config, `type` left out."""

    name: str = Field("rivet", pattern=r"^[A-Za-z0-9_-]+$", description="one name, one store: several can live side by side")
    path: str = Field("", description="directory in it; may hold tokens")
    max_bytes: int = Field(1 << 30, ge=0, description="room for all files of the name together")


class RivetMemory(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The filesystem behind `rivet-memory://NAME/...`; one dictionary for the whole process."""

    protocol = ("rivet-memory",)
    root_marker = "/"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    cachable = False

    def __init__(self, max_bytes: int, **more: Any) -> None:
        super().__init__(**more)
        self.max_bytes = max_bytes

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        """List; a store without any room is refused here, before anything is read."""
        if not self.max_bytes:
            raise OSError(errno.ENOSPC, "no room")
        return super().ls(path, detail=detail, **more)

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        if "w" in mode and sum(file.size for file in self.store.values()) >= self.max_bytes:
            raise OSError(errno.ENOSPC, "no room")
        return super()._open(path, mode, **more)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **more: Any) -> None:
        """Put a whole file."""
        self._open(path, "wb").close()
        self.store[self._strip_protocol(path)] = MemoryFile(self, self._strip_protocol(path), value)


def open_target(options: Options) -> Target:
    """Open the store. Core publishes through it: a plugin writes no files of its own."""
    root = "/".join(filter(None, (f"/{options.name}", options.path.strip("/"))))
    filesystem = RivetMemory(options.max_bytes)
    filesystem.makedirs(root, exist_ok=True)
    return Target(
        filesystem=filesystem,
        root=root,
        url_prefix=f"rivet-memory:/{root}",
        # A put replaces a whole file at once; whether it is still the one that was seen, nobody checks.
        capabilities=StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True),
    )
