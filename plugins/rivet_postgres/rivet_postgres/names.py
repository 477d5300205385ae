"""Table names as people write them in a config, and as the catalog has them."""

from __future__ import annotations

from dataclasses import dataclass

from rivet_core.errors import ConfigError
from rivet_postgres.dialect import POSTGRES


@dataclass(frozen=True, slots=True)
class TableName:
    """A schema (empty: the search path decides) and a relation, both exactly as the catalog spells them."""

    schema: str
    relation: str

    @property
    def sql(self) -> str:
        """The name quoted for a statement."""
        return POSTGRES.qualified((self.schema, self.relation))


def parse_name(text: str) -> TableName:
    """Read `table`, `schema.table`, and quoted forms of both; nothing is folded to lower case.

    Raises `ConfigError` for more than two parts and for a quote that does not end.
    """
    parts = _split(text)
    if parts is None or not 1 <= len(parts) <= 2 or not all(parts):
        raise ConfigError(
            f"{text!r} is not a table name",
            hint='write table or schema.table, with "double quotes" around a part that holds a dot',
        )
    return TableName(parts[0] if len(parts) == 2 else "", parts[-1])


def _split(text: str) -> list[str] | None:
    parts, part, at, quoted = [], "", 0, False
    while at < len(text):
        char = text[at]
        if char == '"':
            if quoted and text[at + 1 : at + 2] == '"':
                part, at = part + '"', at + 1
            elif quoted or not part:
                quoted = not quoted
            else:
                part += char
        elif char == "." and not quoted:
            parts.append(part)
            part = ""
        else:
            part += char
        at += 1
    return None if quoted else [*parts, part]


def written(schema: str, relation: str) -> str:
    """Return `schema.relation` the way `parse_name` reads it back, quoted only where it must be."""
    return ".".join(
        f'"{part.replace(chr(34), chr(34) * 2)}"' if "." in part or '"' in part else part for part in (schema, relation)
    )
