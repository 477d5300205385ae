"""What a dataset is made of, unit by unit: what the source is asked for, and the files that should hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rivet_core.errors import RivetError
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.running.manifest import Current, Manifest, ManifestPart, Member, window_of
from rivet_core.running.publish import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One unit of one run of the dataset. `unit` ends where the run did, `place` is the run's among those of the dataset.

    `next_lower` is where the next run of a chain begins, inclusive or not: rows from there on are that run's. `open` says that
    rows added after the run lie in this unit too. `whole` stands for units that cannot be told apart any more (block ranges).
    """

    place: int
    member: Member
    manifest: Manifest
    unit: Unit
    parts: tuple[ManifestPart, ...]
    next_lower: tuple[Mark, ...] = ()
    next_inclusive: bool = False
    open: bool = False
    whole: bool = False

    @property
    def rows(self) -> int:
        """Rows that the manifest says."""
        return sum(part.rows for part in self.parts)


def slices_of(dataset: Dataset, current: Current) -> tuple[Slice, ...]:
    """Return every unit that counts. Raises `RivetError` for a run whose manifest does not say what it read."""
    manifests = [dataset.manifest(member) for member in current.members]
    for manifest in manifests:
        if not manifest.units:
            raise RivetError(
                f"{current.export}: the manifest of run {manifest.run_id} is of an older version and does not say its units",
                hint="run the export again, then reconcile",
                code="manifest_units",
            )
    found: list[Slice] = []
    for place, (member, manifest) in enumerate(zip(current.members, manifests, strict=True)):
        later = next((m for m in manifests[place + 1 :] if _cursor_unit(m) is not None), None)
        found += _of_run(place, member, manifest, None if later is None else _cursor_unit(later))
    last = max((window_of(item.unit) for item in found), default="")
    return tuple(replace(item, open=True) if last and window_of(item.unit) == last else item for item in found)


def _of_run(place: int, member: Member, manifest: Manifest, later: Unit | None) -> Iterator[Slice]:
    blocks = [unit for unit in manifest.units if unit.kind is UnitKind.CTID]
    for unit in manifest.units:
        parts = tuple(part for part in manifest.parts if part.unit == unit.index and member.counts(part))
        made = Slice(place=place, member=member, manifest=manifest, unit=unit, parts=parts)
        if unit.kind is UnitKind.CTID:
            same = [block.index for block in blocks if block.relation == unit.relation]
            if unit.index == same[0]:  # rows wander between blocks: only their union can be compared
                whole = Unit(index=unit.index, kind=UnitKind.WHOLE, relation=unit.relation)
                parts = tuple(part for part in manifest.parts if part.unit in same)
                yield replace(made, unit=whole, parts=parts, open=True, whole=True)
        elif unit.kind is UnitKind.CURSOR:
            if manifest.cursor_after:
                ends = replace(unit, upper=manifest.cursor_after, upper_inclusive=True)
                lower, inclusive = (later.lower, later.lower_inclusive) if later is not None else ((), False)
                yield replace(made, unit=ends, next_lower=lower, next_inclusive=inclusive)
        elif unit.kind is UnitKind.NULLS and manifest.has_nulls:
            if member.nulls:
                yield made
        elif unit.kind is not UnitKind.WINDOW or member.days is None or window_of(unit) in member.days:
            yield replace(made, open=unit.kind in (UnitKind.WHOLE, UnitKind.RANGE) and not unit.upper)


def _cursor_unit(manifest: Manifest) -> Unit | None:
    return next((unit for unit in manifest.units if unit.kind is UnitKind.CURSOR), None)
