"""Who a plugin is, whether it can be used, and what it offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from rivet_core.api import Record

RecordT = TypeVar("RecordT")


class Status(StrEnum):
    """Whether a plugin takes part."""

    OK = "ok"
    BLOCKED = "blocked"
    INCOMPATIBLE = "incompatible"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One entry point. `detail` says why it is not `ok`, `hint` what to do about it; `hooks` maps hook name to its records."""

    name: str
    dist: str
    version: str
    api: int
    status: Status
    detail: str = ""
    hint: str = ""
    hooks: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)

    def lock(self) -> dict[str, str | int]:
        """Return what the plan file keeps of a plugin it used."""
        return {"name": self.name, "dist": self.dist, "version": self.version, "api": self.api}


@dataclass(frozen=True, slots=True)
class Owned(Generic[RecordT]):
    """A record together with the plugin that offers it, so that every result can be attributed."""

    record: RecordT
    plugin: PluginInfo
