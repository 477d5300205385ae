"""The gates between a plan and its execution."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.errors import PlanRefused
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.running.gates import check_tiles
from rivet_core.running.task import tasks_from_plan

EXPORT = {"name": "customers", "table": "customers"}


def mark(value):
    return (Mark(column="id", type="int", value=str(value)),)


def units(*bounds):
    edges = [None, *bounds, None]
    return tuple(
        Unit(
            index=index,
            kind=UnitKind.RANGE,
            columns=("id",),
            lower=() if edges[index] is None else mark(edges[index]),
            upper=() if edges[index + 1] is None else mark(edges[index + 1]),
        )
        for index in range(len(edges) - 1)
    )


def test_pa3_an_old_plan_warns_then_is_refused(shop):
    shop.config(EXPORT)
    plan = shop.plan()
    outcome = shop.apply(plan, now=plan.as_of + timedelta(hours=2))
    assert "2 h 00 min old" in outcome.warnings[0]
    later = plan.as_of + timedelta(hours=25)
    with pytest.raises(PlanRefused, match="expired") as caught:
        shop.apply(plan, now=later)
    assert caught.value.exit_code == 4
    assert shop.apply(plan, now=later, force=True).exit_code == 0


def test_pa6_a_changed_config_only_warns(shop):
    shop.config(EXPORT)
    plan = shop.plan()
    (shop.root / "rivet.yaml").write_text((shop.root / "rivet.yaml").read_text() + "# more\n")
    outcome = shop.apply(plan)
    assert outcome.exit_code == 0
    assert "rivet.yaml was changed" in outcome.warnings[0]


def test_pa6_a_changed_table_is_refused(shop):
    shop.config(EXPORT, {"name": "orders", "table": "orders"})
    plan = shop.plan()
    shop.sql("ALTER TABLE customers ADD COLUMN email TEXT")
    outcome = shop.apply(plan)
    assert [export.status for export in outcome.exports] == ["failed", "done"]
    assert outcome.exit_code == 4
    assert "email is new" in outcome.exports[0].error["message"]


def test_pa6_the_plan_after_a_refused_one_sees_the_new_columns(shop):
    shop.config(EXPORT)
    shop.apply()
    ago = [datetime.now(UTC) - timedelta(minutes=minutes) for minutes in (5, 4, 3)]
    shop.plan(as_of=ago[0])
    shop.sql("ALTER TABLE customers ADD COLUMN email TEXT")
    cached = shop.plan(as_of=ago[1], refresh=False)
    assert cached.sources["default"].statements == 0
    refused = shop.apply(cached).exports[0]
    assert (refused.error["code"], refused.error["hint"]) == ("source_changed", "make a new one with rivet plan --refresh -o")
    assert shop.apply(shop.plan(as_of=ago[2], refresh=False)).exit_code == 0
    assert "email" in shop.table("customers").column_names


def test_pa4_force_reads_what_the_plan_says(shop):
    shop.config({"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "id"})
    plan = shop.plan()
    shop.apply()
    with pytest.raises(PlanRefused, match="cursor moved"):
        shop.apply(plan)
    outcome = shop.apply(plan, force=True)
    assert outcome.exit_code == 0
    assert "moved" in outcome.forced[0]
    assert len(shop.rows("orders")) == 300


def test_plugin_lock(shop):
    shop.config(EXPORT)
    plan = shop.plan()
    drifted = plan.model_copy(update={"plugins": tuple(lock.model_copy(update={"version": "9.9.0"}) for lock in plan.plugins)})
    with pytest.raises(PlanRefused, match=r"was 9\.9\.0"):
        shop.apply(drifted)
    assert shop.apply(drifted, allow_plugin_drift=True).exit_code == 0


@pytest.fixture
def task(shop):
    shop.config(EXPORT)
    return tasks_from_plan(shop.plan())[0]


def test_pa5_tiles_that_fit(task):
    nulls = Unit(index=3, kind=UnitKind.NULLS, columns=("id",))
    for fitting in (units(), units(5), (*units(5, 9), nulls), task.units):
        check_tiles(replace(task, units=fitting))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ((), "numbered"),
        (units(5, 9)[1:], "numbered"),
        (units(5)[:1], "above the last"),
        ((units(5)[0], replace(units(6)[1])), "ends at id 5"),
        ((units(5)[0], replace(units(5)[1], lower_inclusive=True)), "both"),
        ((replace(units(5)[0], upper_inclusive=False), units(5)[1]), "neither"),
        ((Unit(index=0, kind=UnitKind.WHOLE), Unit(index=1, kind=UnitKind.WHOLE)), "two of them"),
        ((Unit(index=0, kind=UnitKind.WHOLE), replace(units()[0], index=1)), "mix"),
        ((Unit(index=0, kind=UnitKind.NULLS), Unit(index=1, kind=UnitKind.NULLS)), "without a key"),
    ],
)
def test_pa5_tiles_that_do_not(task, broken, why):
    with pytest.raises(PlanRefused, match=why):
        check_tiles(replace(task, units=broken))


def test_pa9_an_inline_credential_is_read_from_the_unchanged_config(shop):
    from rivet_core.artifact.model import ConfigRef
    from rivet_core.running.credentials import with_secrets

    text = "sources:\n  shop: {url: 'postgres://u:p@h/d'}\ndestination: {type: s3, token: '0123'}\n"
    path = shop.root / "secret.yaml"
    path.write_text(text)
    import hashlib

    config = ConfigRef(path=str(path), sha256=hashlib.sha256(text.encode()).hexdigest())
    place = {"url": {"config": str(path), "key": "sources.shop.url"}, "plain": 1}
    assert with_secrets(place, config) == {"url": "postgres://u:p@h/d", "plain": 1}
    assert with_secrets({"token": {"config": str(path), "key": "exports.a.b.destination.token"}}, config) == {"token": "0123"}
    path.write_text(text + "# changed\n")
    with pytest.raises(PlanRefused, match="changed") as caught:
        with_secrets(place, config)
    assert "url_env" in caught.value.hint
    assert "u:p" not in caught.value.message


def test_a_query_that_is_named_like_a_table_is_not_taken_for_it(shop):
    shop.config({"name": "orders", "query": "SELECT id AS other FROM customers"}, {"name": "b", "table": "orders"})
    plan = shop.plan()
    assert [export.status for export in plan.exports] == ["planned", "planned"]
    assert [export.status for export in shop.apply(plan).exports] == ["done", "done"]
    assert shop.table("orders").schema.names == ["other"]
    assert shop.table("b").schema.names == ["id", "total", "updated_at"]
