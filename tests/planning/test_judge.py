"""What a judgement must say of the examples that users brought, and how it bears rules that misbehave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from planning_facts import (
    CORE_RULES,
    GIB,
    NOW,
    Owned,
    ago,
    bytes_of,
    codes,
    facts,
    judge,
    plugin_reason,
    points,
    reason_of,
    rows_of,
    rule,
    run,
    settings,
    table,
    with_cursor,
)

from rivet_core.errors import ConfigError, PluginError
from rivet_core.facts import (
    Basis,
    DeltaFacts,
    Dimension,
    Evidence,
    ExportFacts,
    Mark,
    Mode,
    Reason,
    ReasonKind,
    RelationKind,
    Role,
    Unit,
    UnitKind,
    ValueSpec,
)
from rivet_core.planning.judge import RuleClock, judge_export
from rivet_core.planning.ranges import range_is_indexed


def delta_of(rows: int | None = None, size: int | None = None) -> DeltaFacts:
    def evidence(signal: str, value: int | None, unit: str) -> Evidence | None:
        if value is None:
            return None
        return Evidence(
            signal=signal, value=value, unit=unit, source="rate", observed_at=ago(days=1), quality=80, basis=Basis.HISTORY
        )

    return DeltaFacts(rows=evidence("delta_rows", rows, "rows"), bytes=evidence("delta_bytes", size, "B"))


# --- examples from the field ------------------------------------------------------------------------------------------


def test_few_rows_with_many_bytes_are_not_small_and_cost_their_bytes() -> None:
    judgement = judge(facts(table(rows=(rows_of(600),), bytes=(bytes_of(115_000_000),))))
    assert "RV110" not in codes(judgement)
    assert judgement.work_bytes == 115_000_000
    assert reason_of(judgement, "RV102").points == 9


def test_a_query_is_costed_by_what_it_scans() -> None:
    scanned = bytes_of(50_000_000 * 200, source="EXPLAIN", signal="scan_bytes", changes=None)
    query = table(kind=RelationKind.QUERY, rows=(rows_of(10),), bytes=(), scan_bytes=scanned, indexes=(), columns=())
    judgement = judge(facts(query, spec={"table": None, "query": "select 1"}))
    assert judgement.work_bytes == 50_000_000 * 200
    assert reason_of(judgement, "RV107").points == judgement.scores.cost == 45


def test_a_window_of_a_huge_table_is_costed_by_its_delta_with_the_table_beside_it() -> None:
    huge = table(bytes=(bytes_of(3000 * GIB),), rows=(rows_of(20_000_000_000),))
    spec = {"mode": Mode.TIME_WINDOW, "time_column": "updated_at", "days_window": 3}
    judgement = judge(facts(huge, spec=spec, delta=delta_of(420_000, 120 << 20)))
    base = reason_of(judgement, "RV105")
    assert judgement.work_bytes == 120 << 20
    assert base.points == judgement.scores.cost == 9
    assert base.message == "About 120.0 MiB (420,000 rows) expected in this read; the table itself holds 2.9 TiB."
    assert {one.signal for one in base.evidence} == {"delta_bytes", "delta_rows", "table_bytes"}
    assert (judgement.estimated_bytes, judgement.delta_bytes) == (3000 * GIB, 120 << 20)
    assert not judgement.heavy


def test_one_row_more_is_no_cliff() -> None:
    for known in ({}, {"bytes": ()}):
        costs = [judge(facts(table(rows=(rows_of(rows),), **known))).scores.cost for rows in (99_999, 100_000)]
        assert abs(costs[0] - costs[1]) <= 2


def test_a_failure_two_years_ago_weighs_nothing() -> None:
    old = judge(facts(history=(run(days=730, status="failed"),)))
    assert "RV603" not in codes(old)
    assert old.scores.risk == 10
    assert points(judge(facts(history=(run(days=0.01, status="failed"),))))["RV603"] == 14


def test_killed_and_running_rows_enter_no_average() -> None:
    good = tuple(run(days=day, seconds=100.0) for day in (1, 2, 3))
    noise = (run(days=0.5, status="killed", seconds=90_000.0), run(days=0.1, status="running", seconds=80_000.0))
    clean, noisy = judge(facts(history=good)), judge(facts(history=(*good, *noise)))
    assert clean.work_bytes == noisy.work_bytes == 1000 << 20
    assert clean.scores == noisy.scores


def test_runs_of_another_mode_or_query_are_not_this_exports_history() -> None:
    strangers = [run(days=day, seconds=9000.0, mode="incremental") for day in (1, 2, 3)]
    strangers += [run(days=day + 0.5, seconds=9000.0, fingerprint="other") for day in (1, 2, 3)]
    assert "RV102" in codes(judge(facts(history=tuple(strangers))))


def test_the_hierarchy_is_by_kind_and_never_by_value() -> None:
    runs = tuple(run(days=day, seconds=1.0) for day in (1, 2, 3))
    assert "RV101" in codes(judge(facts(history=runs)))
    assert "RV102" in codes(judge(facts(history=runs[:2])))
    assert "RV103" in codes(judge(facts(table(bytes=()))))
    assert "RV801" in codes(judge(facts(table(bytes=(), rows=()))))


def test_run_times_are_scaled_to_todays_size() -> None:
    runs = tuple(run(days=day, seconds=100.0, table_bytes=GIB) for day in (1, 2, 3))
    grown = judge(facts(table(bytes=(bytes_of(2 * GIB),)), history=runs))
    assert grown.work_bytes == 2000 << 20


def test_an_unknown_size_is_fairly_large_and_heavy() -> None:
    judgement = judge(facts(table(bytes=(), rows=(), grants=("GRANT SELECT ON shop.orders TO reader",))))
    base = reason_of(judgement, "RV801")
    assert (base.points, judgement.confidence.cost, judgement.heavy, judgement.basis) == (55, 20, True, "unknown")
    assert (base.remedy, base.potential) == ("GRANT SELECT ON shop.orders TO reader", 55)


@pytest.mark.parametrize("basis", [Basis.STATISTICS, Basis.CATALOG])
def test_a_zero_in_the_catalog_is_unknown_and_never_empty(basis: Basis) -> None:
    zero = table(bytes=(bytes_of(0, basis=basis),), rows=(rows_of(0, basis=basis),))
    assert "RV801" in codes(judge(facts(zero)))


def test_a_measured_zero_is_an_empty_table() -> None:
    empty = table(bytes=(bytes_of(0, basis=Basis.LIVE, changes=None),), rows=(rows_of(0, basis=Basis.LIVE, changes=None),))
    assert judge(facts(empty)).work_bytes == 0


def test_s02_counters_of_a_standby_that_read_zero_change_nothing() -> None:
    """S02: activity counters are local to each server."""
    here = table(inserts=0, updates=0, deletes=0, dead_rows=0)
    before = replace(here)
    judgement = judge(
        facts(here, server={"role": Role.STANDBY}, previous=before, previous_at=ago(days=2), last_success=ago(days=1))
    )
    assert "RV502" not in codes(judgement)
    assert "RV805" in codes(judgement)
    assert judgement.work_bytes == GIB


def test_s03_a_coarse_catalog_figure_gives_way_to_the_measured_one() -> None:
    """S03, M14: one figure feeds every number, and the plan says which."""
    here = table(bytes=(), rows=(rows_of(332_000_000, quality=50, source="mysql.innodb_table_stats"),))
    history = (run(days=2, seconds=4000.0, rows=835_000_000), run(days=3, seconds=None, rows=1))
    judgement = judge(facts(here, history=history))
    assert judgement.estimated_rows == 835_000_000
    assert judgement.work_bytes == 835_000_000 * 160 == judgement.estimated_bytes
    assert "RV803" not in codes(judgement)  # 2.5 x apart
    further = judge(facts(replace(here, rows=(rows_of(100_000_000, quality=50),)), history=history))
    doubt = reason_of(further, "RV803")
    assert "In use: 835.0 million by last full run" in doubt.message
    assert doubt.points == 0


def test_a_table_emptied_since_the_last_run_is_not_costed_by_that_run() -> None:
    here = table(bytes=(), rows=(rows_of(1000, observed_at=ago(hours=1)),))
    judgement = judge(facts(here, history=(run(days=2, rows=835_000_000),)))
    assert judgement.estimated_rows == 1000


def test_i09_a_cursor_without_an_index_is_named_with_the_size_of_the_table() -> None:
    """I09: no index leads with the column, the table's size, and the statement that helps."""
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"}
    judgement = judge(facts(table(indexes=table().indexes[:1]), spec=spec))
    assert {"RV201", "RV203", "RV304"} <= codes(judgement)
    found = reason_of(judgement, "RV201")
    assert found.message == "No usable index leads with updated_at: every part scans the whole table (1.0 GiB)."
    assert (found.remedy, found.potential) == ("CREATE INDEX CONCURRENTLY ON shop.orders (updated_at)", 15)
    assert judgement.heavy
    assert judgement.diagnostics.verdict == "unsafe"
    assert any("updated_at" in warning and "1.0 GiB" in warning for warning in judgement.diagnostics.warnings)


def test_i02_an_append_only_key_without_lookback_is_warned_about() -> None:
    """I02: smaller ids that commit later."""
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}
    warned = judge(facts(spec=spec))
    assert any("committed late" in warning for warning in warned.diagnostics.warnings)
    assert "later" in reason_of(warned, "RV301").caveat
    covered = judge(facts(spec=spec | {"lookback_seconds": 600.0}))
    assert not any("committed late" in warning for warning in covered.diagnostics.warnings)


def test_c08_a_leading_key_column_with_few_values_is_shown_and_accepted() -> None:
    """C08: the plan shows the distinct values and the column in use; a key column is accepted as it is."""
    region = replace(table().columns[0], name="region", generated="", n_distinct=3.0)
    key = replace(table().indexes[0], columns=("region", "id"))
    here = table(columns=(region, *table().columns), indexes=(key,), rows=(rows_of(27_000_000),))
    judgement = judge(facts(here, spec={"mode": Mode.CHUNKED, "chunk_column": "region"}))
    assert "RV201" not in codes(judgement)
    assert judgement.suggestion.chunk_by == "region"
    assert any(
        warning.startswith("region has about 3 distinct values") and "(region, id) splits further" in warning
        for warning in judgement.diagnostics.warnings
    )


def test_s07_a_repeating_key_is_counted_by_its_rows_and_not_by_its_span() -> None:
    """S07: 100,000 key values, each two or three times: the larger figure counts, and the plan says why."""
    version = replace(table().columns[0], name="version", generated="")
    index = replace(table().indexes[0], name="by_version", columns=("version",), unique=False, primary=False)
    here = table(columns=(version,), indexes=(index,), rows=(rows_of(250_000),), bytes=(bytes_of(250_000 * 100),))

    def mark(value: int) -> Mark:
        return Mark(column="version", type="bigint", value=str(value))

    edges = [(), *[(mark(place),) for place in range(10_000, 100_000, 10_000)], ()]
    units = tuple(
        Unit(index=place, kind=UnitKind.RANGE, columns=("version",), lower=lower, upper=upper, rows=25_000)
        for place, (lower, upper) in enumerate(pairwise(edges))
    )
    judgement = judge(facts(here, spec={"mode": Mode.CHUNKED, "chunk_column": "version"}, units=units))
    assert judgement.estimated_rows == 250_000
    assert "RV202" not in codes(judgement)
    told = [warning for warning in judgement.diagnostics.warnings if warning.startswith("version repeats")]
    assert told == [
        "version repeats: about 200,000 rows lie among 80,000 values, so 250,000 rows by the catalog are counted, "
        "not the span of the key."
    ]


# --- heavy, parallel, confidence ----------------------------------------------------------------------------------------


def test_heavy_is_decided_on_the_pessimistic_side() -> None:
    sure = table(bytes=(bytes_of(12 * GIB),))
    unsure = table(bytes=(bytes_of(12 * GIB, changes=None, observed_at=ago(days=60)),))
    assert not judge(facts(sure)).heavy
    assert judge(facts(unsure)).heavy
    assert judge(facts(table(bytes=(bytes_of(14 * GIB),)))).heavy


def test_a_declared_heavy_counts_either_way() -> None:
    assert judge(facts(spec={"heavy": True})).heavy
    assert not judge(facts(table(bytes=(), rows=()), spec={"heavy": False})).heavy


def test_parallel_safe_is_advice_and_serial_is_declared() -> None:
    plain, declared = judge(facts()), judge(facts(spec={"parallel_safe": False}))
    assert (plain.parallel_safe, plain.serial) == (True, False)
    assert (declared.parallel_safe, declared.serial) == (False, True)
    assert reason_of(declared, "RV901").kind is ReasonKind.GATE
    heavy = judge(facts(spec={"heavy": True}))
    assert (heavy.parallel_safe, heavy.serial) == (False, False)


def test_the_tables_size_is_a_weak_signal_of_a_delta() -> None:
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}
    assert judge(facts(spec=spec)).confidence.cost == 30
    assert judge(facts(spec=spec, delta=delta_of(10))).confidence.cost == 77


def test_confidence_of_risk_needs_the_cursor_and_of_value_the_last_success() -> None:
    assert judge(facts()).confidence.risk == judge(facts()).confidence.value == 100
    by_id = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}
    assert judge(facts(spec=by_id)).confidence.risk == 99
    assert judge(facts(spec=by_id | {"cursor_column": "gone"})).confidence.risk == 20
    wanted = {"value": ValueSpec(freshness_seconds=60.0)}
    assert judge(facts(spec=wanted)).confidence.value == 20
    assert judge(facts(spec=wanted, last_success=ago(hours=1))).confidence.value == 95


def test_a_coalesce_cannot_use_the_columns_index() -> None:
    spec = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at", "cursor_fallback_column": "id"}
    assert not range_is_indexed(facts(spec=spec))
    assert range_is_indexed(facts(spec=spec | {"incremental_cursor_mode": "pair"}))


# --- what the config changes --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Muted:
    export: str = "orders"
    code: str = "RV201"
    reason: str = "a tiny table"
    until: date | None = None


UNINDEXED = facts(table(indexes=table().indexes[:1]), spec={"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"})


def test_points_can_be_set_and_switched_off() -> None:
    set_to = judge(UNINDEXED, using=settings(overrides={"RV201": 25, "RV203": None, "RV302": 9, "RV109": 5}))
    assert (reason_of(set_to, "RV201").points, reason_of(set_to, "RV201").potential) == (25, 25)
    assert reason_of(set_to, "RV203").points == 0
    assert reason_of(set_to, "RV302").points == 0  # info here: nothing to weigh


@pytest.mark.parametrize(
    ("muted", "expected"),
    [
        (Muted(), 0),
        (Muted(until=NOW.date()), 0),
        (Muted(until=NOW.date() - timedelta(days=1)), 15),
        (Muted(export="other"), 15),
    ],
)
def test_a_suppressed_reason_stays_listed_until_it_expires(muted: Muted, expected: int) -> None:
    found = reason_of(judge(UNINDEXED, using=settings(suppressions=(muted,))), "RV201")
    assert found.points == expected
    until = "" if muted.until is None else muted.until.isoformat()
    assert found.suppressed == (None if expected else ("a tiny table", until))


# --- plugins --------------------------------------------------------------------------------------------------------------


def one(answer: Any) -> Owned:
    return rule("acme", lambda facts, options: answer)


def said_by(judgement: Any, plugin: str = "acme") -> list[tuple[str, int]]:
    return [(reason.code, reason.points) for reason in judgement.reasons if reason.provider == plugin]


def test_a_plugin_is_heard_within_its_bounds() -> None:
    judgement = judge(facts(), one([plugin_reason("acme", 7)]))
    assert said_by(judgement) == [("X-acme-001", 7)]
    assert judgement.scores.cost == judge(facts()).scores.cost + 7


BROKEN: dict[str, Any] = {
    "nothing": None,
    "a generator": (plugin_reason("acme", 1) for _ in range(1)),
    "a stranger": ["reason"],
    "a subclass": [type("Odd", (Reason,), {})(code="X-acme-001", kind=ReasonKind.INFO, message="")],
    "not a number": [plugin_reason("acme", float("nan"))],  # type: ignore[arg-type]
    "a truth value": [plugin_reason("acme", True)],
    "out of range": [plugin_reason("acme", 101)],
    "points on info": [plugin_reason("acme", 3, kind=ReasonKind.INFO)],
    "points on nothing": [plugin_reason("acme", 3, dimension=None)],  # type: ignore[arg-type]
    "an unknown dimension": [plugin_reason("acme", 3, dimension="beauty")],  # type: ignore[arg-type]
    "an unknown kind": [plugin_reason("acme", 3, kind="shout")],
    "a base": [plugin_reason("acme", 3, kind=ReasonKind.BASE)],
    "a gate": [plugin_reason("acme", 0, kind=ReasonKind.GATE)],
    "a clamp": [plugin_reason("acme", -3, kind=ReasonKind.CLAMP)],
    "a core code": [plugin_reason("acme", 3, code="RV201")],
    "an unlisted code": [plugin_reason("acme", 3, code="X-acme-999")],
    "one code twice": [plugin_reason("acme", 3), plugin_reason("acme", 4)],
    "no text": [plugin_reason("acme", 3, message=None)],
    "half a character": [plugin_reason("acme", 3, message="\ud800")],
    "a novel": [plugin_reason("acme", 3, message="x" * 5000)],
    "odd evidence": [plugin_reason("acme", 3, evidence=("seen",))],
    "evidence without end": [
        plugin_reason(
            "acme",
            3,
            evidence=(Evidence(signal="s", value=float("inf"), unit="", source="", observed_at=None, quality=1),),
        )
    ],
    "evidence without a zone": [
        plugin_reason(
            "acme",
            3,
            evidence=(Evidence(signal="s", value=1, unit="", source="", observed_at=NOW.replace(tzinfo=None), quality=1),),
        )
    ],
    "a potential in words": [plugin_reason("acme", 3, potential="much")],
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_answer_becomes_one_rv890(what: str) -> None:
    judgement, core = judge(facts(), one(BROKEN[what])), judge(facts())
    assert said_by(judgement) == [("RV890", 0)]
    assert judgement.scores == core.scores
    assert [reason for reason in judgement.reasons if reason.provider == "core"] == list(core.reasons)


def test_a_rule_that_raises_is_named_with_the_place() -> None:
    def score(facts: ExportFacts, options: object) -> list[Reason]:
        raise KeyError("sla")

    message = reason_of(judge(facts(), rule("acme", score)), "RV890").message
    assert message.startswith("Rule rule of plugin acme raised KeyError at test_judge.py:")


def test_two_rules_of_a_plugin_share_the_limit_of_a_hundred() -> None:
    names = [f"X-acme-{place:03}" for place in range(200)]
    halves = [
        rule("acme", lambda facts, options, part=part: [plugin_reason("acme", 0, code=code) for code in part], *part, name=name)
        for name, part in (("a", names[:60]), ("b", names[60:120]))
    ]
    assert said_by(judge(facts(), *halves)) == [("RV890", 0)]
    assert len(said_by(judge(facts(), halves[0]))) == 60


def test_a_granted_base_replaces_cores_own() -> None:
    theirs = one([plugin_reason("acme", 70, kind=ReasonKind.BASE)])
    judgement = judge(facts(), theirs, using=settings(grants={"acme": ("base",)}))
    assert judgement.scores.cost == 70
    assert reason_of(judgement, "RV102").kind is ReasonKind.CORROBORATES
    assert reason_of(judgement, "RV102").points == 0


def test_a_granted_gate_speaks_against_running_beside_others() -> None:
    theirs = one([plugin_reason("acme", 0, kind=ReasonKind.GATE, dimension=None)])
    judgement = judge(facts(), theirs, using=settings(grants={"acme": ("gate",)}))
    assert (judgement.parallel_safe, judgement.serial) == (False, False)


def test_a_slow_plugin_stops_the_plan_by_name() -> None:
    ticks = iter(range(0, 1000, 6))
    clock = RuleClock(now=lambda: float(next(ticks)))
    using = settings(clock=clock)
    slow = one([plugin_reason("acme", 1)])
    judge(facts(), slow, using=using)
    assert clock.slow() == ("acme",)
    with pytest.raises(PluginError, match="acme took more than 10 s"):
        judge(facts(), slow, using=using)


class Options:
    def __init__(self, weight: int = 1) -> None:
        self.weight = weight


def test_a_rule_gets_its_plugins_options() -> None:
    def score(facts: ExportFacts, options: Options) -> list[Reason]:
        return [plugin_reason("acme", options.weight, Dimension.RISK)]

    rules = rule("acme", score, options=Options)
    assert said_by(judge(facts(), rules, using=settings(options={"acme": {"weight": 4}}))) == [("X-acme-001", 4)]
    with pytest.raises(ConfigError, match=r"plugins\.options\.acme"):
        judge(facts(), rules, using=settings(options={"acme": {"wait": 4}}))


def test_a_rule_that_cannot_be_loaded_stops_the_plan() -> None:
    with pytest.raises(PluginError, match="rule rule of plugin acme cannot be loaded"):
        judge(facts(), rule("acme", "no_such_module_here:score"))  # type: ignore[arg-type]


def test_rules_are_resolved_once_for_a_plan() -> None:
    asked: list[Any] = []
    using = settings()
    counted = replace(using, resolve=lambda ref: asked.append(ref) or using.resolve(ref))  # type: ignore[func-returns-value]
    for _ in range(3):
        judge_export(with_cursor(facts()), CORE_RULES, counted)
    assert len(asked) == len(CORE_RULES)
