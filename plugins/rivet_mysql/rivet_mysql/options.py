"""The keys under a `mysql` or `mariadb` source."""

from __future__ import annotations

from typing import ClassVar, Literal

from rivet_core.sql.options import SqlOptions


class MysqlOptions(SqlOptions):
    """How to reach the server: `url`, `url_env`, `url_file`, or `host` with its fields; `database` is where bare names live.

    `engine` chooses the reader: `auto` takes the binary protocol (connectorx) where it is exact and bounded, `rows` always
    PyMySQL.
    """

    schemes: ClassVar[tuple[str, ...]] = ("mysql", "mariadb")
    default_port: ClassVar[int] = 3306

    engine: Literal["auto", "rows"] = "auto"
