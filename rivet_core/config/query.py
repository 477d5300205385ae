"""What an export reads: exactly one of a table, a query, or a file with a query."""

from __future__ import annotations

from pathlib import Path

from rivet_core.config.document import Document
from rivet_core.config.export_model import ExportModel
from rivet_core.config.nodes import Location
from rivet_core.references import holds_reference

_KINDS = ("table", "query", "query_file")
MAX_QUERY_BYTES = 1 << 20


def read_query(document: Document, at: Location, export: ExportModel, base: Path, warnings: list[str]) -> str | None:
    """Return the query, untouched, or `None` for a table. Raises `ConfigError`; warns of references, which are not expanded."""
    given = [kind for kind in _KINDS if getattr(export, kind) is not None]
    if len(given) != 1:
        what = "has both " + " and ".join(f"`{kind}`" for kind in given) if given else "names nothing to read"
        where = (*at, given[1]) if given else at
        raise document.error(
            where, f"export {export.name} {what}", hint="give exactly one of `table:`, `query:` and `query_file:`"
        )
    if given == ["table"]:
        return None
    location = (*at, given[0])
    query = export.query if export.query is not None else _read_file(document, location, str(export.query_file), base)
    if holds_reference(query):
        warnings.append(
            document.place(location) + "holds ${...}, which is sent to the server as it is: queries pass through untouched"
        )
    return query


def _read_file(document: Document, location: Location, name: str, base: Path) -> str:
    """Read a query file. It must lie inside the config's directory, links resolved."""
    hint = "the path is relative to the config file and must stay inside its directory"
    try:
        root = base.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise document.error(location, f"{name} lies outside of the config file's directory", hint=hint)
        if path.is_dir():
            raise document.error(location, f"{name} is a directory", hint="name a file with one query")
        with path.open("rb") as file:
            data = file.read(MAX_QUERY_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise document.error(location, f"cannot read {name}: {reason.lower()}", hint=hint) from None
    if len(data) > MAX_QUERY_BYTES:
        raise document.error(location, f"{name} is larger than 1 MiB", hint="name a file with one query")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise document.error(location, f"{name} is not UTF-8", hint="save it as UTF-8") from None
    if not text.strip():
        raise document.error(location, f"{name} is empty", hint="write the query into it")
    return text
