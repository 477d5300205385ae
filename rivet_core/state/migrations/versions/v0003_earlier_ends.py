"""Schema 3: a run keeps how it ended each time before it was resumed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column."""
    op.add_column("rivet_run", sa.Column("earlier", sa.Text))
