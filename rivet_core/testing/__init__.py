"""For tests of Rivet and of its plugins: private servers, the real command line as a process, a conformance kit.

Install `rivet-core[testing]`; pytest finds the fixtures through its entry point. Nothing here starts or opens anything
before a test asks for it. The classes are imported on first use:

```python
from rivet_core.testing import RuleConformance

class TestWideRows(RuleConformance):
    name = "wide-rows"
    cases = Path(__file__).with_name("wide_rows.yaml")
```
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rivet_core.testing.conformance.classifier import ClassifierConformance
    from rivet_core.testing.conformance.destination import DestinationConformance
    from rivet_core.testing.conformance.emitter import EmitterConformance
    from rivet_core.testing.conformance.plugin import PluginConformance
    from rivet_core.testing.conformance.policy import PolicyConformance
    from rivet_core.testing.conformance.renderer import RendererConformance
    from rivet_core.testing.conformance.rule import RuleConformance
    from rivet_core.testing.conformance.source import SourceConformance
    from rivet_core.testing.project import Outcome, Project
    from rivet_core.testing.proxy import FaultProxy

__all__ = [
    "ClassifierConformance",
    "DestinationConformance",
    "EmitterConformance",
    "FaultProxy",
    "Outcome",
    "PluginConformance",
    "PolicyConformance",
    "Project",
    "RendererConformance",
    "RuleConformance",
    "SourceConformance",
]

_PLACES = {"FaultProxy": "proxy", "Outcome": "project", "Project": "project"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    place = _PLACES.get(name) or f"conformance.{name.removesuffix('Conformance').lower()}"
    return getattr(importlib.import_module(f"{__name__}.{place}"), name)
