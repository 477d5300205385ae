"""The sources of a config, and what can be said about them without opening one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from rivet_core.config.campaign import SourceConfig
from rivet_core.config.document import Document
from rivet_core.config.export_model import TuningModel
from rivet_core.config.foreign import REFUSED_NOTES
from rivet_core.config.model import RootModel, SourceModel
from rivet_core.config.nodes import Location, plain_data
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.problems import refuse_unknown
from rivet_core.config.sections import hint_for_key, nearest
from rivet_core.config.values import read_name
from rivet_core.facts import ExportSpec
from rivet_core.references import holds_reference

DEFAULT_NAME = "default"
"""What the one source of `source:` is called."""

_ADDRESS = re.compile(r"[:/\\]")
"""What the name of an implicit group holds: `host:port`, or the path of an SQLite file."""

_PORTS = {"postgres": 5432, "postgresql": 5432, "mysql": 3306, "mariadb": 3306}


@dataclass(frozen=True, slots=True)
class ResolvedSource:
    """A source with what only the config needs: where it stands, its tuning, what its server is for."""

    config: SourceConfig
    location: Location
    tuning: TuningModel | None
    environment: str | None

    @property
    def name(self) -> str:
        """The name that exports use."""
        return self.config.name


def resolve_sources(document: Document, root: RootModel) -> dict[str, ResolvedSource]:
    """Return the sources by name. Raises `ConfigError` for none, for both forms at once, and for misplaced keys."""
    if root.source is not None and root.sources is not None:
        raise document.error(
            ("source",), "`source` and `sources` exclude each other", hint="move it into `sources:` under a name of its own"
        )
    if root.source is not None:
        return {DEFAULT_NAME: _resolve(document, DEFAULT_NAME, root.source, ("source",))}
    if not root.sources:
        where: Location = ("sources",) if root.sources is not None else ()
        raise document.error(
            where,
            "there is no source",
            hint="add `source: {type: postgres, url_env: DATABASE_URL}`, or several under `sources:`",
        )
    found: dict[str, ResolvedSource] = {}
    for name, model in root.sources.items():
        try:
            read_name(name)
        except ValueError as error:
            raise document.error(("sources", name), f"the name of a source {error}", hint="") from None
        found[name] = _resolve(document, name, model, ("sources", name))
    return found


def _resolve(document: Document, name: str, model: SourceModel, location: Location) -> ResolvedSource:
    node, line = document.find(location)
    written = plain_data(node) if isinstance(node, MappingNode) else {}
    assert isinstance(written, dict)  # noqa: S101  (the model has seen it)
    options = {key: value for key, value in written.items() if key not in SourceModel.model_fields}
    for key in options:
        if ("source", key) in REFUSED_NOTES or key in TuningModel.model_fields:
            what, hint = refuse_unknown(key, "source")
            raise document.error((*location, key), what, hint=hint or hint_for_key(key, "source"))
    config = SourceConfig(name=name, type=model.type, options=options, source_group=model.source_group, line=line)
    return ResolvedSource(config, location, model.tuning, model.environment)


def address_of(source: SourceConfig) -> tuple[str, int] | None:
    """Return host and port when the config says them openly, `None` when a reference or a file hides them."""
    url = source.options.get("url")
    default = _PORTS.get(source.type, 0)
    if isinstance(url, str) and not holds_reference(url):
        try:
            parts = urlsplit(url)
            return (parts.hostname.lower(), parts.port or default) if parts.hostname else None
        except ValueError:
            return None
    host, port = source.options.get("host"), source.options.get("port", default)
    if isinstance(host, str) and not holds_reference(host) and isinstance(port, int):
        return host.lower(), port
    return None


def describe_groups(
    document: Document, root: RootModel, sources: Mapping[str, ResolvedSource], exports: Iterable[ExportSpec]
) -> list[str]:
    """Return warnings: two declared groups on one server, a name that looks misspelt, a group that nothing uses."""
    warnings: list[str] = []
    on_address: dict[tuple[str, int], ResolvedSource] = {}
    used: dict[str, Location] = {}
    for source in sources.values():
        group = source.config.source_group
        if group is None:
            continue
        used.setdefault(group, (*source.location, "source_group"))
        address = address_of(source.config)
        other = None if address is None else on_address.setdefault(address, source)
        if address is not None and other is not None and other.config.source_group != group:
            warnings.append(
                document.place((*source.location, "source_group"))
                + f"groups {group} and {other.config.source_group} (source {other.name}) share {address[0]}:{address[1]}, "
                "and each may load it to its own limit; give both sources one group"
            )
    for index, spec in enumerate(exports):
        if spec.source_group is not None and spec.source_group not in used:
            node, _ = document.find(("exports", index, "source_group"))
            used[spec.source_group] = ("defaults", "source_group") if node is None else ("exports", index, "source_group")
    for group, location in used.items():
        near = None if group in root.source_groups else nearest(group, root.source_groups)
        if near is not None:
            warnings.append(
                document.place(location)
                + f"group {group} is not under `source_groups:`, its capacity is assumed; did you mean {near}?"
            )
    implicit = any(source.config.source_group is None for source in sources.values())
    for group in root.source_groups:
        # The implicit group has the address for its name, which only a connection knows for certain.
        if group not in used and not (implicit and _ADDRESS.search(group)):
            warnings.append(document.place(("source_groups", group)) + "no source and no export belongs to this group")
    return warnings
