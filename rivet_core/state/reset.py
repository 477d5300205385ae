"""Starting an export over: what of the state has to go so that its next run knows nothing of the runs before."""

from __future__ import annotations

from sqlalchemy import delete, select

from rivet_core.state.database import Database
from rivet_core.state.models import CURSORS, PARTS, PROGRESS, RUNS, UNITS


def forget_progress(database: Database, export: str) -> str | None:
    """Clear an export's cursor and boundaries, and a broken-off run that could be resumed, whose id is returned.

    Finished runs stay: they are history. The broken-off one goes whole, also when it had committed and nobody knew: nothing
    may bring its cursor back.
    """
    with database.writing() as connection:
        for place in (CURSORS, PROGRESS):
            connection.execute(delete(place).where(place.c.export == export))
        newest = connection.execute(
            select(RUNS.c.run_id, RUNS.c.status)
            .where(RUNS.c.export == export)
            .order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc())
            .limit(1)
        ).first()
        if newest is None or newest.status == "succeeded":
            return None
        run_id: str = newest.run_id
        for of_run in (UNITS, PARTS, RUNS):
            connection.execute(delete(of_run).where(of_run.c.run_id == run_id))
        return run_id
