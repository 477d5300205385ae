"""What each mode needs, what it cannot have, and which keys it leaves idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rivet_core.config.document import Document
from rivet_core.config.export_model import ExportModel
from rivet_core.config.nodes import Location
from rivet_core.errors import ConfigError
from rivet_core.facts import Mode

_BELONGS: dict[Mode, tuple[str, ...]] = {
    Mode.INCREMENTAL: ("cursor_fallback_column", "incremental_cursor_mode", "lookback", "null_cursor", "allow_text_cursor"),
    Mode.CHUNKED: ("chunk_by_key", "chunk_size", "chunk_count", "chunk_by_days"),
    Mode.TIME_WINDOW: ("time_column", "time_column_type", "days_window"),
}
"""Keys that only one mode reads. `cursor_column` and `chunk_column` are not here: planning takes them as hints."""


def check_mode(document: Document, at: Location, mode: Mode, keys: Mapping[str, Any]) -> None:
    """Raise `ConfigError` when an export lacks what its mode needs, or asks for two things that exclude each other."""
    name = keys["name"]

    def refuse(key: str, what: str, hint: str) -> ConfigError:
        node, _ = document.find((*at, key))
        return document.error(at if node is None else (*at, key), f"export {name} {what}", hint=hint)

    if mode is Mode.INCREMENTAL and "cursor_column" not in keys:
        raise refuse(
            "mode",
            "is incremental and has no `cursor_column`",
            "add `cursor_column:`, a column that grows, such as updated_at or id",
        )
    if mode is Mode.TIME_WINDOW:
        for key in ("time_column", "days_window"):
            if key not in keys:
                raise refuse("mode", f"is a time_window and has no `{key}`", f"add `{key}:`")
        if "partition_by" in keys:
            raise refuse("partition_by", "is a time_window, which is cut by day already", "remove `partition_by:`")
    if mode is Mode.CHUNKED:
        _check_chunks(keys, refuse)


def _check_chunks(keys: Mapping[str, Any], refuse: Any) -> None:
    by_key = keys.get("chunk_by_key", False)
    column = keys.get("chunk_column")
    if isinstance(by_key, str) and column is not None and column != by_key:
        raise refuse("chunk_by_key", "has both `chunk_column` and `chunk_by_key`", "keep one of them")
    if "table" not in keys and column is None and not isinstance(by_key, str):
        raise refuse(
            "mode",
            "is chunked over a query, which has no primary key",
            "add `chunk_column:` or `chunk_by_key:`, a column of the query",
        )
    if "chunk_by_days" in keys:
        if "chunk_count" in keys:
            raise refuse("chunk_by_days", "has both `chunk_count` and `chunk_by_days`", "keep one of them")
        if column is None:
            raise refuse(
                "chunk_by_days", "has `chunk_by_days` and no `chunk_column`", "add `chunk_column:`, a date or time column"
            )


def cursor_mode(document: Document, at: Location, keys: Mapping[str, Any]) -> str | None:
    """Return how the cursor columns of an incremental export combine; `None` leaves the choice to the source."""
    mode, fallback = keys.get("incremental_cursor_mode"), keys.get("cursor_fallback_column")
    if mode == "coalesce" and fallback is None:
        raise document.error(
            at, f"export {keys['name']} combines by coalesce and has no fallback", hint="add `cursor_fallback_column:`"
        )
    if fallback is not None and mode not in {None, "coalesce"}:
        raise document.error(
            at,
            f"export {keys['name']} has a `cursor_fallback_column`, which {mode} does not use",
            hint="write `incremental_cursor_mode: coalesce`",
        )
    if fallback is not None and fallback == keys["cursor_column"]:
        raise document.error((*at, "cursor_fallback_column"), "is the cursor itself", hint="name another column, or remove it")
    return "coalesce" if fallback is not None else mode


def describe_idle_keys(mode: Mode, export: ExportModel) -> Iterator[tuple[str, str]]:
    """Yield `(key, why)` for keys that an export sets itself and its mode does not read."""
    for owner, names in _BELONGS.items():
        if owner is mode:
            continue
        for name in names:
            if name in export.model_fields_set and getattr(export, name) is not None:
                yield name, f"has no effect, mode is {mode} (it belongs to {owner})"
    if "chunk_size" in export.model_fields_set and "chunk_count" in export.model_fields_set and mode is Mode.CHUNKED:
        yield "chunk_size", "has no effect beside `chunk_count`"
