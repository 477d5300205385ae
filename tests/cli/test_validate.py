"""`rivet validate`: exit 5 on any difference, and one export that cannot be looked at does not hide another."""

from __future__ import annotations

import json

import pytest

from tests.cli.shop import Shop


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    assert cli("run", "-q").code == 0
    return made


@pytest.mark.parametrize("depth", ["light", "sample", "full"])
def test_what_was_written_matches(cli, shop, depth):
    said = cli("validate", "--depth", depth, "--json")
    assert said.code == 0
    assert [(item["export"], item["result"], item["rows"]) for item in said.data["exports"]] == [
        ("orders", "match", 50),
        ("customers", "match", 2),
    ]


def test_any_difference_is_exit_5(cli, shop):
    (part,) = shop.parts("orders")[:1]
    data = bytearray(part.read_bytes())
    data[50] ^= 1
    part.write_bytes(data)
    assert cli("validate").code == 0
    said = cli("validate", "--depth", "full")
    assert said.code == 5
    assert str(part) in said.out
    assert "checksum" in said.out
    assert cli("validate", "-e", "customers", "--depth", "full").code == 0
    part.unlink()
    said = cli("validate", "--json")
    assert said.code == 5
    assert said.data["exports"][0]["findings"][0]["problem"] == "is missing"


def test_a_damaged_manifest_does_not_hide_the_other_export(cli, shop):
    current = shop.root / "out/orders/_rivet/current.json"
    key = json.loads(current.read_text())["manifests"][0]["key"]
    (shop.root / "out" / key).write_text("{")
    said = cli("validate", "--json")
    assert said.code == 5
    assert [item["result"] for item in said.data["exports"]] == ["could not be looked at", "match"]


def test_an_export_that_never_ran_and_one_that_is_not_there(cli, tmp_path):
    Shop(tmp_path)
    said = cli("validate", "--json")
    assert (said.code, {item["result"] for item in said.data["exports"]}) == (0, {"no dataset yet"})
    assert cli("validate", "-e", "ordres").code == 2


def test_it_needs_no_source(cli, shop):
    (shop.root / "shop.db").unlink()
    assert cli("validate", "--depth", "full").code == 0
