"""The dataset of an export: what it is now, and how a run becomes part of it.

`commit` writes the run's manifest, its `_SUCCESS` mark, and then replaces `current.json` atomically. That replace is the commit
(I7): before it readers see the old dataset, after it the new one, never a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rivet_core.api import Target
from rivet_core.facts import Unit, UnitKind
from rivet_core.running import faults
from rivet_core.running.layout import Layout
from rivet_core.running.manifest import Current, Manifest, ManifestPart, Member, without_nulls
from rivet_core.running.manifest_json import current_bytes, manifest_bytes, read_current, read_manifest
from rivet_core.state import UnitRecord
from rivet_core.stores import Store, Versioned, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """One file of the dataset: `path` is what a reader opens."""

    path: str
    rows: int
    bytes: int

    def as_dict(self) -> dict[str, str | int]:
        """Return the entry of `rivet files --json`."""
        return {"path": self.path, "rows": self.rows, "bytes": self.bytes}


class Dataset:
    """An export's files in one store."""

    def __init__(self, store: Store, layout: Layout) -> None:
        self.store = store
        self.layout = layout

    def read(self) -> tuple[Current | None, Versioned | None]:
        """Return the dataset as it is now, and the tag that its replacement is conditional on."""
        found = self.store.current(self.layout.current)
        return (None if found is None else read_current(found.data, self.store.url(self.layout.current))), found

    def manifest(self, member: Member) -> Manifest:
        """Read the manifest of a member."""
        return read_manifest(self.store.read(member.key), member.key)

    def adds_nothing(self, current: Current | None, units: Sequence[Unit], records: Sequence[UnitRecord]) -> bool:
        """Whether a run past a cursor found no row, and the rows without a cursor are byte for byte those of before (I06)."""
        nulls = {unit.index for unit in units if unit.kind is UnitKind.NULLS}
        if current is None or any(record.rows for record in records if record.unit not in nulls):
            return False
        found = sorted(part.checksum for record in records for part in record.parts)
        if not nulls:
            return not found
        live = sorted(part.checksum for _, part in self.parts(current) if part.kind == UnitKind.NULLS and part.rows)
        return found == live

    def parts(self, current: Current | None) -> Iterator[tuple[Member, ManifestPart]]:
        """Yield every part that belongs to the dataset, in the order in which it was written."""
        for member in current.members if current else ():
            for part in self.manifest(member).parts:
                if member.counts(part):
                    yield member, part

    def commit(
        self,
        manifest: Manifest,
        at: datetime,
        previous: Current | None,
        tag: Versioned | None,
        *,
        append: bool,
        resumed: bool = False,
    ) -> Current:
        """Publish the manifest, then make it the dataset, or a further part of it (`append`). Returns what is current now.

        `at` is when the run started (it may be part of the run's path). Raises `BusyError` when another was faster.
        """
        key = self.layout.manifest(manifest.run_id, at)
        self.store.put(key, manifest_bytes(manifest, key))
        faults.point("manifest_published")
        success = self.layout.success(manifest.run_id, at)
        self.store.put(success, b"")
        for folder in sorted({part.key.rpartition("/")[0] for part in manifest.parts} | {success.rpartition("/")[0]}):
            self.store.sync(folder, deep=resumed)
        faults.point("success_marked")
        current = self.next(manifest, key, previous, append=append)
        faults.point("before_current")
        self.store.replace(self.layout.current, current_bytes(current), tag)
        faults.point("after_current")
        return current

    def amend(self, current: Current, tag: Versioned | None, changed: Mapping[Member, tuple[str, Manifest]]) -> Current:
        """Publish other manifests of some members' runs, by key, then make them the dataset's. Returns what is current now.

        Raises `BusyError` when the dataset is not what `tag` says any more.
        """
        for key, manifest in changed.values():
            self.store.put(key, manifest_bytes(manifest, key))
            for folder in sorted({part.key.rpartition("/")[0] for part in manifest.parts} | {key.rpartition("/")[0]}):
                self.store.sync(folder)
        faults.point("manifest_published")
        members = tuple(replace(old, key=changed[old][0]) if old in changed else old for old in current.members)
        amended = replace(current, members=members, generation=current.generation + 1)
        known = dict(changed.values())
        amended = self._counted(amended, known, set(current.members))
        faults.point("before_current")
        self.store.replace(self.layout.current, current_bytes(amended), tag)
        faults.point("after_current")
        return amended

    def next(self, manifest: Manifest, key: str, previous: Current | None, *, append: bool) -> Current:
        """Return the dataset that `manifest` makes of `previous`."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        windowed = manifest.mode == "time_window"
        member = Member(
            key=key,
            run_id=manifest.run_id,
            rows=manifest.rows,
            bytes=manifest.bytes,
            committed_at=now,
            days=manifest.days if windowed else None,
        )
        kept: tuple[Member, ...] = ()
        if previous is not None and append:
            kept = tuple(old for old in previous.members if old.run_id != manifest.run_id)
            if manifest.has_nulls:
                kept = tuple(without_nulls(old) for old in kept)
            if windowed:
                kept = tuple(self._uncovered(kept, manifest.days))
        current = Current(
            export=manifest.export,
            mode=manifest.mode,
            generation=(previous.generation if previous else 0) + 1,
            run_id=manifest.run_id,
            plan_id=manifest.plan_id,
            committed_at=now,
            members=(*kept, member),
            cursor_before=manifest.cursor_before,
            cursor_after=manifest.cursor_after,
            subject=manifest.subject,
        )
        return self._counted(current, {key: manifest}, set(previous.members if previous else ()))

    def _uncovered(self, members: tuple[Member, ...], days: tuple[str, ...]) -> Iterator[Member]:
        """Yield older runs with the days that the new one does not cover; those with no day left are gone."""
        for member in members:
            if member.days is None:
                continue
            left = tuple(day for day in member.days if day not in days)
            if left:
                yield replace(member, days=left)

    def _counted(self, current: Current, known: dict[str, Manifest], unchanged: set[Member]) -> Current:
        """Fill in what the new and the changed members count, and the totals."""
        members = []
        for member in current.members:
            if member in unchanged:
                members.append(member)
                continue
            manifest = known.get(member.key) or self.manifest(member)
            live = [part for part in manifest.parts if member.counts(part)]
            members.append(replace(member, rows=sum(part.rows for part in live), bytes=sum(part.bytes for part in live)))
        rows, size = sum(member.rows for member in members), sum(member.bytes for member in members)
        return replace(current, members=tuple(members), rows=rows, bytes=size)


def list_files(target: Target, layout: Layout) -> list[LiveFile]:
    """Return the files that are the dataset now, from `current.json` and the manifests alone: no source, no state."""
    dataset = Dataset(open_store(target), layout)
    current, _ = dataset.read()
    return [LiveFile(path=dataset.store.url(part.key), rows=part.rows, bytes=part.bytes) for _, part in dataset.parts(current)]
