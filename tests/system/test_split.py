"""`rivet plan --split`, then `rivet apply`, on PostgreSQL and MariaDB: the caps hold, resume reads what is missing, the history
does not take a split export for a quick one.
"""

from __future__ import annotations

import json
import re
import signal
import time
from bisect import bisect
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rivet_core.artifact import read_plan
from tests.system.campaigns import Campaign, dataset, parts, wait_for
from tests.system.sampler import LASTING
from tests.system.test_signals import ENGINES, Shop

ROWS, UNITS, CAP = 16_000, 8, 3
ORDERS = {"name": "orders", "mode": "chunked", "chunk_size": ROWS // UNITS}


@pytest.fixture(params=sorted(ENGINES))
def giant(request: pytest.FixtureRequest, rivet: Any, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """One large table and a small one that waits for it."""
    engine = ENGINES[request.param]
    database = request.getfixturevalue(engine.kind)
    text = "text" if engine.kind == "postgres" else "longtext"
    database.execute(f"CREATE TABLE orders (id bigint PRIMARY KEY, note {text})")
    numbers = f"generate_series(1, {ROWS}) s(n)" if engine.kind == "postgres" else f"(SELECT seq n FROM seq_1_to_{ROWS}) s"
    wide = "repeat(md5(n::text), 64)" if engine.kind == "postgres" else "repeat(md5(n), 64)"
    database.execute(f"INSERT INTO orders SELECT n, {wide} FROM {numbers}")
    database.execute("CREATE TABLE small (id bigint PRIMARY KEY)")
    database.execute("INSERT INTO small VALUES (1)")
    if engine.kind == "postgres":
        database.execute("ALTER TABLE orders ALTER note SET STORAGE EXTERNAL")
        database.execute("VACUUM FULL orders")
    database.execute("ANALYZE orders" if engine.kind == "postgres" else "ANALYZE TABLE orders")
    campaign = Campaign(rivet, database.url, monkeypatch)
    return Shop(engine, database, campaign)


def configure(shop: Shop, throttle_ms: int = 0) -> None:
    shop.campaign.config(
        {**ORDERS, "table": "orders", "tuning": {"throttle_ms": throttle_ms}},
        {"name": "small", "table": "small", "depends_on": ["orders"]},
        source={"type": shop.engine.kind, "url_env": "SHOP_URL", "source_group": "g"},
        source_groups={"g": {"max_connections": CAP}},
        planning={"workers": 4},
    )


def planned(shop: Shop) -> dict[str, Any]:
    shop.campaign.project.run("plan", "--split", "-o", "plan.json").assert_done()
    return dict(json.loads((shop.campaign.project.path / "plan.json").read_bytes()))


def export(plan: dict[str, Any], name: str = "orders") -> dict[str, Any]:
    return next(one for one in plan["exports"] if one["name"] == name)


def test_the_units_are_entries_of_plan_simulate_and_run(giant: Shop) -> None:
    configure(giant, throttle_ms=100)
    plan = planned(giant)
    assert export(plan)["split_in"] == CAP
    assert "split_in" not in export(plan, "small")
    simulated = giant.campaign.project.run("simulate", "plan.json", "--json").json()
    assert sorted(run["name"] for run in simulated["schedule"]) == ["orders/1", "orders/2", "orders/3", "small"]
    assert simulated["makespan_seconds"] == pytest.approx(plan["campaign"]["predicted"]["makespan_seconds"], abs=0.001)
    assert simulated["violations"] == 0
    last, most = deque([0] * LASTING, maxlen=LASTING), 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(giant.campaign.project.run, "apply", "plan.json", "--events")
        while not running.done():
            last.append(giant.sessions())
            most = max(most, min(last))  # a server shows a session until its process has ended
            time.sleep(0.005)
    assert 1 <= most <= CAP
    output = running.result().assert_done().stdout
    events = [json.loads(line) for line in output.splitlines()]
    assert Counter(event["event"] for event in events if event["event"].startswith("share_")) == {
        "share_started": CAP,
        "share_finished": CAP,
    }
    finished = [event["export"] for event in events if event["event"] == "export_finished"]
    assert finished == ["orders", "small"]
    table = dataset(giant.campaign, "orders")
    assert sorted(table.column("id").to_pylist()) == list(range(1, ROWS + 1))
    assert len(parts(giant.campaign.project.path)) == len(export(plan)["units"])


def test_the_next_plan_knows_that_it_is_no_quicker_by_itself(giant: Shop) -> None:
    """Otherwise every other plan would leave it whole."""
    configure(giant, throttle_ms=100)
    for _ in range(2):
        plan = planned(giant)
        assert export(plan)["split_in"] == CAP
        giant.campaign.project.run("apply", "plan.json").assert_done()
    measured = export(planned(giant))["predicted_seconds"]
    assert measured["basis"] == "measured"
    least = 0.1 * len(export(plan)["units"])
    assert measured["p50"] > least
    runs = giant.campaign.project.run("metrics", "--json").json()
    assert min(run["seconds"] for run in runs["runs"] if run["export"] == "orders") > least


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_whatever_ends_it_resume_reads_only_what_is_missing(giant: Shop, number: signal.Signals, code: int) -> None:
    campaign, engine = giant.campaign, giant.engine
    configure(giant, throttle_ms=400)
    found = export(planned(giant))
    assert found["split_in"] == CAP
    lower = [int(unit["lower"][0]["value"]) if unit["lower"] else 0 for unit in found["units"]]
    process = campaign.project.start("apply", "plan.json", "--events")
    wait_for(process, "unit_done", times=2)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    done = parts(campaign.project.path)
    assert 2 <= len(done) < len(lower)
    assert not list(campaign.project.path.rglob("current.json"))
    log = giant.database.log.mark()
    plan = read_plan(campaign.project.path / "plan.json")
    orders, small = campaign.apply(plan, resume=True).exports
    assert (orders.status, orders.rows, small.status) == ("done", ROWS, "done")
    # kill -9 may come after a file was published and before its unit was recorded (I5), in each entry that runs.
    unrecorded = len(done) - orders.resumed_units
    assert 0 <= unrecorded <= (CAP if number == signal.SIGKILL else 0)
    asked = {bisect(lower, above(sql)) - 1 for sql in log.statements() if engine.reads(sql) and "note" in sql}
    missing = {unit for unit in range(len(lower)) if not any(f"part-{unit:05d}-" in name for name in done)}
    assert asked >= missing
    assert len(asked) == len(missing) + unrecorded
    after = parts(campaign.project.path)
    assert {name: after[name] for name in done} == done
    assert sorted(dataset(campaign, "orders").column("id").to_pylist()) == list(range(1, ROWS + 1))


def above(sql: str) -> int:
    """The lower bound of a page."""
    found = re.search(r"\bid[`\"] > '?(\d+)", sql)
    return 0 if found is None else int(found[1])
