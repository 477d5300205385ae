"""Canonical bytes of a plan, the seal over them, and the file on disk.

Same plan, same bytes: keys sorted, no spaces, UTF-8, numbers as Python prints them. The seal is the SHA-256 of these bytes
without the seal itself; it finds accidents, not attackers (PA10).
"""

from __future__ import annotations

import hashlib
import json
import math
import weakref
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from rivet_core.artifact.bounded import read_object
from rivet_core.artifact.model import PLAN_VERSION, Plan
from rivet_core.artifact.placing import write_whole
from rivet_core.errors import ConfigError, PlanRefused

AGAIN = "make a new one with rivet plan -o"


def canonical(value: object) -> bytes:
    """Return the canonical JSON bytes of a value made of JSON types or of the plan's shapes."""
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def _json(value: object) -> Any:
    """Return what stands in the file for a shape: its fields, those left out that are empty and may be absent."""
    if isinstance(value, BaseModel):
        fields = value.__dict__
        for name in _optional(type(value)):
            if fields[name] is None:
                fields = fields.copy() if fields is value.__dict__ else fields
                del fields[name]
        return fields
    if isinstance(value, datetime):
        shown = value.isoformat()
        return f"{shown[:-6]}Z" if shown.endswith("+00:00") else shown
    raise TypeError(f"{type(value).__name__} has no place in JSON")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_json)
"""One for all: a plan is encoded export by export."""


@cache
def _optional(kind: type[BaseModel]) -> tuple[str, ...]:
    return tuple(name for name, field in kind.model_fields.items() if not field.is_required() and field.default is None)


def seal_of(data: dict[str, Any]) -> str:
    """Return the seal that belongs to a plan's JSON object."""
    return "sha256:" + hashlib.sha256(canonical({key: value for key, value in data.items() if key != "seal"})).hexdigest()


def seal(plan: Plan) -> Plan:
    """Return `plan` with its seal in place."""
    pieces = {name: _piece(value) for name, value in plan.__dict__.items() if name != "seal"}
    digest = hashlib.sha256()
    for piece in _object(pieces):
        digest.update(piece)
    sealed = plan.model_copy(update={"seal": f"sha256:{digest.hexdigest()}"})
    _remember(sealed, {**pieces, "seal": canonical(sealed.seal)})
    return sealed


def plan_bytes(plan: Plan) -> bytes:
    """Return the bytes of the plan file, which are also what `rivet plan --json` prints."""
    return b"".join(_file(plan))


_encoded: dict[int, tuple[weakref.ref[Plan], dict[str, bytes]]] = {}
"""How the living plans that were sealed here look in the file: sealing and writing encode once. Plans are frozen."""


def _remember(plan: Plan, pieces: dict[str, bytes]) -> None:
    place = id(plan)
    _encoded[place] = (weakref.ref(plan, lambda _: _encoded.pop(place, None)), pieces)


def _file(plan: Plan) -> list[bytes]:
    known = _encoded.get(id(plan))
    if known is not None and known[0]() is plan:
        return [*_object(known[1]), b"\n"]
    return [*_object({name: _piece(value) for name, value in plan.__dict__.items()}), b"\n"]


def _piece(value: object) -> bytes:
    """Encode one member of the plan; a long list item by item, which keeps the memory low."""
    return b"[" + b",".join([canonical(item) for item in value]) + b"]" if isinstance(value, tuple) else canonical(value)


def _object(pieces: dict[str, bytes]) -> list[bytes]:
    found = [b"{"]
    for place, name in enumerate(sorted(pieces)):
        found += [b',"' if place else b'"', name.encode(), b'":', pieces[name]]
    return [*found, b"}"]


def write_plan(plan: Plan, path: Path) -> None:
    """Write the plan as `write_whole` does."""
    write_whole(path, _file(plan))


def looks_like_plan(path: Path) -> bool:
    """Whether the file is meant as a plan rather than a config: named `.json`, or a JSON object with a `plan_version`."""
    if path.suffix == ".json":
        return True
    try:
        data = read_object(path)
    except OSError:
        return False
    return data.lstrip()[:1] == b"{" and b'"plan_version"' in data


def read_plan(path: Path) -> Plan:
    """Read and check a plan file: whole, sealed, of a version this Rivet knows.

    Raises `ConfigError` when there is no such file and `PlanRefused` when it is not an intact plan.
    """
    try:
        text = read_object(path).decode()
    except OSError as error:
        raise ConfigError(f"cannot read the plan {path}: {error.strerror}", hint="rivet plan -o plan.json makes one") from None
    except UnicodeDecodeError:
        raise PlanRefused(f"{path} is not a plan file: it is not UTF-8 text", hint=AGAIN, code="plan_damaged") from None
    data = _parse(text, path)
    version = data.get("plan_version")
    if version != PLAN_VERSION:
        newer = isinstance(version, int) and version > PLAN_VERSION
        raise PlanRefused(
            f"{path} has plan_version {version!r}; this Rivet reads {PLAN_VERSION}",
            hint="upgrade Rivet, or plan again with this one" if newer else AGAIN,
            code="plan_version",
        )
    if data.get("seal") != seal_of(data):
        raise PlanRefused(
            f"{path} was changed after it was made: the seal does not match",
            hint=f"a plan is never edited; change the config and {AGAIN}",
            code="plan_seal",
        )
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise PlanRefused(f"{path} is not a plan of this version: {where}", hint=AGAIN, code="plan_shape") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"the key {key!a} stands twice")
            found[key] = value
        return found

    def no_constant(text: str) -> None:
        raise ValueError(f"{text} is not JSON")

    def finite(text: str) -> float:
        number = float(text)
        if math.isinf(number):
            raise ValueError(f"the number {text[:40]} is too large")
        return number

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise PlanRefused(f"{path} is not a whole plan file: {error}", hint=AGAIN, code="plan_damaged") from None
    if not isinstance(data, dict):
        raise PlanRefused(f"{path} is not a plan file", hint=AGAIN, code="plan_damaged")
    return data
