"""The campaign file: capacities and exports with durations, for `rivet simulate` and for tests (scheduling section 6).

It is read strictly: an unknown key, a wrong type or a negative duration is a `ConfigError` that names the place, because a
simulation of something else than what was meant is worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from typing import Any

from rivet_core.errors import ConfigError
from rivet_core.facts import Capacities, GroupCapacity, Job, Tier
from rivet_core.scheduling.chains import topological

DEFAULT_WORKERS = 4
DEFAULT_GROUP = "default"
MAX_WORKERS = 10_000
_ABSENT = object()

_EXPORT_KEYS: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "minLength": 1},
    "group": {"type": "string", "description": "a key of groups; without it a group of its own that holds every worker"},
    "predicted_seconds": {"type": "number", "minimum": 0, "description": "what decisions use"},
    "actual_seconds": {"type": "number", "minimum": 0, "description": "what the clock uses; the predicted ones when absent"},
    "p90_seconds": {"type": "number", "minimum": 0},
    "heavy": {"type": "boolean", "description": "takes a heavy slot of its group"},
    "parallel_safe": {"type": "boolean", "description": "advice that longest-first obeys; no resource"},
    "serial": {"type": "boolean", "description": "declared parallel_safe: false in a config: takes the one serial token"},
    "connections": {"type": "integer", "minimum": 1, "description": "cut to max_connections of the group"},
    "tier": {"enum": [tier.value for tier in Tier]},
    "deadline": {"type": "boolean", "description": "a deadline lies inside the planning window"},
    "wave": {"type": ["integer", "null"], "minimum": 0},
    "rank": {"type": "integer", "minimum": 0},
    "last_success": {"type": ["number", "null"], "description": "epoch seconds of the last success; null = never"},
    "depends_on": {"type": "array", "items": {"type": "string"}},
}
_GROUP_KEYS: dict[str, dict[str, Any]] = {
    "max_connections": {"type": "integer", "minimum": 1, "description": "workers when absent"},
    "max_heavy": {"type": "integer", "minimum": 1, "description": "1 when absent"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A campaign to simulate; `actual` are the seconds on the clock by name, hidden from policies until an export ends."""

    jobs: tuple[Job, ...]
    capacities: Capacities
    actual: Mapping[str, float] = field(default_factory=dict)


def campaign_schema() -> dict[str, Any]:
    """Return the JSON Schema of the campaign file (`rivet schema campaign`)."""
    group = {"type": "object", "additionalProperties": False, "properties": _GROUP_KEYS}
    export = {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "predicted_seconds"],
        "properties": _EXPORT_KEYS,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rivet campaign file",
        "type": "object",
        "additionalProperties": False,
        "required": ["exports"],
        "properties": {
            "workers": {"type": "integer", "minimum": 1, "maximum": MAX_WORKERS, "default": DEFAULT_WORKERS},
            "groups": {"type": "object", "additionalProperties": group},
            "exports": {"type": "array", "items": export},
        },
    }


def read_campaign(text: str | bytes) -> Campaign:
    """Return the campaign in a JSON text. Raises `ConfigError` for broken JSON or bad values."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the campaign file is not JSON: {error}", hint="see `rivet schema campaign`") from error
    return parse_campaign(value)


def parse_campaign(value: object) -> Campaign:
    """Return the campaign in a parsed JSON value. Raises `ConfigError` naming the path of what is wrong."""
    top = _Table(value, "", {"workers", "groups", "exports"})
    workers = top.whole("workers", DEFAULT_WORKERS, least=1, most=MAX_WORKERS)
    groups = {}
    for name, group in _Table(top.get("groups", {}), "groups", None).items():
        table = _Table(group, f"groups.{name}", set(_GROUP_KEYS))
        groups[name] = GroupCapacity(
            max_connections=table.whole("max_connections", workers, least=1), max_heavy=table.whole("max_heavy", 1, least=1)
        )
    exports = top.get("exports")
    if not isinstance(exports, list):
        raise _wrong("exports", "a list", exports)
    jobs, actual = [], {}
    seen: dict[str, int] = {}
    for place, item in enumerate(exports):
        table = _Table(item, f"exports[{place}]", set(_EXPORT_KEYS))
        job = _job(table, place, groups)
        if job.name in seen:
            raise ConfigError(
                f"exports[{place}].name: {job.name!r} is already the name of exports[{seen[job.name]}]",
                hint="give each export a name of its own",
            )
        seen[job.name] = place
        jobs.append(job)
        if table.given("actual_seconds"):
            actual[job.name] = table.seconds("actual_seconds")
    _check_depends_on(jobs, seen)
    return Campaign(jobs=tuple(jobs), capacities=Capacities(workers=workers, groups=groups), actual=actual)


def _job(table: _Table, place: int, groups: Mapping[str, GroupCapacity]) -> Job:
    name = table.text("name")
    group = table.text("group", DEFAULT_GROUP)
    if table.given("group") and group not in groups:
        raise ConfigError(
            f"{table.path}.group: no group {group!r} under groups", hint=_nearest(group, groups) or "describe it under groups"
        )
    tier = table.text("tier", Tier.NORMAL.value)
    if tier not in {known.value for known in Tier}:
        raise ConfigError(f"{table.path}.tier: {tier!r} is not a tier", hint="use low, normal or high")
    depends_on = table.get("depends_on", [])
    if not isinstance(depends_on, list) or not all(isinstance(before, str) for before in depends_on):
        raise _wrong(f"{table.path}.depends_on", "a list of names", depends_on)
    return Job(
        name=name,
        group=group,
        predicted_seconds=table.seconds("predicted_seconds"),
        p90_seconds=table.seconds("p90_seconds") if table.given("p90_seconds") else None,
        connections=table.whole("connections", 1, least=1),
        heavy=table.flag("heavy", default=False),
        serial=table.flag("serial", default=False),
        parallel_safe=table.flag("parallel_safe", default=True),
        tier=tier,
        deadline=table.flag("deadline", default=False),
        wave=table.whole("wave", 0, least=0) if table.given("wave") else None,
        rank=table.whole("rank", place, least=0),
        position=place,
        last_success=table.seconds("last_success") if table.given("last_success") else None,
        depends_on=tuple(depends_on),
    )


def _check_depends_on(jobs: Sequence[Job], seen: Mapping[str, int]) -> None:
    for place, job in enumerate(jobs):
        for before in job.depends_on:
            if before not in seen:
                raise ConfigError(
                    f"exports[{place}].depends_on: no export {before!r}",
                    hint=_nearest(before, seen) or "name an export of this file",
                )
    topological(jobs)


class _Table:
    """A JSON object with the path that leads to it. `known=None` accepts any key."""

    def __init__(self, value: object, path: str, known: set[str] | None) -> None:
        if not isinstance(value, dict):
            raise _wrong(path or "the campaign file", "an object", value)
        self.path = path
        self._values = value
        for key in value:
            if known is not None and key not in known:
                raise ConfigError(
                    f"{self._at(key)}: unknown key", hint=_nearest(key, known) or f"known are {', '.join(sorted(known))}"
                )

    def items(self) -> Sequence[tuple[str, object]]:
        return list(self._values.items())

    def given(self, key: str) -> bool:
        """True when the key is there and not null."""
        return self._values.get(key) is not None

    def get(self, key: str, default: object = _ABSENT) -> object:
        value = self._values.get(key, default)
        if value is _ABSENT:
            raise ConfigError(f"{self._at(key)} is missing", hint="see `rivet schema campaign`")
        return value

    def text(self, key: str, default: object = _ABSENT) -> str:
        value = self.get(key, default)
        if not isinstance(value, str) or not value:
            raise _wrong(self._at(key), "a text that is not empty", value)
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise _wrong(self._at(key), "true or false", value)
        return value

    def whole(self, key: str, default: int, *, least: int, most: int = 1 << 31) -> int:
        value = self.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            limits = f"of {least} or more" if most == 1 << 31 else f"from {least} to {most}"
            raise _wrong(self._at(key), f"a whole number {limits}", value)
        return value

    def seconds(self, key: str) -> float:
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not _fits(value):
            raise _wrong(self._at(key), "a number of seconds of 0 or more", value)
        return float(value)

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def _fits(value: float) -> bool:
    return 0 <= value < 1e15 and isfinite(value)


def _wrong(path: str, wanted: str, value: object) -> ConfigError:
    shown = json.dumps(value, default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ConfigError(f"{path} must be {wanted}, not {shown}", hint="see `rivet schema campaign`")


def _nearest(name: str, known: Mapping[str, object] | set[str]) -> str:
    found = get_close_matches(name, list(known), n=1)
    return f"did you mean {found[0]}?" if found else ""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice")
        found[key] = value
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")
