"""The frozen records that flow from room to room: data in, data out, no behaviour beyond small derivations.

Import from here (`from rivet_core.facts import TableFacts`); the modules below only keep each noun in its own file.
"""

from __future__ import annotations

from rivet_core.facts.campaign import CampaignExport, CampaignFacts, SourceGroup
from rivet_core.facts.catalog import (
    CatalogFacts,
    ColumnFacts,
    Fidelity,
    IndexFacts,
    InspectItem,
    RelationKind,
    Role,
    ServerFacts,
    TableFacts,
    TypeKind,
)
from rivet_core.facts.cursor import CursorQuality, CursorRef, CursorVerdict, Mark
from rivet_core.facts.evidence import Basis, Evidence, Json
from rivet_core.facts.export import DestinationRef, ExportSpec, Mode, NullCursor, Tier, Tuning, ValueSpec
from rivet_core.facts.history import RunFact
from rivet_core.facts.judgement import DeltaFacts, ExportFacts
from rivet_core.facts.pool import MAX_WAVES, MAX_WORKERS, Capacities, GroupCapacity, Job, PoolState
from rivet_core.facts.reading import ReadSpec, Unit, UnitDigest, UnitKind, connections_of
from rivet_core.facts.reason import Dimension, Reason, ReasonKind

__all__ = [
    "MAX_WAVES",
    "MAX_WORKERS",
    "Basis",
    "CampaignExport",
    "CampaignFacts",
    "Capacities",
    "CatalogFacts",
    "ColumnFacts",
    "CursorQuality",
    "CursorRef",
    "CursorVerdict",
    "DeltaFacts",
    "DestinationRef",
    "Dimension",
    "Evidence",
    "ExportFacts",
    "ExportSpec",
    "Fidelity",
    "GroupCapacity",
    "IndexFacts",
    "InspectItem",
    "Job",
    "Json",
    "Mark",
    "Mode",
    "NullCursor",
    "PoolState",
    "ReadSpec",
    "Reason",
    "ReasonKind",
    "RelationKind",
    "Role",
    "RunFact",
    "ServerFacts",
    "SourceGroup",
    "TableFacts",
    "Tier",
    "Tuning",
    "TypeKind",
    "Unit",
    "UnitDigest",
    "UnitKind",
    "ValueSpec",
    "connections_of",
]
