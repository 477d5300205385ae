"""Reconcile: what the source holds now against what the files of the dataset hold, unit by unit, without moving a row.

Each unit is one short statement at the source and one pass over its files; the two numbers must be equal. Where they are not,
what happened after the run may explain it (`explain`); everything else is a mismatch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from rivet_core.api import DigestingSession, PageGate, SourceSession
from rivet_core.errors import IntegrityError, RivetError, SourceError
from rivet_core.facts import ExportSpec, ReadSpec, Unit, UnitDigest
from rivet_core.facts.plural import several
from rivet_core.interrupts import is_ctrl_c
from rivet_core.running.comparison import Reconciliation, Result, UnitComparison
from rivet_core.running.continuity import subject_of
from rivet_core.running.explain import Explainer
from rivet_core.running.filerows import covered_columns, digest_parts
from rivet_core.running.foreign import plugin_failed
from rivet_core.running.manifest import Current
from rivet_core.running.publish import Dataset
from rivet_core.running.retry import Budget, Retrier
from rivet_core.running.slices import Slice, slices_of
from rivet_core.running.stop import StoppedError
from rivet_core.running.task import fingerprint_of
from rivet_core.running.unexpected import unexpected


def reconcile(
    spec: ExportSpec, dataset: Dataset, session: SourceSession, stopped: threading.Event, gate: PageGate | None = None
) -> Reconciliation:
    """Compare one export; what cannot be looked at becomes its result, so that the others are looked at too.

    `gate` is asked before each statement at the source.
    """
    try:
        current, _ = dataset.read()
        if current is None:
            raise RivetError(f"{spec.name} has no dataset yet", hint="rivet run makes one", code="no_dataset")
        return _compared(spec, dataset, session, current, stopped, gate)
    except RivetError as error:
        return Reconciliation(export=spec.name, error=error)
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        # A bug in a source's plugin must not hide the other exports.
        return Reconciliation(export=spec.name, error=unexpected(spec.name, error))


def _compared(
    spec: ExportSpec,
    dataset: Dataset,
    session: SourceSession,
    current: Current,
    stopped: threading.Event,
    gate: PageGate | None,
) -> Reconciliation:
    if current.subject and current.subject != subject_of(spec):
        raise RivetError(
            f"{spec.name}: its dataset holds rows of another table or query than the config names",
            hint="run the export again, or put the config back",
            code="dataset_subject",
        )
    if not isinstance(session, DigestingSession):
        raise RivetError(
            f"{spec.name}: sources of this type cannot be reconciled: their plugin has no digest()",
            hint="rivet validate compares the files with their manifests; ask the plugin's authors for `digest`",
            code="no_digest",
        )
    slices = slices_of(dataset, current)
    work = Comparing(spec, dataset, session, slices, stopped, gate)
    compared = tuple(work.compare(item) for item in slices)
    now, _ = dataset.read()
    if now is None or now.generation != current.generation:
        raise RivetError(f"{spec.name}: its dataset changed meanwhile", hint="reconcile it again", code="dataset_changed")
    return Reconciliation(
        export=spec.name,
        run_id=current.run_id,
        cursor=current.cursor_after or (),
        units=compared,
        left_out=tuple(dict.fromkeys(work.left_out)),
    )


class Comparing:
    """Compares the units of one export, one after the other, resting in between as the profile says."""

    def __init__(
        self,
        spec: ExportSpec,
        dataset: Dataset,
        session: SourceSession,
        slices: Sequence[Slice],
        stopped: threading.Event,
        gate: PageGate | None,
    ) -> None:
        self._spec = spec
        self._dataset = dataset
        self._session = session
        self._stopped = stopped
        self._gate = gate
        self._retrier = Retrier(spec.tuning, Budget(len(slices), 1), stopped=stopped)
        self._explainer = Explainer(spec, dataset, session, slices, self.of_source, self.of_files)
        self.left_out: list[str] = []

    def compare(self, item: Slice) -> UnitComparison:
        """Compare one unit. Raises `StoppedError` when a stop was requested: what was cancelled must not be asked anew."""
        if self._stopped.is_set():
            raise StoppedError(f"{self._spec.name}: interrupted")
        began = time.monotonic()
        try:
            return self._compare(item)
        except IntegrityError as error:
            return UnitComparison(slice=item, result=Result.MISMATCH, detail=error.message)
        except SourceError as error:
            return UnitComparison(slice=item, result=Result.UNKNOWN, detail=f"{error.message} ({error.hint})")
        finally:
            # A digest is one page of the profile: its share of pause follows it.
            self._stopped.wait((time.monotonic() - began) * self._spec.tuning.pause_share)

    def of_source(self, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Ask the source when it may be read, again after a transient error."""
        if self._gate is not None:
            self._gate.wait()
        session = self._session
        assert isinstance(session, DigestingSession)  # noqa: S101 - looked at before

        def ask() -> UnitDigest:
            found: object = session.digest(ReadSpec.of(self._spec), unit, columns)
            if not isinstance(found, UnitDigest):
                raise plugin_failed(self._spec, f"it gave a {type(found).__name__} where a UnitDigest belongs")
            return found

        return self._retrier.run(ask)

    def of_files(self, item: Slice, columns: Sequence[str]) -> UnitDigest:
        """Add the unit's files up."""
        return digest_parts(self._dataset.store, item.manifest, item.parts, columns)

    def _compare(self, item: Slice) -> UnitComparison:
        columns, bare = covered_columns(item.manifest)
        source = self.of_source(item.unit, columns)
        columns = tuple(name for name in columns if name not in source.left_out)
        self.left_out += [*bare, *source.left_out]
        files = self.of_files(item, columns)
        found = UnitComparison(slice=item, result=Result.MATCH, files=files, source=source)
        if (source.rows, source.total) == (files.rows, files.total):
            return found
        why = self._explainer.explain(item, columns, files, source)
        if why:
            return replace(found, result=Result.CHANGED, detail=why)
        if item.manifest.fingerprint != fingerprint_of(self._spec):
            detail = "the config of the export was changed after the run: run it again, then reconcile"
            return replace(found, result=Result.UNKNOWN, detail=detail)
        rows = f"{several(source.rows, 'row')} in the source, {files.rows} in the files"
        same = "as many rows, but not the same" if source.rows == files.rows else rows
        return replace(found, result=Result.MISMATCH, detail=same)
