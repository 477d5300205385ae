"""What is worth knowing about a config and is no error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rivet_core.config.document import Document
from rivet_core.config.foreign import INERT
from rivet_core.config.model import RootModel
from rivet_core.config.nodes import Location, plain_data
from rivet_core.config.output import describe_overruled
from rivet_core.config.sources import ResolvedSource, describe_groups
from rivet_core.facts import ExportSpec
from rivet_core.references import find_inline_credentials


def describe(
    document: Document, root: RootModel, sources: Mapping[str, ResolvedSource], exports: tuple[ExportSpec, ...]
) -> list[str]:
    """Return warnings, each beginning with `path:line:`."""
    return [
        *_credentials(document, sources, len(exports)),
        *describe_groups(document, root, sources, exports),
        *_overruled(document, root),
        *_inert(document, sources, len(exports)),
    ]


def _credentials(document: Document, sources: Mapping[str, ResolvedSource], exports: int) -> Iterator[str]:
    holders: list[Location] = [source.location for source in sources.values()]
    holders += [("destination",), *(("exports", index, "destination") for index in range(exports)), ("state",)]
    for location in holders:
        node, _ = document.find(location)
        options = plain_data(node) if node is not None else None
        for key in find_inline_credentials(options) if isinstance(options, dict) else ():
            last = key.rpartition(".")[2]
            yield (
                document.place((*location, *key.split(".")))
                + f"holds a credential; write a reference, such as {last}: ${{env:{last.upper()}}}, so that no file keeps it"
            )


def _overruled(document: Document, root: RootModel) -> Iterator[str]:
    for index, export in enumerate(root.exports):
        why = describe_overruled(export)
        if why is not None:
            yield document.place(("exports", index, "compression_profile")) + why
    why = describe_overruled(root.defaults)
    if why is not None:
        yield document.place(("defaults", "compression_profile")) + why


def _inert(document: Document, sources: Mapping[str, ResolvedSource], exports: int) -> Iterator[str]:
    holders: list[tuple[str, Location]] = [("", ()), ("export", ("defaults",)), ("tuning", ("defaults", "tuning"))]
    holders += [("tuning", (*source.location, "tuning")) for source in sources.values()]
    for index in range(exports):
        holders += [("export", ("exports", index)), ("tuning", ("exports", index, "tuning"))]
    for section, location in holders:
        node, _ = document.find(location)
        entries = getattr(node, "entries", None)
        if not entries:
            continue
        for key in INERT:
            if key.section == section and key.name in entries:
                yield document.place((*location, key.name)) + f"has no effect: {key.note}"
