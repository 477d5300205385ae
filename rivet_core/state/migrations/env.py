"""What alembic runs: the migrations, in the transaction of the connection that it was given."""

from __future__ import annotations

from alembic import context

from rivet_core.state.models import METADATA, REVISION

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=REVISION.name,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
