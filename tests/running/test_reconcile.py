"""What a reconcile says of sources and datasets that are not as it needs them."""

from __future__ import annotations

import errno
import io
import json
import threading
from dataclasses import replace

import pytest

from rivet_core.errors import EXIT_INTEGRITY, EXIT_INTERNAL, DestinationError, SourceError
from rivet_core.facts import UnitDigest
from rivet_core.running.comparison import Result
from rivet_core.running.layout import layout_of
from rivet_core.running.publish import Dataset
from rivet_core.running.reconcile import reconcile
from rivet_core.running.repair import repair
from rivet_core.running.stop import Stop
from rivet_core.sql.canonical import MODULUS, hash_of
from rivet_core.stores import open_store

CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}


@pytest.fixture
def opened(shop):
    """The export's spec, its dataset and an open source, after one run."""
    from rivet_core.config import load_config

    shop.config(CHUNKED)
    assert shop.apply().exit_code == 0
    config = load_config(shop.root / "rivet.yaml")
    (spec,) = config.exports
    options, layout = layout_of(spec)
    store = open_store(shop.registry.open_destination("local", options, base=shop.root))
    session = shop.registry.open_source("sqlite", config.sources[spec.source].options, base=shop.root)
    yield spec, Dataset(store, layout), session
    session.close()


class Without:
    """A source of another author: it reads, and has no `digest`."""

    def __init__(self, session):
        self.read, self.inspect = session.read, session.inspect


class Broken(Without):
    def digest(self, spec, unit, columns):
        raise ZeroDivisionError("postgresql://user:secret@host")


def said(opened, session=None):
    spec, dataset, good = opened
    return reconcile(spec, dataset, session or good, threading.Event())


def test_a_source_without_digests_is_unknown_with_a_hint(opened):
    report = said(opened, Without(opened[2]))
    assert (report.result, report.exit_code) == (Result.UNKNOWN, 1)
    assert report.error.code == "no_digest"
    assert "rivet validate" in report.error.hint


def test_a_source_whose_digest_raises_is_a_bug_and_shows_no_secret(opened):
    report = said(opened, Broken(opened[2]))
    assert (report.result, report.exit_code) == (Result.UNKNOWN, EXIT_INTERNAL)
    assert "secret" not in json.dumps(report.as_dict())


def test_a_manifest_of_an_older_version_is_unknown(opened, shop):
    current = json.loads((shop.root / "out/orders/_rivet/current.json").read_text())
    path = shop.root / "out" / current["manifests"][0]["key"]
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in manifest.items() if key != "units"}))
    report = said(opened)
    assert (report.result, report.error.code) == (Result.UNKNOWN, "manifest_units")
    path.write_text("{")
    assert said(opened).exit_code == EXIT_INTEGRITY


def test_a_unit_that_held_no_row_is_compared_too(opened, shop):
    plan = shop.plan()
    shop.sql("DELETE FROM orders WHERE id BETWEEN 101 AND 200")
    assert shop.apply(plan).exit_code == 0
    assert said(opened).result is Result.MATCH
    shop.sql("INSERT INTO orders VALUES (150, 1, NULL)")
    (bad,) = said(opened).bad
    assert (bad.slice.unit.index, bad.slice.parts, bad.source.rows) == (1, (), 1)


def test_a_dataset_that_is_replaced_meanwhile_is_unknown(opened, shop):
    class Slow(Without):
        def digest(self, spec, unit, columns):
            if unit.index == 2:
                assert shop.apply().exit_code == 0
            return opened[2].digest(spec, unit, columns)

    report = said(opened, Slow(opened[2]))
    assert (report.result, report.error.code) == (Result.UNKNOWN, "dataset_changed")


def test_a_file_with_a_damaged_footer_is_a_mismatch_that_a_repair_can_mend(opened, shop):
    path = next((shop.root / "out/orders").rglob("*.parquet"))
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[: -8 - length] + bytes(255 - byte for byte in data[-8 - length : -8]) + data[-8:])
    (bad,) = said(opened).bad
    assert "cannot be read" in bad.detail


def test_a_file_that_nobody_lets_read_is_unknown_and_no_bug(opened):
    spec, dataset, session = opened

    class Denied(type(dataset.store)):
        def open(self, key):
            return NotReadable()

    class NotReadable(io.BytesIO):
        def read(self, *size):
            raise PermissionError(errno.EACCES, "Permission denied")

        def seek(self, *place):
            raise PermissionError(errno.EACCES, "Permission denied")

    report = said((spec, Dataset(Denied(dataset.store.target), dataset.layout), session))
    assert (report.result, report.exit_code) == (Result.UNKNOWN, 1)
    assert "ermission denied" in report.error.message


def test_rows_are_counted_where_no_column_can_be_compared(opened):
    class CountsOnly(Without):
        def digest(self, spec, unit, columns):
            found = opened[2].digest(spec, unit, columns)
            return UnitDigest(rows=found.rows, total=found.rows * hash_of(b"") % MODULUS, left_out=tuple(columns))

    report = said(opened, CountsOnly(opened[2]))
    assert (report.result, report.bad) == (Result.PARTIAL, ())
    assert report.rows > 0


def test_a_row_of_a_broken_csv_file_is_not_quoted(opened, shop):
    shop.config({**CHUNKED, "format": "csv"})
    assert shop.apply().exit_code == 0
    path = next(path for path in (shop.root / "out/orders").rglob("*.csv"))
    path.write_text(path.read_text() + "private,words,that,nobody,should,see,in,a,log\n")
    (bad,) = said(opened).bad
    assert "cannot be read" in bad.detail
    assert "private" not in bad.detail


def test_after_a_stop_no_further_unit_is_asked_for(opened):
    spec, dataset, session = opened
    stopped = threading.Event()
    asked = []

    class Cancelled(Without):
        def digest(self, spec, unit, columns):
            asked.append(unit.index)
            stopped.set()
            raise SourceError("the read was cancelled", hint="run again", error_class="other")

    report = reconcile(spec, dataset, Cancelled(session), stopped)
    assert asked == [0]
    assert (report.result, report.run_id, report.bad) == (Result.UNKNOWN, "", ())


def test_a_repair_that_cannot_sweep_is_done_all_the_same(opened, shop):
    spec, dataset, session = opened

    class Stuck(type(dataset.store)):
        def delete(self, keys):
            raise DestinationError("cannot delete", hint="try again")

    path = next((shop.root / "out/orders").rglob("*.parquet"))
    path.unlink()
    report = said(opened)
    done = repair(
        spec,
        Dataset(Stuck(dataset.store.target), dataset.layout),
        session,
        report,
        Stop(),
        mine=lambda: None,
    )
    assert (len(report.bad), done.units) == (1, 1)
    assert said(opened).result is Result.MATCH


def test_a_column_that_is_gone_is_unknown_and_a_new_one_is_none_of_its_business(opened, shop):
    shop.sql("ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'new'")
    assert said(opened).result is Result.MATCH
    shop.sql("ALTER TABLE orders DROP COLUMN total")
    report = said(opened)
    assert report.result is Result.UNKNOWN
    assert "total" in report.error.message


def test_other_columns_of_a_config_are_no_repair(opened):
    from rivet_core.errors import RivetError
    from rivet_core.running.repair import check_repairable

    spec, _, _ = opened
    report = said(opened)
    check_repairable(spec, report)
    bad = replace(report, units=tuple(replace(unit, result=Result.MISMATCH) for unit in report.units))
    for other in (replace(spec, snapshot="consistent"), replace(spec, format="csv")):
        with pytest.raises(RivetError) as caught:
            check_repairable(other, bad)
        assert "run the export again" in caught.value.hint
