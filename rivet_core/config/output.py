"""What an export writes and where: codec, level, destination."""

from __future__ import annotations

from rivet_core.config.document import Document
from rivet_core.config.export_model import DefaultsModel, ExportModel
from rivet_core.config.nodes import Location, plain_data
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.places import PATH_TOKENS, tokens
from rivet_core.config.sections import suggest
from rivet_core.facts import DestinationRef, Json, Mode

_PROFILES: dict[str, tuple[str, int | None]] = {
    "none": ("none", None),
    "fast": ("snappy", None),
    "balanced": ("zstd", 3),
    "compact": ("zstd", 9),
}
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9), "lz4": (1, 12)}
_COMPRESSION_KEYS = ("compression_profile", "compression", "compression_level")


def resolve_compression(
    document: Document, at: Location, defaults: DefaultsModel, export: ExportModel, file_format: str
) -> tuple[str, int | None, str | None]:
    """Return codec, level and, when a profile decided, its name. What the export says wins over the defaults.

    CSV files are not compressed: asked for in the export it is an error, in the defaults it means the Parquet exports.
    """
    if file_format == "csv":
        for key in _COMPRESSION_KEYS:
            if getattr(export, key) not in {None, "none"}:
                raise document.error(
                    (*at, key), "CSV files are not compressed", hint="use `format: parquet`, or remove the key"
                )
        return "none", None, None
    codec, level, profile = "zstd", None, None
    where: Location = at
    for layer, place in ((defaults, ("defaults",)), (export, at)):
        given = {key: getattr(layer, key) for key in _COMPRESSION_KEYS if key in layer.model_fields_set}
        if not given:
            continue
        where = place
        if given.get("compression_profile"):
            profile = str(given["compression_profile"])
            codec, level = _PROFILES[profile]
        elif given.get("compression"):
            codec, level, profile = str(given["compression"]), given.get("compression_level"), None
        elif given.get("compression_level"):
            level, profile = given["compression_level"], None
        else:
            codec, level, profile = "zstd", None, None
    if level is not None:
        _check_level(document, (*where, "compression_level"), codec, level)
    return codec, level, profile


def describe_overruled(export: DefaultsModel) -> str | None:
    """Return why `compression` or `compression_level` beside a profile does nothing, `None` when they agree."""
    if export.compression_profile is None:
        return None
    codec, level = _PROFILES[export.compression_profile]
    if export.compression not in {None, codec} or export.compression_level not in {None, level}:
        return f"`compression` and `compression_level` have no effect beside compression_profile {export.compression_profile}"
    return None


def _check_level(document: Document, location: Location, codec: str, level: int) -> None:
    if codec not in _LEVELS:
        raise document.error(location, f"{codec} has no levels", hint="remove `compression_level:`")
    low, high = _LEVELS[codec]
    if not low <= level <= high:
        raise document.error(location, f"must be from {low} to {high} for {codec}, not {level}", hint="")


def resolve_destination(
    document: Document, at: Location, default: MappingNode | None, mode: Mode, *, partitioned: bool
) -> DestinationRef:
    """Return where an export goes, references unresolved. An export's own keys without `type` lie over the default's."""
    own, _ = document.find((*at, "destination"))
    where: Location = (*at, "destination")
    if isinstance(own, MappingNode) and "type" in own.entries:
        options = _options(own)
    elif default is None:
        what = "has no `type`" if isinstance(own, MappingNode) else "no destination"
        raise document.error(
            where if isinstance(own, MappingNode) else at,
            what,
            hint="add `destination: {type: local, path: ./out}` at the top level or here",
        )
    else:
        options = {**_options(default), **(_options(own) if isinstance(own, MappingNode) else {})}
        where = where if isinstance(own, MappingNode) else ("destination",)
    kind = options.pop("type")
    if not isinstance(kind, str) or not kind.strip():
        raise document.error((*where, "type"), "must be text", hint="name a kind of destination: local, s3")
    if kind == "stdout" and mode is Mode.CHUNKED:
        raise document.error(
            (*at, "mode"),
            "a chunked export cannot go to stdout, its units end in any order",
            hint="use mode full, or a directory",
        )
    for key in ("path", "prefix"):
        template = options.get(key)
        for word in tokens(template) if isinstance(template, str) else ():
            if word not in PATH_TOKENS:
                hint = suggest(word, PATH_TOKENS, what="tokens")
                raise document.error((*where, key), f"{{{word}}} is not a token", hint=hint)
            if word == "partition" and not partitioned and mode is not Mode.TIME_WINDOW:
                raise document.error((*where, key), "{partition} needs a partition", hint="add `partition_by:` to the export")
    return DestinationRef(type=kind, options=options)


def _options(node: MappingNode) -> dict[str, Json]:
    data = plain_data(node)
    return data if isinstance(data, dict) else {}
