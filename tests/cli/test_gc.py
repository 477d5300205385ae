"""`rivet gc`: a listing by default, deleting when asked, and nothing of a run that somebody needs (O08, O09, M15)."""

from __future__ import annotations

import pytest

from rivet_core.state import open_state
from tests.cli.shop import CUSTOMERS, ORDERS, Shop


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    for _ in range(3):
        assert cli("run", "-q").code == 0
    return made


def test_a_listing_deletes_nothing(cli, shop):
    before = shop.parts("customers")
    state = (shop.root / ".rivet/state.db").read_bytes()
    said = cli("gc")
    assert said.code == 0
    listed = said.out.split()
    assert len([line for line in listed if "part-" in line]) == 2
    assert all("/out/customers/run=" in line for line in listed), "a chain is never old"
    assert shop.parts("customers") == before
    assert (shop.root / ".rivet/state.db").read_bytes() == state
    assert "--execute" in said.err


def test_o09_what_is_deleted_was_no_part_of_the_dataset(cli, shop):
    files = cli("files", "customers", "--json").data
    said = cli("gc", "--execute", "--json")
    assert said.code == 0
    assert cli("files", "customers", "--json").data == files
    assert [str(part) for part in shop.parts("customers")] == [file["path"] for file in files["files"]]
    assert cli("validate", "--depth", "full").code == 0
    assert cli("gc", "--json").data["exports"][1]["files"] == []


def test_o08_the_neighbour_stays(cli, shop):
    neighbour = shop.root / "out/customers_archive/run=20200101T000000000000-0123abcd/part-00000-000.parquet"
    neighbour.parent.mkdir(parents=True)
    neighbour.write_bytes(b"mine")
    own = shop.root / "out/customers/notes.txt"
    own.write_bytes(b"mine too")
    assert cli("gc", "--execute").code == 0
    assert neighbour.read_bytes() == b"mine"
    assert own.exists()


def test_m15_an_export_under_way_is_skipped_and_the_others_are_not(cli, shop):
    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        lease = state.leases.acquire("export:orders")
        said = cli("gc", "--execute")
        state.leases.release(lease)
    assert said.code == 6
    assert "orders: skipped, nothing was deleted" in said.err
    assert "/out/customers/run=" in said.out


def test_m15_a_failed_export_loses_nothing(cli, shop):
    shop.config({**CUSTOMERS, "quality": {"row_count_min": 100}}, ORDERS)
    before = cli("files", "customers", "--json").data
    assert cli("run", "-q").code != 0
    assert cli("gc", "--execute").code == 0
    assert cli("files", "customers", "--json").data == before
    assert cli("validate", "--depth", "full").code == 0
