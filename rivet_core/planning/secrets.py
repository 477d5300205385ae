"""Keep credentials out of the plan: an inline one is replaced by where it stands in the config (PA9).

A value is a credential when its name or its text says so, and when the plugin's options model declares it as `SecretStr`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from rivet_core.api import Ref
from rivet_core.artifact.canonical import canonical
from rivet_core.facts import Json
from rivet_core.plugins import Registry
from rivet_core.references import find_inline_credentials, holds_reference

BY_CONTENT = frozenset({"url", "access_key_id"})
"""Names whose `SecretStr` is judged by its text: most URLs carry no password, an id is none, and a plan should say where it
reads and as whom.
"""


def options_model(registry: Registry, ref: Ref) -> type[BaseModel] | None:
    """Return the options model that a record of a plugin refers to, `None` for something else."""
    found = registry.resolve(ref)
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def without_secrets(
    options: Mapping[str, Json], *, config: Path, key: str, model: type[BaseModel] | None = None
) -> dict[str, Json]:
    """Return `options` with each inline credential replaced by `{"config": path, "key": key path}`.

    `key` is where the options stand in the config, such as `sources.shop`, `model` the plugin's options model. Apply reads
    that one value again if the config is unchanged.
    """
    kept: dict[str, Json] = copy.deepcopy(dict(options))
    replaced: list[str] = []
    for path in sorted(_places(canonical(dict(options)), model)):
        if any(path.startswith(f"{whole}.") for whole in replaced):
            continue
        *parents, last = path.split(".")
        place: dict[str, Json] = kept
        for name in parents:
            child = place.get(name)
            if not isinstance(child, dict):
                break
            place = child
        else:
            if last in place:
                place[last] = {"config": str(config), "key": f"{key}.{path}"}
                replaced.append(path)
                continue
        # A key with a dot in it has no path of its own: its whole option goes.
        top = next(name for name in kept if path == name or path.startswith(f"{name}."))
        kept[top] = {"config": str(config), "key": f"{key}.{top}"}
        replaced.append(top)
    return kept


@lru_cache(maxsize=256)
def _places(options: bytes, model: type[BaseModel] | None) -> tuple[str, ...]:
    """Look once at options that thousands of exports share."""
    values: dict[str, Json] = json.loads(options)
    declared = _declared(values, model, "") if model is not None else ()
    return tuple(dict.fromkeys((*find_inline_credentials(values), *declared)))


def _declared(values: Mapping[str, Json], model: type[BaseModel], prefix: str) -> Iterator[str]:
    """Yield the paths of what `model` declares as secret and `values` holds as more than a reference."""
    for name, field in model.model_fields.items():
        for key in dict.fromkeys((name, field.alias, field.validation_alias)):
            if isinstance(key, str) and key in values:
                yield from _inside(values[key], field.annotation, f"{prefix}{key}", key)


def _inside(value: Json, annotation: Any, path: str, key: str) -> Iterator[str]:
    kinds = list(_leaves(annotation))
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    secret = any(isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes) for kind in kinds)
    if isinstance(value, dict):
        for model in models:
            yield from _declared(value, model, f"{path}.")
        for name, item in value.items() if secret or models else ():
            # A mapping from names of the user's own to secrets, or to objects that hold some.
            if isinstance(item, dict):
                for model in models:
                    yield from _declared(item, model, f"{path}.{name}.")
            elif secret and not any(name in model.model_fields for model in models) and _is_inline(item, name):
                yield f"{path}.{name}"
    elif isinstance(value, list):
        items = {str(number): item for number, item in enumerate(value)}
        if any(True for number, item in items.items() for _ in _inside(item, annotation, number, key)):
            yield path  # As a whole: places inside of a list have no path.
    elif secret and _is_inline(value, key):
        yield path


def _is_inline(value: Json, key: str) -> bool:
    return value not in (None, "") and key not in BY_CONTENT and not holds_reference(value)


def _leaves(annotation: Any) -> Iterator[Any]:
    """Yield what an annotation is made of: the members of unions, and the items of lists and mappings."""
    inner = get_args(annotation)
    if get_origin(annotation) is Secret:
        yield SecretStr
        return
    if not inner:
        yield annotation
    for part in inner:
        yield from _leaves(part)
