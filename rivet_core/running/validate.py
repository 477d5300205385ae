"""Files against their manifests: is everything there, whole, and as long as it says. Needs neither source nor state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from rivet_core.errors import DestinationError, RivetError
from rivet_core.facts import Json
from rivet_core.facts.plural import several
from rivet_core.running.manifest import ManifestPart
from rivet_core.running.publish import Dataset
from rivet_core.stores import Store

Depth: TypeAlias = Literal["light", "sample", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with one file of the dataset. `unit` and `run_id` say what would have to be exported again."""

    path: str
    problem: str
    unit: int
    run_id: str

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet validate --json`."""
        return {"path": self.path, "problem": self.problem, "unit": self.unit, "run_id": self.run_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found of one export. `files` counts those that the manifests list; `error` is why it could not be looked at."""

    export: str
    files: int = 0
    rows: int = 0
    findings: tuple[Finding, ...] = ()
    error: RivetError | None = None
    empty: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings and self.error is None

    @property
    def word(self) -> str:
        """The result in a word or two."""
        if self.error is not None:
            return "could not be looked at"
        if self.empty:
            return "no dataset yet"
        return "match" if self.ok else "mismatch"

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet validate --json`."""
        found: dict[str, Json] = {
            "export": self.export,
            "result": self.word,
            "files": self.files,
            "rows": self.rows,
            "findings": [finding.as_dict() for finding in self.findings],
        }
        if self.error is not None:
            found["error"] = {"code": self.error.code, "message": self.error.message, "hint": self.error.hint}
        return found


def check_dataset(export: str, open_dataset: Callable[[], Dataset], depth: Depth) -> Validation:
    """Validate one export; what cannot be opened or read becomes its result, so that the others are looked at too."""
    try:
        dataset = open_dataset()
        current, _ = dataset.read()
        parts = [part for _, part in dataset.parts(current)]
        findings = tuple(validate(dataset, depth))
    except RivetError as error:
        return Validation(export=export, error=error)
    rows = sum(part.rows for part in parts)
    return Validation(export=export, files=len(parts), rows=rows, findings=findings, empty=current is None)


def validate(dataset: Dataset, depth: Depth = "light") -> list[Finding]:
    """Return what disagrees with the manifests, empty when nothing does.

    `light` looks at existence and size, `sample` also at the rows in each file's footer, `full` also at every checksum.
    """
    current, _ = dataset.read()
    findings = []
    for member, part in dataset.parts(current):
        problem = _problem(dataset.store, part, depth)
        if problem:
            findings.append(Finding(path=dataset.store.url(part.key), problem=problem, unit=part.unit, run_id=member.run_id))
    return findings


def _problem(store: Store, part: ManifestPart, depth: Depth) -> str:
    size = store.size(part.key)
    if size is None:
        return "is missing"
    if size != part.bytes:
        return f"has {several(size, 'byte')}, the manifest says {part.bytes}"
    if depth == "full":
        found = store.checksum(part.key)
        if found != part.checksum:
            return f"has the checksum {found}, the manifest says {part.checksum}"
    if depth != "light" and part.key.endswith(".parquet"):
        return _footer(store, part)
    return ""


def _footer(store: Store, part: ManifestPart) -> str:
    try:
        with store.open(part.key) as file:
            rows = pq.ParquetFile(file).metadata.num_rows
    except (pa.ArrowException, OSError, DestinationError) as error:
        return f"cannot be read: {error}"
    return "" if rows == part.rows else f"has {several(rows, 'row')}, the manifest says {part.rows}"
