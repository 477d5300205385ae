"""Plugins that mean harm or know no better: each is one named status, reason or exit 3; core's results stay as they were."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rivet_core.cli.boundary import run
from rivet_core.planning.guard import RuleClock
from rivet_core.plugins import limit
from rivet_core.testing.project import Project

CONFIG = """
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
exports:
  - {name: orders, table: orders}
  - {name: notes, table: notes, mode: incremental, cursor_column: id}
"""
HOOK = """
from rivet_core.api import CursorClassifier, PlanRenderer, ReasonEmitter, SchedulingPolicy, ScoringRule, hookimpl
from rivet_core.facts import Dimension, Evidence, Reason, ReasonKind

def reason(points=1, code="X-evil-1", **more):
    evidence = (Evidence(signal="s", value=1, unit="", source="x", observed_at=None, quality=50),)
    more = {"kind": ReasonKind.MODIFIER, "message": "m", "dimension": Dimension.RISK, "evidence": evidence, **more}
    return Reason(code=code, points=points, **more)
"""
RULE = """
@hookimpl
def rivet_scoring_rules():
    return [ScoringRule(name="evil", summary="s", codes=("X-evil-1",), dimension="risk", score=score)]

def score(facts, options):
{body}
"""

Install = Callable[..., None]


def dist(site: Path, name: str, code: str) -> None:
    """Write a distribution with the entry point `name` into `site`."""
    (site / f"{name}_plugin.py").write_text(HOOK + textwrap.dedent(code))
    info = site / f"rivet_{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rivet-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rivet.v1]\n{name} = {name}_plugin\n")


def rule(body: str) -> str:
    return RULE.format(body=textwrap.indent(textwrap.dedent(body), "    "))


class Shop:
    """A shop in a directory, the command line in this process, and a place for distributions."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str], site: Path) -> None:
        self.root, self.site = root, site
        self._capfd = capfd
        self.installed: list[str] = []
        with closing(sqlite3.connect(root / "shop.db")) as database:
            for name in ("orders", "notes"):
                database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, v TEXT)")
                database.executemany(f"INSERT INTO {name} (v) VALUES (?)", [("x",)] * 100)
            database.commit()
        (root / "rivet.yaml").write_text(CONFIG)

    def install(self, code: str, name: str = "evil") -> None:
        dist(self.site, name, code)
        self.installed.append(f"{name}_plugin")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        for name in self.installed:
            sys.modules.pop(name, None)
        self._capfd.readouterr()
        code = run(list(arguments))
        out, err = self._capfd.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    def plan(self) -> dict[str, Any]:
        code, out, err = self.run("plan", "--json", "--refresh")
        assert code == 0, err
        plan: dict[str, Any] = json.loads(out)
        return plan

    def statuses(self) -> dict[str, str]:
        plugins = json.loads(self.run("plugins", "list", "--json")[1])["plugins"]
        return {plugin["name"]: plugin["status"] for plugin in plugins}


@pytest.fixture
def shop(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shop:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Shop(tmp_path, capfd, site)


def core_part(plan: dict[str, Any]) -> bytes:
    """What core found, as bytes: without time stamps, ids and what the plugin under test said about itself."""
    kept = {key: plan[key] for key in ("exports", "campaign", "source_groups", "config", "fail_fast")}
    for export in kept["exports"]:
        export["reasons"] = [one for one in export["reasons"] if one["provider"] != "evil"]
        export["predicted_seconds"] = None
    kept["campaign"]["reasons"] = [one for one in kept["campaign"]["reasons"] if one["provider"] != "evil"]
    return without_times(json.dumps(kept, sort_keys=True)).encode()


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "T", text)


RULES = {
    "raises": ("raise ValueError('x')", "raised ValueError"),
    "raises what is no Exception": ("class Odd(BaseException): pass\nraise Odd", "raised Odd"),
    "leaves": ("raise SystemExit(0)", "raised SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    "None": ("return None", "returned NoneType"),
    "a number": ("return 7", "returned int"),
    "a text": ("return 'RV102'", "returned str"),
    "a generator": ("return (reason() for _ in range(3))", "returned generator"),
    "NaN": ("return [reason(float('nan'))]", "gave points as float"),
    "10^9 points": ("return [reason(10**9)]", "asked for points out of range"),
    "10^6 reasons": ("return [reason()] * 10**6", "returned 1000000 reasons"),
    "a code of core": ("return [reason(code='RV102')]", "used code 'RV102'"),
    "a dict": ("return [{'code': 'X-evil-1'}]", "returned dict where a Reason belongs"),
    "megabytes": ("return [reason(family='x' * 10**7)]", "gave a family of more than"),
    "endless recursion": ("return score(facts, options)", "raised RecursionError"),
    "a lone surrogate": ("return [reason(family='\\ud800')]", "that is not valid text"),
    "evidence of its own kind": (
        "from dataclasses import replace\nreturn [replace(reason(), evidence=(object(),))]",
        "gave object where Evidence belongs",
    ),
}


@pytest.mark.parametrize("what", RULES)
def test_a_hostile_rule_is_one_reason_and_core_stays_byte_equal(shop: Shop, what: str) -> None:
    before = core_part(shop.plan())
    body, said = RULES[what]
    shop.install(rule(body))
    plan = shop.plan()
    for export in plan["exports"]:
        found = [one for one in export["reasons"] if one["provider"] == "evil"]
        assert [(one["code"], one["points"]) for one in found] == [("RV890", 0)]
        assert said in found[0]["message"]
    assert core_part(plan) == before


CLASSIFIERS = {
    "raises": ("raise ValueError", "raised ValueError"),
    "leaves": ("raise SystemExit(0)", "raised SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    "no verdict": ("return 'strong_monotonic'", "gave no usable verdict"),
    "other columns": ("return verdict(columns=('v',))", "on other columns than it was asked about"),
    "no columns": ("return verdict(columns=())", "on other columns than it was asked about"),
    "too sure": ("return verdict(evidence_quality=101)", "gave no usable verdict"),
    "a lone surrogate": ("return verdict(why='\\ud800')", "that is not valid text"),
}


@pytest.mark.parametrize("what", CLASSIFIERS)
def test_a_hostile_classifier_is_one_reason_and_core_judges_alone(shop: Shop, what: str) -> None:
    before = core_part(shop.plan())
    body, said = CLASSIFIERS[what]
    shop.install(f"""
    from dataclasses import replace
    from rivet_core.facts import CursorQuality, CursorVerdict

    @hookimpl
    def rivet_cursor_classifiers():
        return [CursorClassifier(name="evil", summary="s", classify=classify)]

    def classify(table, ref):
        def verdict(**more):
            sure = CursorVerdict(
                quality=CursorQuality.STRONG_MONOTONIC, columns=ref.columns, why="w", evidence_quality=100, evidence=()
            )
            return replace(sure, **more)
        {body}
    """)
    plan = shop.plan()
    for export in plan["exports"]:
        (found,) = [one for one in export["reasons"] if one["provider"] == "evil"]
        assert (found["code"], found["points"]) == ("RV890", 0)
        assert said in found["message"]
        assert export["cursor"]["columns"] == ["id"]
        export["cursor"]["why"] = export["cursor"]["why"].removesuffix(" (skipped, failed: evil/evil)")
    assert core_part(plan) == before


@pytest.mark.parametrize(
    ("placed", "said"), [("group='nowhere'", "named a source group"), ("exports=('nothing',)", "named exports that are not")]
)
def test_an_emitter_speaks_of_what_is_in_the_campaign(shop: Shop, placed: str, said: str) -> None:
    shop.install(f"""
    @hookimpl
    def rivet_reason_emitters():
        return [ReasonEmitter(name="evil", summary="s", codes=("X-evil-2",), emit=emit)]

    def emit(facts):
        return [reason(0, "X-evil-2", kind=ReasonKind.INFO, dimension=None, {placed})]
    """)
    (found,) = [one for one in shop.plan()["campaign"]["reasons"] if one["provider"] == "evil"]
    assert found["code"] == "RV890"
    assert said in found["message"]


def test_ctrl_c_while_a_plugin_works_is_one(shop: Shop) -> None:
    shop.install(rule("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nreturn []"))
    status, _, err = shop.run("plan")
    assert status == 130
    assert "interrupted" in err


MUTATIONS = """
for target, name, value in ((facts, "spec", None), (facts.table, "columns", ()), (facts.server, "max_connections", 1)):
    try:
        object.__setattr__(target, name, value)
    except Exception:
        pass
try:
    facts.table.index_for_range["id"] = False
    facts.spec.parquet.clear()
except Exception:
    pass
return []
"""


def test_inputs_cannot_be_mutated_for_others(shop: Shop) -> None:
    before = core_part(shop.plan())
    emitter = """
    @hookimpl
    def rivet_reason_emitters():
        return [ReasonEmitter(name="evil", summary="s", codes=("X-evil-2",), emit=emit)]

    def emit(facts):
        object.__setattr__(facts, "exports", ())
        object.__setattr__(facts, "lower_bound_seconds", 1e9)
        return []

    @hookimpl
    def rivet_cursor_classifiers():
        return [CursorClassifier(name="evil", summary="s", classify=classify)]

    def classify(table, ref):
        object.__setattr__(table, "indexes", ())
        object.__setattr__(table, "rows", ())
    """
    shop.install(rule(MUTATIONS) + textwrap.dedent(emitter))
    assert core_part(shop.plan()) == before


def test_what_they_print_stays_out_of_the_data(shop: Shop) -> None:
    code = (
        "print('NOISE at import')"
        + rule("print('NOISE in a rule')\nreturn []")
        + textwrap.dedent("""
    @hookimpl
    def rivet_scheduling_policies():
        print("NOISE in a hook")
        return [SchedulingPolicy(name="loud", summary="s", order=order, next=choose)]

    def order(jobs, capacities):
        print("NOISE in order")
        return [job.name for job in jobs]

    def choose(state):
        print("NOISE in next")
        return state.heads[0].name
    """)
    )
    shop.install(code)
    status, out, err = shop.run("plan", "--json", "-o", "plan.json")
    assert status == 0
    assert json.loads(out)["plan_version"] == 1
    assert "NOISE in a rule" in err
    status, out, err = shop.run("apply", "plan.json", "--json", "--policy", "loud")
    assert status == 0
    assert json.loads(out)["exit_code"] == 0
    assert "NOISE in next" in err
    status, out, _ = shop.run("run", "--json", "--policy", "loud")
    assert json.loads(out)["exit_code"] == status == 0


def test_what_they_print_stays_out_of_the_data_of_every_command(shop: Shop) -> None:
    shop.install("""
    from rivet_core.api import DestinationSpec, SourceSpec
    from rivet_core.builtin.local import LocalOptions, open_local
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good

    def loud(function):
        def run(*arguments):
            print("NOISE")
            return function(*arguments)
        return run

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return loud(getattr(self.good, name))

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    @hookimpl
    def rivet_destinations():
        return [DestinationSpec(name="evil", summary="s", options=LocalOptions, open=loud(open_local))]

    @hookimpl
    def rivet_scheduling_policies():
        return [SchedulingPolicy(name="evil", summary="s", order=loud(lambda jobs, capacities: [job.name for job in jobs]))]

    @hookimpl
    def rivet_renderers():
        return [PlanRenderer(name="evil", summary="s", media_type="application/json", render=loud(lambda plan: "{}"))]
    """)
    config = shop.root / "rivet.yaml"
    config.write_text(CONFIG.replace("type: sqlite", "type: evil").replace("type: local", "type: evil"))
    for command in (
        ["doctor"],
        ["check"],
        ["plan", "-o", "plan.json"],
        ["simulate", "plan.json", "--policy", "evil"],
        ["run", "--policy", "evil"],
        ["files", "orders"],
        ["validate"],
        ["reconcile"],
        ["repair"],
        ["gc"],
        ["state", "rebuild"],
        ["explain", "orders"],
    ):
        status, out, err = shop.run(*command, "--json")
        assert status == 0, (command, out, err)
        assert json.loads(out)
        assert "NOISE" in err, command
    assert json.loads(shop.run("plan", "--format", "evil")[1]) == {}


MUTE = """
class Mute(Exception):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
"""


def test_an_exception_that_cannot_be_shown_is_named_by_its_type(shop: Shop) -> None:
    shop.install(MUTE + "raise Mute")
    assert "Mute" in shop.run("plugins", "list")[1]
    status, _, err = shop.run("plan")
    assert status == 3
    assert "plugin evil (rivet-evil 1.0) is broken: Mute" in err


ANSWERS = {
    "next interrupts": ("return [job.name for job in jobs]", "raise KeyboardInterrupt", "next raised KeyboardInterrupt"),
    "order interrupts": ("raise KeyboardInterrupt", "return state.heads[0].name", "order raised KeyboardInterrupt"),
    "order raises it": ("raise Mute", "return state.heads[0].name", "order raised Mute"),
    "next raises it": ("return [job.name for job in jobs]", "raise Mute", "next raised Mute"),
    "order is no end of names": (
        "import itertools; return itertools.repeat('x')",
        "return state.heads[0].name",
        "order returned more names for 2 exports",
    ),
    "next is no name": ("return [job.name for job in jobs]", "return Odd()", "Odd is no name"),
    "next is a name of a kind": ("return [job.name for job in jobs]", "return Text('zz')", "next returned 'zz', which is not"),
    "order are no names": ("return [Odd() for job in jobs]", "return state.heads[0].name", "Odd is no name"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_odd_answer_of_a_policy_is_replaced(shop: Shop, what: str) -> None:
    order, choose, said = ANSWERS[what]
    shop.install(f"""
    {textwrap.indent(MUTE, "    ").strip()}

    class Odd:
        def __eq__(self, other): raise ValueError
        __hash__ = None

    class Text(str):
        def __eq__(self, other): raise ValueError
        def __hash__(self): return 1
        def __str__(self): return self

    @hookimpl
    def rivet_scheduling_policies():
        return [SchedulingPolicy(name="evil", summary="s", order=order, next=choose)]

    def order(jobs, capacities):
        {order}

    def choose(state):
        {choose}
    """)
    status, out, err = shop.run("run", "--policy", "evil", "--json")
    assert status == 0
    assert [export["status"] for export in json.loads(out)["exports"]] == ["done", "done"]
    assert said in err


IMPORTS = {
    "raises at import": ("raise ValueError('no')", "ValueError: no"),
    "raises what is no Exception": ("class Odd(BaseException): pass\nraise Odd('x')", "Odd: x"),
    "leaves at import": ("raise SystemExit(0)", "SystemExit"),
    "interrupts at import": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "does not parse": ("def (", "SyntaxError"),
    "raises in a hook": ("@hookimpl\ndef rivet_scoring_rules():\n    raise RuntimeError('later')", "RuntimeError: later"),
    "None from a hook": ("@hookimpl\ndef rivet_scoring_rules():\n    return None", "returned NoneType"),
    "a wrong record": ("@hookimpl\ndef rivet_scoring_rules():\n    return [3]", "returned a int"),
    "one name twice": (
        rule("return []").replace("return [Scoring", "return 2 * [Scoring"),
        "offers evil twice",
    ),
    "a name of core": (rule("return []").replace('name="evil"', 'name="size"'), "is offered by core (rivet-core) and evil"),
}


FIELDS = {
    "rivet_scoring_rules": (
        'ScoringRule(name="evil", summary="s", codes=("X-evil-1",), score=len, dimension="risk", {})',
        {
            'version="x"': "evil: version is 'x', not a whole number from 1 on",
            "version=True": "version is True, not a whole number",
            "version=10**40": "not a whole number",
            "dimension='speed'": "dimension is 'speed', not one of cost, risk, value",
            "dimension=7": "dimension is 7, not one of",
            "codes=None": "codes is NoneType, not a tuple of texts",
            "codes='X-evil-1'": "codes is 'X-evil-1', not a tuple of texts",
            "score=3": 'score is 3, neither a function or class nor "module:name"',
            "score='evil'": "score is 'evil', neither",
            "score=None": "score is NoneType, neither",
            "options=3": "options is 3, neither",
            "summary=b''": "summary is bytes, not text",
        },
    ),
    "rivet_sources": (
        'SourceSpec(name="evil", summary="s", options=dict, connect=len, {})',
        {"schemes='mysql'": "schemes is 'mysql', not a tuple of texts", "connect=[]": "connect is list, neither"},
    ),
    "rivet_renderers": (
        'PlanRenderer(name="evil", summary="s", media_type="x", render=len, {})',
        {
            "name='json'": "json is a name of core's own",
            "name='table'": "table is a name of core's own",
            "media_type=None": "media_type is NoneType",
        },
    ),
    "rivet_scheduling_policies": (
        'SchedulingPolicy(name="evil", summary="s", order=len, {})',
        {"name='auto'": "auto is a name of core's own", "waves='no'": "waves is 'no', not true or false"},
    ),
}


@pytest.mark.parametrize(("hook", "field"), [(hook, field) for hook, (_, faults) in FIELDS.items() for field in faults])
def test_a_record_with_a_wrong_field_is_broken_by_name(shop: Shop, hook: str, field: str) -> None:
    record, faults = FIELDS[hook]
    given = re.sub(rf"\b{field.partition('=')[0]}=[^ ]+, ", "", record).format(field)
    shop.install(f"from rivet_core.api import SourceSpec\n@hookimpl\ndef {hook}():\n    return [{given}]\n")
    status, _, err = shop.run("plan")
    assert status == 3
    assert f"plugin evil (rivet-evil 1.0) is broken: {hook}: " in err
    assert faults[field] in err


def test_what_a_hook_returned_cannot_be_changed_later(shop: Shop) -> None:
    """Nor does a rule score what its record does not say."""
    shop.install("""
    CODES = ["X-evil-1"]
    RULES = [ScoringRule(name="evil", summary="s", codes=CODES, dimension="risk", score=lambda facts, options: score(facts))]

    @hookimpl
    def rivet_scoring_rules():
        return RULES

    def score(facts):
        CODES.append("X-evil-2")
        return [reason(code="X-evil-2")] if facts.spec.name == "orders" else [reason(dimension=Dimension.COST)]
    """)
    said = {
        export["name"]: [one["message"] for one in export["reasons"] if one["code"] == "RV890"]
        for export in shop.plan()["exports"]
    }
    assert "used code 'X-evil-2', which is not one of its own" in said["orders"][0]
    assert "gave points on cost, its record says that it scores risk" in said["notes"][0]


@pytest.mark.parametrize("what", IMPORTS)
def test_a_plugin_that_cannot_load_is_named_and_stops_planning_until_blocked(
    shop: Shop, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = core_part(shop.plan())
    code, said = IMPORTS[what]
    shop.install(code)
    assert shop.statuses()["evil"] == "broken"
    status, out, _ = shop.run("plan", "--json")
    assert status == 3
    assert json.loads(out)["error"]["exit_code"] == 3
    assert "evil" in out
    assert said in shop.run("plugins", "list")[1]
    assert shop.run("--help")[0] == 0
    monkeypatch.setenv("RIVET_PLUGINS_BLOCK", "evil")
    assert core_part(shop.plan()) == before


def test_two_plugins_of_one_record_name_are_both_named(shop: Shop) -> None:
    shop.install(rule("return []"))
    shop.install(rule("return []").replace("X-evil-1", "X-twin-1"), name="twin")
    assert {name: status for name, status in shop.statuses().items() if name in ("evil", "twin")} == {
        "evil": "broken",
        "twin": "broken",
    }
    assert shop.run("plan", "--json")[0] == 3
    assert "evil (rivet-evil) and twin (rivet-twin)" in shop.run("plugins", "list")[1]


SLEEPERS = {
    "sleeps": "import time\ntime.sleep(600)\nreturn []",
    "loops": "while True: pass",
    "sleeps and catches everything": (
        "import time\nfor _ in range(3):\n    try:\n        time.sleep(600)\n    except BaseException: pass\nreturn []"
    ),
}


@pytest.mark.parametrize("what", SLEEPERS)
def test_a_rule_that_does_not_come_back_ends_the_plan_by_name(shop: Shop, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RuleClock.__init__, "__defaults__", (*(RuleClock.__init__.__defaults__ or ())[:1], 0.3))
    shop.install(rule(SLEEPERS[what]))
    status, out, _ = shop.run("plan", "--json")
    assert status == 3
    assert json.loads(out)["error"]["code"] == "plugin_slow"
    assert "plugin evil took more than 0.3 s" in out


@pytest.mark.parametrize("where", ["import time; time.sleep(600)", "@hookimpl\ndef rivet_sources():\n    while True: pass"])
def test_a_plugin_that_does_not_finish_loading_is_broken(shop: Shop, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivet_core.plugins.load.SECONDS", 0.3)
    shop.install(where)
    assert shop.statuses()["evil"] == "broken"
    assert "it took more than 0.3 s to load" in shop.run("plugins", "list")[1]


def test_a_policy_that_does_not_come_back_is_not_asked_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivet_core.scheduling.policies.SECONDS", 0.3)
    shop.install("""
    import time

    @hookimpl
    def rivet_scheduling_policies():
        return [SchedulingPolicy(name="asleep", summary="s", order=order, next=choose)]

    def order(jobs, capacities):
        return [job.name for job in jobs]

    def choose(state):
        time.sleep(600)
    """)
    status, out, _ = shop.run("apply", "rivet.yaml", "--policy", "asleep", "--json")
    assert status == 0
    assert [export["status"] for export in json.loads(out)["exports"]] == ["done", "done"]


LAZY = {
    "raises": ("raise RuntimeError('late')", "RuntimeError: late"),
    "leaves": ("raise SystemExit(0)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "sleeps": ("import time\ntime.sleep(600)", "it took more than 0.3 s"),
    "is not there": (None, "No module named"),
    "has no such name": ("x = 1", "has no attribute"),
}
RECORDS = {
    "rule": 'ScoringRule(name="evil", summary="s", codes=("X-evil-1",), dimension="risk", score="evil_late:score")',
    "source": 'SourceSpec(name="evil", summary="s", options="evil_late:Options", connect="evil_late:connect")',
    "destination": 'DestinationSpec(name="evil", summary="s", options="evil_late:Options", open="evil_late:open")',
    "policy": 'SchedulingPolicy(name="evil", summary="s", order="evil_late:order")',
    "renderer": 'PlanRenderer(name="evil", summary="s", media_type="text/plain", render="evil_late:render")',
    "classifier": 'CursorClassifier(name="evil", summary="s", classify="evil_late:classify")',
    "emitter": 'ReasonEmitter(name="evil", summary="s", codes=("X-evil-2",), emit="evil_late:emit")',
}
HOOKS = {
    "rule": "scoring_rules",
    "policy": "scheduling_policies",
    "classifier": "cursor_classifiers",
    "emitter": "reason_emitters",
}


@pytest.mark.parametrize("what", LAZY)
@pytest.mark.parametrize("kind", RECORDS)
def test_a_lazy_module_that_cannot_be_imported_is_exit_3(
    shop: Shop, kind: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rivet_core.plugins.lazy.SECONDS", 0.3)
    monkeypatch.delitem(sys.modules, "evil_late", raising=False)
    code, said = LAZY[what]
    if code is not None:
        (shop.site / "evil_late.py").write_text(code)
    hook = HOOKS.get(kind, f"{kind}s")
    shop.install(
        "from rivet_core.api import DestinationSpec, SourceSpec\n"
        f"@hookimpl\ndef rivet_{hook}():\n    return [{RECORDS[kind]}]\n"
    )
    config = shop.root / "rivet.yaml"
    if kind == "source":
        config.write_text(CONFIG.replace("type: sqlite, path: shop.db", "type: evil"))
    if kind == "destination":
        config.write_text(CONFIG.replace("type: local, path: out", "type: evil"))
    more = {"policy": ["run", "--policy", "evil"], "renderer": ["plan", "--format", "evil"]}.get(kind, ["plan"])
    status, out, err = shop.run(*more)
    assert status == 3, out + err
    assert said in err
    assert "evil_late" in err


SOURCES = {
    "connect leaves": ("raise SystemExit(0)", "return None", 1),
    "connect interrupts": ("raise KeyboardInterrupt", "return None", 1),
    "inspect interrupts": ("return Session()", "raise KeyboardInterrupt", 1),
    "connect returns nothing": ("return None", "return None", 1),
    "inspect raises": ("return Session()", "raise ValueError('secret-in-here')", 1),
    "inspect leaves": ("return Session()", "raise SystemExit(0)", 1),
    "inspect returns nothing": ("return Session()", "return None", 1),
    "inspect returns a text": ("return Session()", "return 'facts'", 1),
    "inspect raises what is no Exception": ("return Session()", "class Odd(BaseException): pass\n        raise Odd", 1),
}


@pytest.mark.parametrize("what", SOURCES)
def test_a_hostile_source_marks_its_exports_and_no_others(shop: Shop, what: str) -> None:
    connect, inspect, code = SOURCES[what]
    shop.install(f"""
    from rivet_core.api import SourceSpec
    from rivet_core.options import PluginOptions

    class Options(PluginOptions):
        pass

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=Options, connect=connect)]

    def connect(options):
        {connect}

    class Session:
        def limit(self, connections): pass
        def inspect(self, items):
            {inspect.replace(chr(10), chr(10) + "    ")}
        def close(self): raise ValueError("secret-in-here")
        def cancel(self): pass
    """)
    (shop.root / "rivet.yaml").write_text("""
sources: {good: {type: sqlite, path: shop.db}, bad: {type: evil}}
destination: {type: local, path: out}
exports:
  - {name: orders, table: orders, source: good}
  - {name: notes, table: notes, source: bad}
""")
    status, out, err = shop.run("plan", "--json")
    assert status == code, out + err
    assert "secret-in-here" not in out + err
    if code == 1:
        plan = json.loads(out)
        assert [export["status"] for export in plan["exports"]] == ["planned", "unplannable"]
        assert "source type evil failed" in plan["exports"][1]["error"]["message"]
        assert shop.run("run", "-q")[0] == 1


READS = {
    "interrupts": "raise KeyboardInterrupt",
    "raises": "raise ValueError('secret-in-here')",
    "leaves": "raise SystemExit(0)",
    "raises what is no Exception": "class Odd(BaseException): pass\n        raise Odd",
    "returns nothing": "return None",
    "returns rows": "return [{'id': 1}]",
}


@pytest.mark.parametrize("what", READS)
def test_a_hostile_read_fails_its_export_and_no_other(shop: Shop, what: str) -> None:
    shop.install(f"""
    from rivet_core.api import SourceSpec
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)
        def read(self, spec, unit):
            {READS[what].replace(chr(10), chr(10) + "    ")}
    """)
    (shop.root / "rivet.yaml").write_text("""
sources: {good: {type: sqlite, path: shop.db}, bad: {type: evil, path: shop.db}}
destination: {type: local, path: out}
exports:
  - {name: orders, table: orders, source: good}
  - {name: notes, table: notes, source: bad}
""")
    status, out, err = shop.run("run", "--json")
    summary = json.loads(out)
    assert [(export["name"], export["status"]) for export in summary["exports"]] == [("orders", "done"), ("notes", "failed")]
    assert status == summary["exit_code"] != 0
    assert "secret-in-here" not in out + err


TARGETS = {
    "nothing": ("None", "it returned NoneType, not a Target"),
    "a text": ("'/tmp'", "it returned str, not a Target"),
    "no filesystem": ("replace(good, filesystem=None)", "the filesystem of its Target is NoneType"),
    "a number as root": ("replace(good, root=7)", "the root of its Target is int"),
    "words as capabilities": ("replace(good, capabilities='all')", "the capabilities of its Target is str"),
}


@pytest.mark.parametrize("what", TARGETS)
def test_a_destination_that_opens_nothing_usable_is_exit_3_everywhere(shop: Shop, what: str) -> None:
    returned, said = TARGETS[what]
    shop.install(f"""
    from dataclasses import replace
    from rivet_core.api import DestinationSpec
    from rivet_core.builtin.local import LocalOptions, open_local

    @hookimpl
    def rivet_destinations():
        return [DestinationSpec(name="evil", summary="s", options=LocalOptions, open=opened)]

    def opened(options):
        good = open_local(options)
        return {returned}
    """)
    (shop.root / "rivet.yaml").write_text(CONFIG.replace("type: local", "type: evil"))
    for command in (["doctor"], ["run"], ["files", "orders"], ["validate"], ["gc"], ["state", "rebuild"], ["repair"]):
        status, out, err = shop.run(*command)
        assert status == 3, (command, status, out, err)
        assert f"rivet-evil 1.0 failed to open destination type evil: {said}" in out + err


STORES = {
    "reads nothing": "def cat_file(self, *args, **more): return None",
    "cuts what it keeps": "def pipe_file(self, path, value, **more): return super().pipe_file(path, value[:-5], **more)",
    "raises oddly": "def info(self, *args, **more): raise KeyError('secret-in-here')",
}


@pytest.mark.parametrize("what", STORES)
def test_a_store_that_breaks_its_promise_fails_exports_and_is_a_finding(shop: Shop, what: str) -> None:
    shop.install(f"""
    from fsspec.implementations.local import LocalFileSystem
    from rivet_core.api import DestinationSpec, StoreCapabilities, Target
    from rivet_core.builtin.local import LocalOptions, open_local

    @hookimpl
    def rivet_destinations():
        return [DestinationSpec(name="evil", summary="s", options=LocalOptions, open=opened)]

    class Odd(LocalFileSystem):
        {STORES[what]}

    def opened(options):
        good, promised = open_local(options), dict(atomic_replace=True, conditional_put=False, list_after_write=True)
        filesystem = Odd(auto_mkdir=True, skip_instance_cache=True)
        return Target(filesystem=filesystem, root=good.root, url_prefix="", capabilities=StoreCapabilities(**promised))
    """)
    (shop.root / "rivet.yaml").write_text(CONFIG.replace("type: local", "type: evil"))
    status, out, err = shop.run("doctor", "--json")
    assert status == 2
    findings = json.loads(out)["findings"]
    assert [one["subject"] for one in findings if one["severity"] == "error"] == ["destination evil"]
    status, out, err = shop.run("run", "--json")
    assert status == 1, out
    assert "secret-in-here" not in out + err
    assert {export["status"] for export in json.loads(out)["exports"]} <= {"failed", "not_started"}


def test_a_source_that_breaks_is_a_finding_of_doctor(shop: Shop) -> None:
    shop.install("""
    from rivet_core.api import SourceSpec
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)
        def probe(self): raise ValueError("secret-in-here")
        def close(self): pass
    """)
    (shop.root / "rivet.yaml").write_text(
        CONFIG.replace("source: {", "sources:\n  odd: {type: evil, path: shop.db}\n  default: {").replace(
            "table: ", "source: default, table: "
        )
    )
    status, out, err = shop.run("doctor")
    assert status == 2, out + err
    assert "the plugin of source type evil failed: ValueError" in out
    assert "destination local" in out
    assert "secret-in-here" not in out + err


FACTS = {
    "a number of rows": ("rows=7", "7 as facts.tables[orders].rows"),
    "nothing as columns": ("columns=None", "None as facts.tables[orders].columns"),
    "NaN": ("avg_width=float('nan')", "nan as facts.tables[orders].avg_width"),
    "NaN in evidence": (
        "rows=tuple(replace(one, value=float('nan')) for one in table.rows)",
        "nan as facts.tables[orders].rows[0].value",
    ),
    "more than sure": (
        "rows=tuple(replace(one, quality=500) for one in table.rows)",
        "500 as facts.tables[orders].rows[0].quality",
    ),
    "a number without end": ("dead_rows=10**30", "1000000000000000000000000000000 as facts.tables[orders].dead_rows"),
    "an unknown kind": ("kind='banana'", "'banana' as facts.tables[orders].kind"),
    "a column of another kind": (
        "columns=tuple(replace(one, nullable='no') for one in table.columns)",
        "'no' as facts.tables[orders].columns[0].nullable",
    ),
    "a time as text": ("statistics_at='now'", "'now' as facts.tables[orders].statistics_at"),
}
UNITS = {
    "no units": ("None", "NoneType where units belong"),
    "a generator": ("(unit for unit in units)", "generator where units belong"),
    "dicts": ("[{'index': 0}]", "something else where units belong"),
    "none at all": ("()", "none where units belong"),
    "numbers from 1": ("[replace(unit, index=unit.index + 1) for unit in units]", "the index 1 to unit 0"),
    "text as a number of rows": ("[replace(unit, rows='many') for unit in units]", "'many' as unit 0.rows"),
}


@pytest.mark.parametrize("what", [*FACTS, *UNITS])
def test_facts_and_units_of_wrong_types_mark_the_exports_of_their_source(shop: Shop, what: str) -> None:
    table, units = FACTS.get(what, ("", ""))[0], UNITS.get(what, ("units", ""))[0]
    said = (FACTS.get(what) or UNITS[what])[1]
    shop.install(f"""
    from dataclasses import replace
    from rivet_core.api import SourceSpec
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)

        def inspect(self, items):
            found = self.good.inspect(items)
            return replace(found, tables={{name: replace(table, {table}) for name, table in found.tables.items()}})

        def units(self, spec, committed):
            units = self.good.units(spec, committed)
            return {units}
    """)
    (shop.root / "rivet.yaml").write_text(
        CONFIG.replace("source: {", "sources:\n  odd: {type: evil, path: shop.db}\n  default: {")
        .replace("name: orders,", "name: orders, source: odd,")
        .replace("name: notes,", "name: notes, source: default,")
    )
    status, out, err = shop.run("plan", "--json")
    assert status == 1, out + err
    orders, notes = json.loads(out)["exports"]
    assert (orders["status"], notes["status"]) == ("unplannable", "planned")
    assert f"the plugin of source type evil failed: it gave {said}" in orders["error"]["message"]
    status, out, _ = shop.run("check", "--json")
    assert (status, json.loads(out)["ok"]) == (2, False)


@pytest.mark.parametrize(
    ("validator", "said"),
    [
        ("raise KeyError('secret-in-here')", "KeyError at evil_plugin.py"),
        ("raise SystemExit(0)", "SystemExit at evil_plugin.py"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt at evil_plugin.py"),
    ],
)
@pytest.mark.parametrize("kind", ["rule", "source", "destination"])
def test_an_options_model_that_fails_is_exit_3(shop: Shop, kind: str, validator: str, said: str) -> None:
    """One that left made the plan a success of nothing."""
    shop.install(f"""
    from pydantic import field_validator
    from rivet_core.api import DestinationSpec, SourceSpec
    from rivet_core.options import PluginOptions

    class Options(PluginOptions):
        path: str = ""

        @field_validator("path")
        @classmethod
        def look(cls, value):
            {validator}

    @hookimpl
    def rivet_scoring_rules():
        return [ScoringRule(name="evil", summary="s", codes=("X-evil-1",), options=Options, score=lambda facts, options: [])]

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=Options, connect=lambda options: None)]

    @hookimpl
    def rivet_destinations():
        return [DestinationSpec(name="evil", summary="s", options=Options, open=lambda options: None)]
    """)
    config = {
        "rule": CONFIG + "plugins: {options: {evil: {path: x}}}\n",
        "source": CONFIG.replace("type: sqlite", "type: evil"),
        "destination": CONFIG.replace("type: local", "type: evil"),
    }[kind]
    (shop.root / "rivet.yaml").write_text(config)
    for command in ("plan", "check", "run", "doctor"):
        status, out, err = shop.run(command)
        assert status == 3, (command, out, err)
        assert f"the options model of its plugin failed: {said}" in out + err
        assert "secret-in-here" not in out + err


def test_doctor_looks_at_the_options_of_rules(shop: Shop) -> None:
    shop.install("""
    from rivet_core.options import PluginOptions

    class Options(PluginOptions):
        points: int = 3

    @hookimpl
    def rivet_scoring_rules():
        return [ScoringRule(name="evil", summary="s", codes=("X-evil-1",), options=Options, score=lambda facts, options: [])]
    """)
    (shop.root / "rivet.yaml").write_text(CONFIG + "plugins: {options: {evil: {pointz: 5}}}\n")
    status, out, _ = shop.run("doctor")
    assert status == 2
    assert "plugins.options.evil: pointz" in out
    assert "did you mean points?" in out


def test_whoever_ends_the_process_does_not_end_it_well(shop: Shop) -> None:
    """Such as a renderer's reference whose call is made by no guard: the last line of defence is the command line's."""
    shop.install("""
    class Leaving(str):
        def __str__(self): raise SystemExit(0)

    @hookimpl
    def rivet_renderers():
        return [PlanRenderer(name="evil", summary="s", media_type="text/plain", render=lambda plan: Leaving("x"))]
    """)
    status, _, err = shop.run("plan", "--format", "evil")
    assert status in (3, 7)
    assert "SystemExit" in err


RENDERERS = {
    "raises": ("raise ValueError('x')", "ValueError: x"),
    "leaves": ("raise SystemExit(0)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "nothing": ("return None", "it returned NoneType, not text"),
    "bytes": ("return b'x'", "it returned bytes, not text"),
    "sleeps": ("import time; time.sleep(600)", "it took more than 0.3 s"),
}


STREAMS = {
    "fails halfway": (
        "def __iter__(self):\n    yield next(iter(self.good)).slice(0, 10)\n    raise ValueError('secret-in-here')",
        "ValueError at evil_plugin.py",
    ),
    "ends early": (
        "def __iter__(self):\n    yield next(iter(self.good)).slice(0, 10)",
        "it gave 10 rows of unit 0 and not how far they reach",
    ),
    "leaves": ("def __iter__(self): raise SystemExit(0)", "SystemExit at evil_plugin.py"),
    "other columns": (
        "def __iter__(self):\n    for batch in self.good: yield batch.select(['id'])",
        "it gave a batch with other columns than the stream's schema has",
    ),
    "a table": (
        "def __iter__(self):\n    for batch in self.good: yield pa.Table.from_batches([batch])",
        "it gave a Table where a record batch belongs",
    ),
    "nothing": ("def __iter__(self): yield None", "it gave a NoneType where a record batch belongs"),
    "no iterator": ("def __iter__(self): return None", "TypeError at "),
    "no schema": ("schema = 3", "its schema is a int"),
    "no mark": ("marks = None", "it gave 100 rows of unit 0 and not how far they reach"),
    "a text as marks": ("marks = 'x'", "its marks are no tuple of marks"),
    "a number in a mark": ("marks = (Mark(column='id', type='INTEGER', value=7),)", "its marks are no tuple of marks"),
    "another cursor": ("marks = (Mark(column='v', type='TEXT', value='7'),)", "its marks are on v, the cursor is id"),
    "texts as counts": ("counts = {'v': 'many'}", "its counts are no mapping of texts to whole numbers"),
}


def hostile_stream(shop: Shop, body: str) -> None:
    shop.install(f"""
    import pyarrow as pa
    from rivet_core.api import SourceSpec
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good
    from rivet_core.facts import Mark

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)
        def read(self, spec, unit): return Stream(self.good.read(spec, unit))

    class Stream:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)
        def __iter__(self): return iter(self.good)
        {textwrap.indent(body, "        ").strip()}
    """)
    (shop.root / "rivet.yaml").write_text(CONFIG.replace("type: sqlite", "type: evil"))


@pytest.mark.parametrize("what", STREAMS)
def test_a_stream_that_breaks_its_promise_fails_its_export_by_name_and_nothing_is_published(shop: Shop, what: str) -> None:
    body, said = STREAMS[what]
    hostile_stream(shop, body)
    status, out, err = shop.run("run", "-e", "notes", "--json")
    (export,) = json.loads(out)["exports"]
    # What it raises is a bug, what it says wrongly a failure of its source.
    assert (status, export["status"]) == (7 if " at " in said else 1, "failed")
    assert f"notes: the plugin of source default failed: {said}" in export["error"]["message"]
    assert "secret-in-here" not in out + err
    assert json.loads(shop.run("files", "notes", "--json")[1])["files"] == []
    assert json.loads(shop.run("state", "show", "-e", "notes", "--json")[1])["exports"][0]["cursor"] == []


LATE = {
    "close": ("raise SystemExit(0)", (0, 0), ""),
    "close, interrupting": ("raise KeyboardInterrupt", (0, 0), ""),
    "probe": ("raise SystemExit(0)", (1, 1), "the plugin of source type evil failed: SystemExit"),
    "probe, interrupting": ("raise KeyboardInterrupt", (1, 1), "the plugin of source type evil failed: KeyboardInterrupt"),
    "limit": ("raise SystemExit(0)", (1, 1), "the plugin of source type evil failed: SystemExit"),
    "digest": ("raise SystemExit(0)", (0, 7), "orders: SystemExit at evil_plugin.py"),
    "digest, interrupting": ("raise KeyboardInterrupt", (0, 7), "notes: KeyboardInterrupt at evil_plugin.py"),
    "digest, no digest": ("return 7", (0, 1), "it gave a int where a UnitDigest belongs"),
}


@pytest.mark.parametrize("what", LATE)
def test_what_a_session_raises_later_is_its_own(shop: Shop, what: str) -> None:
    body, codes, said = LATE[what]
    shop.install(f"""
    from rivet_core.api import SourceSpec
    from rivet_core.builtin.sqlite.options import SqliteOptions
    from rivet_core.builtin.sqlite.session import connect as good

    @hookimpl
    def rivet_sources():
        return [SourceSpec(name="evil", summary="s", options=SqliteOptions, connect=lambda options: Session(good(options)))]

    class Session:
        def __init__(self, good): self.good = good
        def __getattr__(self, name): return getattr(self.good, name)
        def {what.partition(",")[0]}(self, *args, **more):
            {body}
    """)
    config = shop.root / "rivet.yaml"
    assert shop.run("run", "-q")[0] == 0
    config.write_text(CONFIG.replace("type: sqlite", "type: evil"))
    for command, code in zip(("run", "reconcile"), codes, strict=True):
        status, out, err = shop.run(command)
        assert status == code, (command, out, err)
        assert not code or said in out + err


def test_a_stream_that_cannot_be_closed_has_delivered_all_the_same(shop: Shop) -> None:
    hostile_stream(shop, "def close(self): raise SystemExit(0)")
    status, out, err = shop.run("run", "--json")
    assert status == 0
    assert [export["rows"] for export in json.loads(out)["exports"]] == [100, 100]
    assert "its stream could not be closed" in err


@pytest.mark.parametrize("what", RENDERERS)
def test_a_renderer_that_raises_or_answers_nonsense_is_exit_3(shop: Shop, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivet_core.cli.plan.RENDER_SECONDS", 0.3)
    body, said = RENDERERS[what]
    shop.install(f"""
    @hookimpl
    def rivet_renderers():
        return [PlanRenderer(name="bad", summary="s", media_type="text/plain", render=render)]

    def render(plan):
        {body}
    """)
    status, out, err = shop.run("plan", "--format", "bad")
    assert status == 3
    assert not out
    assert f"renderer bad of rivet-evil failed: {said}" in err


def test_a_format_that_nobody_offers_is_refused_before_anything_is_done(shop: Shop) -> None:
    before = (shop.root / "rivet.yaml").read_bytes()
    status, _, err = shop.run("plan", "--format", "tabel", "-o", "plan.json", "--write-waves")
    assert status == 2
    assert "hint: the formats are table, json, html" in err
    assert (shop.root / "rivet.yaml").read_bytes() == before
    assert not (shop.root / "plan.json").exists()


def test_the_time_limit_is_the_documented_one() -> None:
    assert (limit.SECONDS, RuleClock().budget) == (10.0, 10.0)


def test_the_help_imports_none_of_200_plugins(rivet: Project) -> None:
    site = rivet.path / "site"
    site.mkdir()
    for number in range(200):
        dist(site, f"p{number}", "import pathlib; pathlib.Path(__file__).with_suffix('.imported').touch()\nraise ValueError")
    rivet.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
    for command in (["--help"], ["plan", "--help"], ["--version"]):
        said = rivet.run(*command).assert_done()
        assert said.seconds < 5
        assert not list(site.glob("*.imported")), command
    listed = rivet.run("plugins", "list", "--json").assert_done().json()["plugins"]
    assert len([plugin for plugin in listed if plugin["status"] == "broken"]) == 200
    assert len(list(site.glob("*.imported"))) == 200
