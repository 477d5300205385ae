"""Catalog snapshots: facts survive the round trip, two of them give rates, and none is ever more than a cache."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from planning_facts import NOW, ago, codes, facts, judge, points, random_facts, reason_of, run, table

from rivet_core.artifact import Plan
from rivet_core.config import check_plugin_keys, load_config
from rivet_core.facts import CatalogFacts, InspectItem, Json, Mark, Mode, Role, ServerFacts
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.planning.snapshots import Kept, earlier, identity_of, read_snapshots, slot_for, snapshot_data
from rivet_core.plugins import load_plugins
from rivet_core.state import Snapshot, open_state, read_state

CONFIG = """
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
exports:
  - {name: orders, table: orders, mode: incremental, cursor_column: id}
  - {name: items, table: items}
"""
AS_OF = datetime(2026, 11, 29, 12, tzinfo=UTC)


def kept_of(data: dict[str, Json], at: datetime = AS_OF) -> Kept:
    through_json = json.loads(json.dumps(data))
    return read_snapshots([Snapshot(source="s", observed_at=at, data=through_json)])[0]


@pytest.mark.parametrize("seed", range(40))
def test_facts_survive_the_round_trip(seed: int) -> None:
    made = random_facts(random.Random(seed))
    item = InspectItem(name="orders", table="orders", columns=("id",))
    catalog = CatalogFacts(server=made.server, tables={"orders": made.table}, statements=10)
    kept = kept_of(snapshot_data(catalog, [item], "who", NOW))
    assert kept.server == made.server
    assert kept.table("orders") == made.table
    assert kept.reusable([item]) == ({} if made.table.problem else {"orders": made.table})
    assert kept.reusable([replace(item, columns=("other",))]) == {}


def test_a_damaged_or_foreign_snapshot_is_as_good_as_none() -> None:
    good = snapshot_data(CatalogFacts(server=ServerFacts(engine="x"), tables={"t": table()}, statements=1), [], "who", NOW)
    for bad in ({}, good | {"format": 99}, good | {"seen_at": "soon"}, good | {"server": {"no_such_field": 1}}):
        assert read_snapshots([Snapshot(source="s", observed_at=NOW, data=bad)]) == ()
    broken = kept_of(good | {"tables": {"t": {"kind": "spaceship"}}})
    assert broken.table("t") is None


def test_identity_tells_sources_apart_and_holds_no_password() -> None:
    url = {"url": "postgresql://u:one@h/db"}
    assert identity_of("postgres", url) == identity_of("postgres", {"url": "postgresql://u:two@h/db"})
    assert identity_of("postgres", url) != identity_of("postgres", {"url": "postgresql://u:one@other/db"})
    assert identity_of("postgres", url) != identity_of("postgres", {"url": "postgresql://v:one@h/db"})


def snapshot_at(moment: datetime, identity: str = "who") -> Kept:
    server = ServerFacts(engine="x")
    return kept_of(snapshot_data(CatalogFacts(server=server, tables={}, statements=1), [], identity, moment), moment)


def test_the_snapshot_for_rates_is_from_before_the_last_run_and_an_hour_old() -> None:
    young, middle, old = (snapshot_at(NOW - timedelta(hours=hours)) for hours in (0.2, 2, 30))
    kept = (young, middle, old)
    assert earlier(kept, "who", NOW, NOW - timedelta(hours=3)) is old
    assert earlier(kept, "who", NOW, NOW - timedelta(hours=1)) is middle
    assert earlier(kept, "who", NOW, None) is middle
    assert earlier((young,), "who", NOW, NOW) is young
    assert earlier(kept, "someone else", NOW, None) is None
    assert earlier(kept, "who", young.seen_at, NOW) is middle  # the one in use is not its own past


def test_planning_every_few_minutes_does_not_wash_the_baseline_away() -> None:
    """The store keeps two: the older one stays for a day, however many plans are made meanwhile."""
    kept: tuple[Kept, ...] = ()
    for minutes in range(0, 23 * 60, 11):
        moment = NOW + timedelta(minutes=minutes)
        slot = slot_for(kept, moment)
        made = replace(snapshot_at(moment), slot=slot)
        kept = (made, *[one for one in kept if one.slot != slot])[:2]
    assert kept[-1].seen_at == NOW
    assert slot_for(kept, NOW + timedelta(hours=25)) == NOW + timedelta(hours=25)


# --- what two snapshots say ---------------------------------------------------------------------------------------------

START = ago(days=30)
BY_ID = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}


def counted(**counters: int) -> dict[str, object]:
    return {"counters_since": START, "inserts": 0, "updates": 0, "deletes": 0} | counters


def test_two_snapshots_give_updates_per_day() -> None:
    before, now = table(**counted(updates=10_000_000)), table(**counted(updates=11_000_000))
    since_start = judge(facts(now))
    measured = judge(facts(now, previous=before, previous_at=ago(hours=12)))
    assert reason_of(measured, "RV401").evidence[0].value == 2_000_000
    assert reason_of(since_start, "RV401").evidence[0].value == 366_666


def test_counters_that_were_reset_give_no_rate_from_two_snapshots() -> None:
    before = table(**counted(updates=10_000_000))
    reset = table(**counted(updates=11_000_000) | {"counters_since": ago(hours=2)})
    back = table(**counted(updates=9_000_000))
    for now, daily in ((reset, 132_000_000), (back, 300_000)):
        judgement = judge(facts(now, previous=before, previous_at=ago(hours=12)))
        assert reason_of(judgement, "RV401").evidence[0].value == daily


def test_deletes_are_told_with_how_many_are_new() -> None:
    now = table(**counted(deletes=50))
    two = judge(facts(now, spec=BY_ID, previous=table(**counted(deletes=20)), previous_at=ago(hours=12)))
    one = judge(facts(now, spec=BY_ID))
    assert "30 of them since" in reason_of(two, "RV402").message
    assert "since" not in reason_of(one, "RV402").message
    assert points(two)["RV402"] == points(one)["RV402"] == 15


def test_unchanged_needs_a_snapshot_from_before_the_run_began() -> None:
    """Writes while the run was reading may be missing in it: a snapshot from its middle proves nothing."""
    same = table(**counted(inserts=5))
    history = (replace(run(days=1.0), started_at=ago(days=1), finished_at=ago(hours=22)),)
    about = {"history": history, "last_success": ago(hours=22), "previous": same}
    assert "RV502" in codes(judge(facts(same, previous_at=ago(hours=25), **about)))
    assert "RV502" not in codes(judge(facts(same, previous_at=ago(hours=23), **about)))
    assert "RV502" not in codes(judge(facts(same, previous_at=ago(hours=25), server={"role": Role.STANDBY}, **about)))


# --- in whole plans -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path)


def make_shop(folder: Path, *, state: bool = True) -> Path:
    with sqlite3.connect(folder / "shop.db") as connection:
        for name in ("orders", "items"):
            connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, note TEXT)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(n, f"{name} {n}") for n in range(100)])
    connection.close()
    (folder / "rivet.yaml").write_text(CONFIG)
    if state:
        with open_state("sqlite:///.rivet/state.db", base=folder) as store:
            store.set_cursor("orders", (Mark(column="id", type="INTEGER", value="50"),))
    return folder


def planned(folder: Path, *, minutes: float = 0, **choices: object) -> Plan:
    config = load_config(folder / "rivet.yaml")
    registry = load_plugins(environ={})
    check_plugin_keys(config, registry)
    as_of = AS_OF + timedelta(minutes=minutes)
    return build_plan(config, registry, PlanRequest(as_of=as_of, **choices))  # type: ignore[arg-type]


def snapshots(folder: Path) -> tuple[Snapshot, ...]:
    with read_state("sqlite:///.rivet/state.db", base=folder) as store:
        return store.snapshots("default")


def rows_seen(plan: Plan) -> int | None:
    items = plan.export("items")
    assert items is not None
    assert items.estimated is not None
    return items.estimated.rows


def grow(folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.executemany("INSERT INTO items VALUES (?, ?)", [(n, "new") for n in range(1000, 1900)])
    connection.close()


def test_a_fresh_snapshot_stands_in_for_asking_and_the_plan_says_so(shop: Path) -> None:
    first = planned(shop, refresh=False)
    assert first.sources["default"].statements > 0
    grow(shop)
    again = planned(shop, minutes=5, refresh=False)
    assert again.sources["default"].statements == 0
    assert again.sources["default"].observed_at is not None
    assert AS_OF <= again.sources["default"].observed_at < AS_OF + timedelta(minutes=1)
    assert rows_seen(again) == rows_seen(first) == 100
    asked = planned(shop, minutes=5, refresh=True)
    assert asked.sources["default"].statements > 0
    assert rows_seen(asked) == 1000
    assert rows_seen(planned(shop, minutes=16, refresh=False)) == 1000


def test_units_are_asked_of_the_source_whatever_the_snapshot_says(shop: Path) -> None:
    planned(shop)
    with sqlite3.connect(shop / "shop.db") as connection:
        connection.execute("DROP TABLE items")
    connection.close()
    items = planned(shop, minutes=1, refresh=False).export("items")
    assert items is not None
    assert items.status == "unplannable"


def test_an_export_that_is_new_in_the_config_is_asked_for(shop: Path) -> None:
    planned(shop)
    with sqlite3.connect(shop / "shop.db") as connection:
        connection.execute("CREATE TABLE views (id INTEGER PRIMARY KEY)")
    connection.close()
    (shop / "rivet.yaml").write_text(CONFIG + "  - {name: views, table: views}\n")
    plan = planned(shop, minutes=1, refresh=False)
    assert plan.sources["default"].statements > 0
    assert {export.status for export in plan.exports} == {"planned"}


def test_two_snapshots_are_kept_and_a_partial_plan_keeps_none(shop: Path) -> None:
    planned(shop, exports=("items",))
    assert snapshots(shop) == ()
    for minutes in (0, 20, 40):
        planned(shop, minutes=minutes)
    assert len(snapshots(shop)) == 2


def test_planning_never_creates_a_state(tmp_path: Path) -> None:
    shop = make_shop(tmp_path, state=False)
    before = sorted(path.name for path in shop.rglob("*"))
    planned(shop)
    assert sorted(path.name for path in shop.rglob("*")) == before
    (shop / ".rivet").mkdir()
    (shop / ".rivet" / "state.db").touch()
    planned(shop)
    assert (shop / ".rivet" / "state.db").read_bytes() == b""


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A campaign with a state in a directory that the planning process may read and not write."""
    with tempfile.TemporaryDirectory(prefix="rivet-test-") as name:
        folder = make_shop(Path(name))
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield folder
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_planning_works_in_a_read_only_directory(read_only: Path) -> None:
    def picture() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in read_only.rglob("*") if path.is_file()}

    before = picture()
    load_config(read_only / "rivet.yaml")
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            if os.geteuid() == 0:  # root may write anywhere
                os.setgid(65534)
                os.setuid(65534)
            plan = planned(read_only)
            verdict = 0 if {export.status for export in plan.exports} == {"planned"} else 2
        finally:
            os._exit(verdict)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert picture() == before
