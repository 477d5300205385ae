"""PostgreSQL as a source for Rivet. Hooks only: everything heavy is a reference, imported when it is used."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import SourceSpec, hookimpl

__version__ = "0.1.0"


@hookimpl
def rivet_sources() -> Sequence[SourceSpec]:
    """Offer `source.type: postgres`."""
    return (
        SourceSpec(
            name="postgres",
            summary="PostgreSQL 12 and later, primaries and hot standbys",
            options="rivet_postgres.options:PostgresOptions",
            connect="rivet_postgres.session:connect",
            schemes=("postgresql", "postgres"),
        ),
    )
