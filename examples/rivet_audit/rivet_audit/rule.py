"""Points for tables whose name begins with a prefix. Replace the condition with what you know about your tables."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from rivet_core.facts import Dimension, Evidence, ExportFacts, Reason, ReasonKind
from rivet_core.options import PluginOptions


class Options(PluginOptions):
    """What stands under `plugins.options.audit` in the config."""

    prefix: str = Field(default="audit_", description="tables whose name begins so get the points")
    points: int = Field(default=5, ge=-100, le=100, description="core clamps what one plugin adds to +-10 per dimension")


def score(facts: ExportFacts, options: Options) -> Sequence[Reason]:
    """Return the reasons for one export. Pure: the same facts give the same reasons, no clock, no network, no state."""
    table = facts.table.relation or facts.table.name
    if not table.startswith(options.prefix):
        return ()
    return (
        Reason(
            code="X-audit-001",
            kind=ReasonKind.MODIFIER,
            dimension=Dimension.VALUE,
            family="name",
            points=options.points,
            message=f"The table's name begins with {options.prefix}.",
            evidence=(
                Evidence(signal="table.name", value=table, unit="", source="catalog", observed_at=facts.as_of, quality=99),
            ),
        ),
    )
