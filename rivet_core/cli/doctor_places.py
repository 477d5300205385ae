"""What `rivet doctor` looks at where Rivet writes: the state, and each destination by a real write, replace and delete."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rivet_core.errors import BusyError, RivetError
from rivet_core.planning.finding import Finding, Severity

if TYPE_CHECKING:
    from rivet_core.config import CampaignConfig
    from rivet_core.facts import ExportSpec
    from rivet_core.plugins import Registry
    from rivet_core.stores import Store

LITTLE_SPACE = 1 << 30
"""Bytes free below which a disk is worth a warning."""


def examine_state(config: CampaignConfig) -> list[Finding]:
    """Look whether the state can be read and would be written; nothing is created."""
    from rivet_core.references import locate_state, resolve_text
    from rivet_core.state import read_state

    try:
        url = locate_state(resolve_text(config.state_url, base=config.base), config.base)
        with read_state(url, base=config.base) as state:
            known = len(state.cursors())
    except RivetError as error:
        return [Finding.of(error, "state")]
    if not url.startswith("sqlite:"):
        return [Finding(severity=Severity.OK, subject="state", message="reachable", evidence=f"{known} cursors")]
    path = Path(url.removeprefix("sqlite:///"))
    place = path if path.exists() else _nearest(path.parent)
    findings = []
    folder = path.parent if place == path else place
    if folder.is_dir() and not path.is_dir() and os.access(place, os.W_OK) and os.access(folder, os.W_OK):
        said = f"{known} cursors" if path.exists() else "the first run creates it"
        findings.append(Finding(severity=Severity.OK, subject="state", message=f"{path} can be written", evidence=said))
    else:
        findings.append(
            Finding(
                severity=Severity.ERROR,
                subject="state",
                message=f"{path} cannot be written",
                evidence=f"no right to write {place}" if folder.is_dir() else f"{folder} is not a directory",
                hint="let this user write there, or set state.url",
            )
        )
    capped = sorted(name for name, group in config.source_groups.items() if group.max_connections is not None)
    if capped:
        findings.append(
            Finding(
                severity=Severity.INFO,
                subject="state",
                message="the caps of source groups hold among the processes that share this state file, not across hosts",
                evidence=", ".join(capped),
                hint='for several hosts: state: {url: "postgresql://..."}',
            )
        )
    return findings


def _nearest(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def examine_destinations(config: CampaignConfig, registry: Registry) -> list[Finding]:
    """Probe each place that exports go to, once."""
    places: dict[str, list[ExportSpec]] = {}
    for spec in config.exports:
        key = json.dumps([spec.destination.type, spec.destination.options], sort_keys=True, default=str)
        places.setdefault(key, []).append(spec)
    return [finding for specs in places.values() for finding in _examine(specs, config, registry)]


def _examine(specs: list[ExportSpec], config: CampaignConfig, registry: Registry) -> list[Finding]:
    from rivet_core.plugins import plugin_fault
    from rivet_core.running.layout import layout_of
    from rivet_core.stores import open_store

    kind = specs[0].destination.type
    subject = f"destination {kind}"
    try:
        options, _ = layout_of(specs[0])
        store = open_store(registry.open_destination(kind, options, base=config.base))
        with _leaving_no_folder(store):
            store.check()
            findings = list(probe_store(store, f"{subject} {store.where}"))
    except Exception as error:  # noqa: BLE001 - a part that fails hides no other
        names = ", ".join(spec.name for spec in specs[:3]) + (", ..." if len(specs) > 3 else "")
        fault = error if isinstance(error, RivetError) else plugin_fault(kind, error, destination=True)
        return [Finding.of(fault, subject, evidence=names)]
    return findings


@contextlib.contextmanager
def _leaving_no_folder(store: Store) -> Iterator[None]:
    """Take away the directories that the probe had to make: looking leaves nothing behind."""
    if not store.target.capabilities.local:
        yield
        return
    root = Path(store.target.root)
    missing = [place for place in (root, *root.parents) if not place.exists()]
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            for place in missing:
                place.rmdir()


def probe_store(store: Store, subject: str) -> Iterator[Finding]:
    """Write, list, replace and delete a key of its own, and compare what happened with what the destination declares."""
    folder = f"_rivet-doctor-{uuid.uuid4().hex}"
    key, free = f"{folder}/probe", _free_bytes(store)
    declared = store.target.capabilities
    try:
        store.put(key, b"first")
        listed = any(entry.key == key for entry in store.files(folder))
        first = store.current(key)
        store.replace(key, b"second", first)
        replaced = store.read(key) == b"second"
        refused = _refuses_stale(store, key, first)
    finally:
        with contextlib.suppress(RivetError):
            store.delete_tree(folder)
    left = store.files(folder)
    yield Finding(severity=Severity.OK, subject=subject, message="a probe was written, read, replaced and deleted")
    broken = [
        ("atomic_replace", declared.atomic_replace, replaced),
        ("list_after_write", declared.list_after_write, listed),
        ("conditional_put", declared.conditional_put, refused),
    ]
    for name, promised, kept in broken:
        if promised and not kept:
            yield Finding(
                severity=Severity.ERROR,
                subject=subject,
                message=f"the store does not do what the destination declares: {name}",
                hint="report it to the authors of the destination; two writers could overwrite each other",
            )
    words = ", ".join(f"{name} {'yes' if promised else 'no'}" for name, promised, _ in broken)
    yield Finding(severity=Severity.INFO, subject=subject, message="what it declares", evidence=words)
    if not declared.conditional_put:
        yield Finding(
            severity=Severity.INFO,
            subject=subject,
            message="it cannot replace under a condition: a lock object guards the commit",
            hint="let all writers share one state.url",
        )
    if left:
        yield Finding(
            severity=Severity.WARNING,
            subject=subject,
            message="the probe could not be deleted again",
            evidence=left[0].key,
            hint="allow deletes: rivet gc and keep_runs need them",
        )
    if free is not None and free < LITTLE_SPACE:
        yield Finding(
            severity=Severity.WARNING, subject=subject, message="little space is left", evidence=f"{free >> 20} MiB free"
        )


def _refuses_stale(store: Store, key: str, stale: object) -> bool:
    """Whether a second writer that did not see the replace is turned away."""
    try:
        store.replace(key, b"third", stale)  # type: ignore[arg-type]
    except BusyError:
        return True
    return False


def _free_bytes(store: Store) -> int | None:
    if not store.target.capabilities.local:
        return None
    with contextlib.suppress(OSError):
        return shutil.disk_usage(_nearest(Path(store.target.root))).free
    return None
