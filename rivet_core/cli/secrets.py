"""Put back the credentials that a plan left in the config: only from the very config it was made from (PA9)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rivet_core.errors import PlanRefused

if TYPE_CHECKING:
    from rivet_core.artifact import Plan
    from rivet_core.config import CampaignConfig


def restore_secrets(plan: Plan) -> Plan:
    """Return the plan with every `{"config", "key"}` replaced by the value that stands there now.

    Raises `PlanRefused` when the config is gone or was changed since: the value may be another one.
    """
    from rivet_core.planning.secrets import is_secret_place

    places = [
        *(source.options for source in plan.sources.values()),
        *(export.spec.get("destination") for export in plan.exports),
        {"url": plan.state.url},
    ]
    if not any(_holds_place(place, is_secret_place) for place in places):
        return plan
    config = _unchanged_config(plan)
    sources = {
        name: source.model_copy(update={"options": dict(config.sources[name].options)}) for name, source in plan.sources.items()
    }
    options = {spec.name: spec.destination for spec in config.exports}
    exports = tuple(
        export.model_copy(
            update={
                "spec": {
                    **export.spec,
                    "destination": {"type": options[export.name].type, "options": dict(options[export.name].options)},
                }
            }
        )
        for export in plan.exports
    )
    state = plan.state.model_copy(update={"url": config.state_url})
    return plan.model_copy(update={"sources": sources, "exports": exports, "state": state})


def _holds_place(value: Any, is_place: Any) -> bool:
    if is_place(value):
        return True
    if isinstance(value, Mapping):
        return any(_holds_place(item, is_place) for item in value.values())
    return isinstance(value, list) and any(_holds_place(item, is_place) for item in value)


def _unchanged_config(plan: Plan) -> CampaignConfig:
    from rivet_core.config import load_config

    path = Path(plan.config.path)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        digest = ""
    if digest != plan.config.sha256:
        raise PlanRefused(
            f"the plan leaves a credential in {path}, which was {'changed' if digest else 'removed'} since it was made",
            hint="plan again, or keep credentials out of the config with url_env or password_env",
            code="plan_secret",
        )
    return load_config(path)
