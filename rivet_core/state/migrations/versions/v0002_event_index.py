"""Schema 2: entries of the journal are found by export, which every commit asks for."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the index."""
    op.create_index("rivet_event_export", "rivet_event", ["export", "kind"])
