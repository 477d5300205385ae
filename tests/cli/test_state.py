"""`rivet state`: what it shows, and what it changes."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from rivet_core.state import open_state
from tests.cli.shop import ORDERS, Shop

URL = "sqlite:///.rivet/state.db"


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    assert cli("run", "-q").code == 0
    return made


def rows(cli, export):
    return sum(file["rows"] for file in cli("files", export, "--json").data["files"])


def cursor(cli, export="orders"):
    found = cli("state", "show", "-e", export, "--json").data["exports"][0]["cursor"]
    return [mark["value"] for mark in found]


def test_show_progression_and_runs(cli, shop):
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]
    assert "updated_at 2024-01-01 00:00:50, id 50" in cli("state", "show").out
    assert "2024-01-01 00:00:50" in cli("state", "progression").out
    found = cli("state", "progression", "--json").data["exports"][0]
    assert [mark["value"] for mark in found["committed"]] == ["2024-01-01 00:00:50", "50"]
    assert found["verified"] == []
    cli("run", "-q")
    listed = cli("state", "runs", "-e", "orders", "--json").data["exports"]
    assert [(run["status"], run["rows"]) for run in listed[0]["runs"]] == [("succeeded", 0), ("succeeded", 50)]
    assert cli("state", "runs", "--limit", "1").out.count("succeeded") == 2


def test_looking_creates_no_state(cli, tmp_path):
    Shop(tmp_path)
    said = cli("state", "show")
    assert "never ran" in said.out
    assert not (tmp_path / ".rivet").exists()


def test_reset_reads_everything_once_more(cli, shop):
    for command in ("reset", "accept"):
        unnamed = cli("state", command)
        assert unnamed.code == 2, "an export must be named"
        assert "error: name the exports that" in unnamed.err
        assert "hint: -e NAME for each of: orders" in unnamed.err
    said = cli("state", "reset", "-e", "orders", "--json")
    assert said.data["exports"][0]["cursor_before"][0]["value"] == "2024-01-01 00:00:50"
    assert cursor(cli) == []
    assert rows(cli, "orders") == 50, "the files stay"
    assert cli("run", "-q").code == 0
    assert rows(cli, "orders") == 50, "and are replaced, not added to"


def test_no_change_under_a_run(cli, shop):
    with open_state(URL, base=shop.root) as state:
        lease = state.leases.acquire("export:orders")
        for command in (("reset", "-e", "orders"), ("accept", "-e", "orders"), ("copy", "sqlite:///b.db"), ("rebuild",)):
            said = cli("state", *command)
            assert said.code == 6, command
            assert "--lock-wait" not in said.err, "an option that only runs have"
        said = cli("run", "-e", "orders")
        assert said.code == 6
        assert "give --lock-wait SECONDS" in said.err
        state.leases.release(lease)
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]


def test_o07_accepted_columns_count_for_one_commit(cli, shop):
    shop.config({**ORDERS, "on_schema_drift": "fail"})
    shop.sql("ALTER TABLE orders ADD note TEXT; INSERT INTO orders VALUES (51, 1, '2024-01-01 00:00:51', 'x')")
    refused = cli("run")
    assert refused.code == 5
    assert "rivet state accept -e orders" in refused.err
    assert cli("state", "accept", "-e", "orders").code == 0
    assert cli("run", "-q").code == 0
    assert rows(cli, "orders") == 51
    shop.sql("ALTER TABLE orders ADD more TEXT; INSERT INTO orders VALUES (52, 1, '2024-01-01 00:00:52', 'x', 'y')")
    assert cli("run", "-q").code == 5


def test_a_copy_goes_on_where_the_original_stood(cli, shop):
    copied = cli("state", "copy", "sqlite:///other/state.db", "--json")
    assert copied.code == 0
    assert copied.data["rows"]["rivet_run"] == 2
    assert cli("state", "copy", "sqlite:///other/state.db").code == 2, "only into an empty one"
    text = (shop.root / "rivet.yaml").read_text()
    (shop.root / "rivet.yaml").write_text(text + "state: {url: 'sqlite:///other/state.db'}\n")
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]
    cli("run", "-q")
    assert rows(cli, "orders") == 50


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://u@127.0.0.1:1/db", "must be `sqlite:///PATH` or `postgresql://...`"),
        ("foo://x", "must be `sqlite:///PATH` or `postgresql://...`"),
        ("", "must be `sqlite:///PATH` or `postgresql://...`"),
        ("${env:NOBODY_SET_THIS}", "NOBODY_SET_THIS"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///new.db?mode=ro", "no parameters"),
        ("sqlite:///shop.db", "has a table customers"),
        ("sqlite:///rivet.yaml", "is the config"),
        ("sqlite:///other.txt", "cannot become a state"),
        ("sqlite:///.rivet/state.db", "is the state database"),
        ("sqlite:///.rivet/../.rivet/state.db", "is the state database"),
    ],
)
def test_a_copy_goes_into_a_state_of_its_own(cli, shop, url, said):
    (shop.root / "other.txt").write_text("no database\n" * 100)
    before = {file.name: file.read_bytes() for file in shop.root.iterdir() if file.is_file()}
    refused = cli("state", "copy", url)
    assert refused.code == 2, refused
    assert said in refused.err
    assert "hint: " in refused.err
    assert {file.name: file.read_bytes() for file in shop.root.iterdir() if file.is_file()} == before
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]


def test_a_state_that_is_not_there_is_not_copied(cli, tmp_path):
    Shop(tmp_path)
    said = cli("state", "copy", "sqlite:///new.db")
    assert said.code == 2
    assert "there is no state to copy" in said.err
    assert not (tmp_path / "new.db").exists()
    assert not (tmp_path / ".rivet").exists()


@pytest.mark.postgres
def test_a_copy_into_postgres(cli, shop, postgres, monkeypatch):
    monkeypatch.setenv("STATE_URL", postgres.url)
    said = cli("state", "copy", "${env:STATE_URL}")
    assert said.code == 0, said.err
    text = (shop.root / "rivet.yaml").read_text()
    (shop.root / "rivet.yaml").write_text(text + "state: {url: '${env:STATE_URL}'}\n")
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]
    assert cli("run", "-q").code == 0
    assert rows(cli, "orders") == 50


def test_a_lost_state_is_rebuilt_from_the_manifests(cli, shop):
    shop.sql("INSERT INTO orders VALUES (51, 1, '2024-01-01 00:00:51')")
    assert cli("run", "-q").code == 0
    runs = cli("state", "runs", "-e", "orders", "--json").data["exports"][0]["runs"]
    shutil.rmtree(shop.root / ".rivet")
    assert cursor(cli) == []
    said = cli("state", "rebuild", "--json")
    assert said.code == 0
    assert [(item["export"], item["runs"]) for item in said.data["exports"]] == [("orders", 2), ("customers", 1)]
    assert cursor(cli) == ["2024-01-01 00:00:51", "51"]
    rebuilt = cli("state", "runs", "-e", "orders", "--json").data["exports"][0]["runs"]
    assert [(run["run_id"], run["rows"]) for run in rebuilt] == [(run["run_id"], run["rows"]) for run in runs]
    shop.sql("INSERT INTO orders VALUES (52, 1, '2024-01-01 00:00:52')")
    assert cli("run", "-q").code == 0
    assert rows(cli, "orders") == 52, "only the new row was added"
    assert cli("state", "rebuild", "--json").data["exports"][0]["runs"] == 0


def test_one_damaged_manifest_does_not_stop_the_others(cli, shop):
    shutil.rmtree(shop.root / ".rivet")
    (shop.root / "out/customers/_rivet/current.json").write_text("{}")
    said = cli("state", "rebuild")
    assert said.code == 5
    assert "customers: left as it was" in said.err
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]


@pytest.mark.parametrize("command", [("show",), ("rebuild",), ("reset", "-e", "orders")])
def test_a_newer_schema_is_refused(cli, shop, command):
    with closing(sqlite3.connect(shop.root / ".rivet/state.db")) as connection:
        connection.execute("UPDATE rivet_schema SET version = 99")
        connection.commit()
    said = cli("state", *command)
    assert said.code == 2
    assert "newer Rivet" in said.err


def test_a_required_reconcile_is_due_until_it_comes_out_well(cli, shop):
    def due():
        (found,) = cli("state", "show", "-e", "orders", "--json").data["exports"]
        return found["reconcile"]["due"]

    assert not due(), "nobody asked for one"
    shop.config({**ORDERS, "reconcile_required": True})
    assert due()
    assert "reconcile due" in cli("state", "show").out
    shop.sql("UPDATE orders SET total = 0 WHERE id = 1")
    assert cli("reconcile", "-q").code == 5
    assert due()
    assert cli("repair", "--execute", "-q").code == 0
    told = [line.split()[2:] for line in cli("journal", "-e", "orders", "--limit", "3").out.splitlines()[1:]]
    assert told == [
        ["reconciled", "orders", "mismatch"],
        ["repaired", "orders", "1", "unit,", "50", "rows"],
        ["reconciled", "orders", "match"],
    ]
    assert not due()
    assert "reconcile due" not in cli("state", "show").out
    assert cli("run", "-q").code == 0
    assert due(), "each run makes it due"
    assert cli("reconcile", "-q").code == 0
    assert not due()


def spoil(shop, how):
    file = shop.root / ".rivet/state.db"
    for beside in (shop.root / ".rivet").glob("state.db-*"):
        beside.unlink()
    if how == "text":
        file.write_text("this was a database once\n" * 400)
    elif how == "half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif how == "pages":
        data = bytearray(file.read_bytes())
        data[4096:] = b"\xa5" * (len(data) - 4096)
        file.write_bytes(data)
    else:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(how)
            connection.commit()


DAMAGE = [
    "text",
    "half",
    "pages",
    "DELETE FROM rivet_schema",
    *(f"DROP TABLE {name}" for name in ("rivet_cursor", "rivet_part", "rivet_schema", "rivet_event", "rivet_lease")),
]
COMMANDS = [
    ("state", "show"),
    ("state", "rebuild"),
    ("state", "reset", "-e", "orders"),
    ("journal",),
    ("metrics",),
    ("plan",),
    ("run",),
    ("gc",),
]


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_state_is_said_with_its_cure(cli, shop, how):
    spoil(shop, how)
    for command in COMMANDS:
        said = cli(*command)
        assert said.code == 2, (command, said)
        assert "damaged" in said.err, (command, said.err)
        assert "hint: move the file that state.url names away" in said.err
        assert "rivet state rebuild" in said.err
    for file in (shop.root / ".rivet").glob("state.db*"):
        file.rename(file.with_name(f"kept-{file.name}"))
    assert cli("state", "rebuild", "-q").code == 0
    assert cursor(cli) == ["2024-01-01 00:00:50", "50"]
    assert cli("run", "-q").code == 0
    assert rows(cli, "orders") == 50


def test_a_value_that_nobody_wrote_is_damage(cli, shop):
    spoil(shop, "UPDATE rivet_cursor SET marks = '{not json'")
    for command in COMMANDS:
        said = cli(*command)
        assert said.code in (0, 2), (command, said)
        if said.code:
            assert "damaged" in said.err
            assert "rivet state rebuild" in said.err
    assert cli("state", "show").code == 2
