"""The keys of a PostgreSQL source in the config."""

from __future__ import annotations

from typing import ClassVar, Literal

from rivet_core.sql.options import SqlOptions


class PostgresOptions(SqlOptions):
    """`type: postgres`: a URL (`url`, `url_env`, `url_file`), or `host`, `port`, `user`, `password_env`, `database`.

    Query keys of the URL are libpq's (`sslmode`, `connect_timeout`, ...), `tls` wins over them. `engine` chooses the reader:
    `auto` takes rivet-pgcopy where it is installed, else ADBC.
    """

    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    default_port: ClassVar[int] = 5432

    engine: Literal["auto", "adbc", "pgcopy"] = "auto"
