"""Which key belongs where: what turns an unknown key into a useful hint."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from pydantic import BaseModel

from rivet_core.config.export_model import (
    DefaultsModel,
    ExportModel,
    MetaColumnsModel,
    ParquetModel,
    QualityModel,
    TuningModel,
    ValueModel,
)
from rivet_core.config.model import (
    DestinationModel,
    GroupModel,
    PlanningModel,
    PluginsModel,
    RootModel,
    SourceModel,
    StateModel,
    SuppressionModel,
)
from rivet_core.config.nodes import Location

NEAR = 0.72
"""How alike two names must be before one is offered for the other."""

SAME = 0.9
"""How alike a key that is missing here must be to win over one that is spelt so elsewhere: a letter of a longer word."""

_LISTED = 14

SECTIONS: dict[str, tuple[type[BaseModel], str]] = {
    "": (RootModel, "at the top level"),
    "source": (SourceModel, "under `source:`"),
    "destination": (DestinationModel, "under `destination:`"),
    "export": (ExportModel, "in an entry of `exports:`"),
    "defaults": (DefaultsModel, "under `defaults:` or in an entry of `exports:`"),
    "tuning": (TuningModel, "under `tuning:` of an export or a source"),
    "value": (ValueModel, "under `value:` of an export"),
    "parquet": (ParquetModel, "under `parquet:` of an export"),
    "quality": (QualityModel, "under `quality:` of an export"),
    "meta_columns": (MetaColumnsModel, "under `meta_columns:` of an export"),
    "group": (GroupModel, "in an entry of `source_groups:`"),
    "planning": (PlanningModel, "under `planning:`"),
    "suppress": (SuppressionModel, "in an entry of `planning.suppress:`"),
    "plugins": (PluginsModel, "under `plugins:`"),
    "state": (StateModel, "under `state:`"),
}

PLUGIN_KEYS: dict[str, tuple[str, ...]] = {
    "source": ("url", "url_env", "url_file", "host", "port", "user", "password", "password_env", "database", "tls"),
    "destination": ("path", "bucket", "prefix", "region", "endpoint"),
}
"""Option keys that first-party plugins share, so that a misplaced one finds its way home without loading plugins."""


def section_of(location: Location) -> str:
    """Return the section that a mapping at `location` is, by name; `?` for one whose keys are free."""
    match location:
        case ():
            return ""
        case ("source",) | ("sources", str()):
            return "source"
        case ("destination",) | ("exports", int(), "destination"):
            return "destination"
        case ("exports", int()):
            return "export"
        case ("source_groups", str()):
            return "group"
        case ("planning", "suppress", int()):
            return "suppress"
        case (*_, str(last)) if last in SECTIONS:
            return last
    return "?"


def keys_of(section: str) -> tuple[str, ...]:
    """Return the keys valid in a section, the shared plugin keys included."""
    model, _ = SECTIONS[section]
    return (*model.model_fields, *PLUGIN_KEYS.get(section, ()))


def nearest(name: str, valid: Iterable[str], *, at_least: float = NEAR) -> str | None:
    """Return the valid name most like `name`, or `None` when none is like it."""
    best = max(((_likeness(name, candidate), candidate) for candidate in valid), default=(0.0, ""))
    return best[1] if best[0] >= at_least else None


def suggest(name: str, valid: Iterable[str], *, what: str) -> str:
    """Return a hint: the nearest of `valid`, or all of them when they are few. `what` is the plural of what they are."""
    names = sorted(valid)
    near = nearest(name, names)
    if near is not None:
        return f"did you mean `{near}`?"
    if not names:
        return f"there are no {what}"
    shown = ", ".join(names[:_LISTED])
    return f"{what}: {shown}" + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def hint_for_key(name: str, section: str) -> str:
    """Return where an unknown key belongs, or which key was probably meant."""
    if section not in SECTIONS:
        return "remove it"
    if (twin := nearest(name, keys_of(section), at_least=SAME)) is not None:
        return f"did you mean `{twin}`?"
    homes = [home for home in SECTIONS if home != section and name in keys_of(home)]
    if homes:
        preferred = "defaults" if section == "" and "defaults" in homes else homes[0]
        return f"`{name}` belongs {SECTIONS[preferred][1]}"
    here = max((_likeness(name, key), key) for key in keys_of(section))
    elsewhere = max((_likeness(name, key), key, home) for home in SECTIONS if home != section for key in keys_of(home))
    if here[0] >= NEAR and here[0] >= elsewhere[0]:
        return f"did you mean `{here[1]}`?"
    if elsewhere[0] >= NEAR and elsewhere[0] > here[0]:
        where = SECTIONS["defaults"][1] if elsewhere[1] in keys_of("defaults") else SECTIONS[elsewhere[2]][1]
        return f"did you mean `{elsewhere[1]}`? It belongs {where}"
    keys = sorted(keys_of(section))
    return (
        "valid keys: " + ", ".join(keys)
        if len(keys) <= _LISTED
        else "`rivet schema config` lists the valid keys; your own may begin with x-"
    )


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower().replace("-", "_"), other.lower()).ratio()
