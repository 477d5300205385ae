"""Starting an export over: what of the state has to go so that its next run knows nothing of the runs before."""

from __future__ import annotations

from sqlalchemy import delete, select

from rivet_core.state.database import Database, table
from rivet_core.state.models import CursorRow, PartRow, ProgressRow, RunRow, UnitRow


def forget_progress(database: Database, export: str) -> str | None:
    """Clear an export's cursor and boundaries, and a broken-off run that could be resumed, whose id is returned.

    Finished runs stay: they are history. The broken-off one goes whole, also when it had committed and nobody knew: nothing
    may bring its cursor back.
    """
    with database.writing() as connection:
        for model in (CursorRow, ProgressRow):
            connection.execute(delete(table(model)).where(table(model).c.export == export))
        newest = connection.execute(
            select(RunRow.run_id, RunRow.status)
            .where(RunRow.export == export)
            .order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
            .limit(1)
        ).first()
        if newest is None or newest.status == "succeeded":
            return None
        run_id: str = newest.run_id
        for of_run in (UnitRow, PartRow, RunRow):
            connection.execute(delete(table(of_run)).where(table(of_run).c.run_id == run_id))
        return run_id
