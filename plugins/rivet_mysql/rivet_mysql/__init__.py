"""MySQL and MariaDB as sources. This module holds the hook only; everything else is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import SourceSpec, hookimpl


@hookimpl
def rivet_sources() -> Sequence[SourceSpec]:
    """Offer the source types `mysql` and `mariadb`: one reader, two names."""
    return (
        SourceSpec(
            name="mysql",
            summary="MySQL 5.7 and later, and what speaks its protocol",
            options="rivet_mysql.options:MysqlOptions",
            connect="rivet_mysql.session:connect",
            schemes=("mysql",),
        ),
        SourceSpec(
            name="mariadb",
            summary="MariaDB 10.3 and later",
            options="rivet_mysql.options:MysqlOptions",
            connect="rivet_mysql.session:connect",
            schemes=("mariadb",),
        ),
    )
