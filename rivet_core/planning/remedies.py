"""The exact statements that would help, in the dialect of the source. They are text for people; Rivet never runs them."""

from __future__ import annotations

import re

from rivet_core.facts import Role, ServerFacts, TableFacts

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def is_mysql(server: ServerFacts) -> bool:
    """Whether the source speaks the MySQL dialect."""
    return server.engine.lower() in ("mysql", "mariadb")


def is_postgres(server: ServerFacts) -> bool:
    """Whether the source speaks the PostgreSQL dialect."""
    return server.engine.lower().startswith("postgres")


def quoted(name: str, server: ServerFacts) -> str:
    """Return an identifier, quoted where it needs to be."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    mark = "`" if is_mysql(server) else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def table_name(table: TableFacts, server: ServerFacts) -> str:
    """Return the relation with its schema; the name as the config has it when the catalog does not know it."""
    if not table.relation:
        return table.name
    parts = (table.schema, table.relation) if table.schema else (table.relation,)
    return ".".join(quoted(part, server) for part in parts)


def analyze(table: TableFacts, server: ServerFacts) -> str:
    """Return the statement that takes statistics; on a standby it must run on the primary."""
    verb = "ANALYZE TABLE" if is_mysql(server) else "ANALYZE"
    where = " (on the primary)" if server.role is Role.STANDBY else ""
    return f"{verb} {table_name(table, server)}{where}"


def create_index(table: TableFacts, server: ServerFacts, *columns: str) -> str:
    """Return the statement that makes an index on `columns`, without blocking writers where the engine can."""
    listed = ", ".join(quoted(column, server) for column in columns)
    if is_postgres(server):
        return f"CREATE INDEX CONCURRENTLY ON {table_name(table, server)} ({listed})"
    name = quoted(f"{table.relation or 'table'}_{'_'.join(columns)}_idx", server)
    return f"CREATE INDEX {name} ON {table_name(table, server)} ({listed})"


def vacuum(table: TableFacts, server: ServerFacts) -> str:
    """Return the statement that gives back the space of dead rows."""
    if is_mysql(server):
        return f"OPTIMIZE TABLE {table_name(table, server)}"
    return f"VACUUM {table_name(table, server)}" if is_postgres(server) else "VACUUM"
