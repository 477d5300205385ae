"""The kit catches what it is there to catch: each plugin below is wrong in a way that authors are wrong.

The kit runs on them in a pytest of its own, one for all bad plugins of a kind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


class Verdicts:
    """Which checks failed, by the name of the test class, and the whole output."""

    def __init__(self, directory: Path, text: str, files: dict[str, str] | None = None) -> None:
        for name, content in {"test_it.py": text, **(files or {})}.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        environ = {**os.environ, "PYTHONPATH": f"{directory}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--rootdir",
            str(directory),
        ]
        done = subprocess.run([*command, "test_it.py"], capture_output=True, text=True, env=environ, cwd=directory, check=False)
        self.output = done.stdout
        assert done.returncode == 1, done.stdout + done.stderr
        self._failed: dict[str, set[str]] = {}
        for line in done.stdout.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                _, owner, check = line.split(" ")[1].split("::")
                self._failed.setdefault(owner, set()).add(check)

    def of(self, owner: str) -> set[str]:
        """Return the checks that failed on one plugin."""
        return self._failed.get(owner, set())


RULES = {
    "Good": ("return [reason()]", ""),
    "Raises": ("return [reason(points=facts.table.rows[0].value)]", "test_it_never_fails"),
    "Remembers": ("calls.append(1); return [reason(points=len(calls) % 3)]", "test_it_is_pure"),
    "ReadsTheClock": ("return [reason(points=int(time.time() / 86400) % 97)]", "test_it_does_not_read_the_clock"),
    "TooMany": ("return [reason(points=1000)]", "test_its_points_are_bounded_and_whole"),
    "Fraction": ("return [reason(points=0.5)]", "test_its_points_are_bounded_and_whole"),
    "ForeignCode": ("return [reason(code='RV001')]", "test_it_uses_codes_of_its_own"),
    "Twice": ("return [reason(), reason()]", "test_it_uses_codes_of_its_own"),
    "NoEvidence": ("return [reason(evidence=())]", "test_every_point_is_explained"),
    "Silent": ("return []", "test_every_point_is_explained"),
    "FailingCases": ("return [reason()]", "test_its_cases_hold"),
    "MisspeltCase": ("return [reason()]", "test_its_cases_hold"),
    "HidesACheck": ("return [reason()]", "test_every_check_of_the_kit_runs"),
}

RULE_HEAD = """
import time
from pathlib import Path
import pytest
from rivet_core.api import ScoringRule
from rivet_core.facts import Dimension, Evidence, Reason, ReasonKind
from rivet_core.testing import RuleConformance

calls = []
KEPT = Evidence(signal="s", value=1, unit="", source="t", observed_at=None, quality=1)

def reason(**changes):
    fields = dict(code="X-a-001", kind=ReasonKind.MODIFIER, message="m", dimension=Dimension.COST, points=5, evidence=(KEPT,))
    return Reason(**{**fields, **changes})
"""

RULE = """
class {name}(RuleConformance):
    {more}

    @pytest.fixture
    def record(self):
        def score(facts, options):
            {body}

        return ScoringRule(name="r", summary="s", codes=("X-a-001",), score=score)
"""

RULE_MORE = {
    "FailingCases": "cases = Path('cases.yaml')",
    "MisspeltCase": "cases = Path('misspelt.yaml')",
    "HidesACheck": "def test_it_is_pure(self): pass",
}

CASES = """
- name: right
  facts: {table: {avg_width: 9000}}
  options: {}
  expect: [{code: X-a-001, points: 5}]
- name: too high
  facts: {table: {avg_width: 9000}}
  expect: [{code: X-a-001, points: 6}]
- name: should be silent
  facts: {spec: {mode: incremental}}
  expect: []
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    text = RULE_HEAD + "".join(
        RULE.format(name=f"Test{name}", body=body, more=RULE_MORE.get(name, "pass")) for name, (body, _) in RULES.items()
    )
    files = {"cases.yaml": CASES, "misspelt.yaml": "- {name: x, facts: {table: {avg_widht: 1}}, expect: []}"}
    return Verdicts(tmp_path_factory.mktemp("rules"), text, files)


@pytest.mark.parametrize("name", RULES)
def test_a_bad_rule(rules, name):
    _, caught = RULES[name]
    assert (caught in rules.of(f"Test{name}")) if caught else not rules.of(f"Test{name}"), rules.output


def test_cases_that_do_not_hold_are_all_named(rules):
    assert "too high: expected" in rules.output
    assert "should be silent: expected" in rules.output
    assert "right: expected" not in rules.output


def test_a_case_with_a_misspelt_field_names_the_right_one(rules):
    assert "TableFacts has no field avg_widht, did you mean avg_width?" in rules.output


def test_a_hidden_check_is_named(rules):
    assert "hidden by methods of the same name: test_it_is_pure" in rules.output


POLICIES = {
    "Good": ("sorted(job.name for job in jobs)", "state.heads[0].name", ""),
    "Forgets": ("[job.name for job in jobs][1:]", "state.heads[0].name", "test_every_answer_is_a_good_one"),
    "Waits": ("sorted(job.name for job in jobs)", "None", "test_every_answer_is_a_good_one"),
    "Invents": ("sorted(job.name for job in jobs)", "'nobody'", "test_every_answer_is_a_good_one"),
    "Listed": ("[job.name for job in jobs]", "state.heads[0].name", "test_the_order_of_asking_does_not_matter"),
}

POLICY = """
class {name}(PolicyConformance):
    @pytest.fixture
    def record(self):
        order, choose = lambda jobs, capacities: {order}, lambda state: {choose}
        return SchedulingPolicy(name="p", summary="s", order=order, next=choose)
"""


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    text = "import pytest\nfrom rivet_core.api import SchedulingPolicy\nfrom rivet_core.testing import PolicyConformance\n"
    for name, (order, choose, _) in POLICIES.items():
        text += POLICY.format(name=f"Test{name}", order=order, choose=choose)
    return Verdicts(tmp_path_factory.mktemp("policies"), text)


@pytest.mark.parametrize("name", POLICIES)
def test_a_bad_policy(policies, name):
    caught = POLICIES[name][-1]
    assert (caught in policies.of(f"Test{name}")) if caught else not policies.of(f"Test{name}"), policies.output


SOURCES = {
    "LosesAUnit": (
        "def units(self, spec, marks): return self.good.units(spec, marks)[:-1] or self.good.units(spec, marks)",
        "test_chunks_cover_each_row_exactly_once",
    ),
    "ForgetsTheMark": ("def units(self, spec, marks): return self.good.units(spec, ())", "test_since_is_exact"),
    "AsksPerTable": (
        "def inspect(self, items): found = self.good.inspect(items); return replace(found, statements=5 + len(items))",
        "test_inspect_asks_a_constant_number_of_questions",
    ),
    "HasNoAddress": ("def probe(self): return replace(self.good.probe(), address='')", "test_probe_says_what_server_it_is"),
    "ChangesItsSchema": (
        "def read(self, spec, unit): return self.good.read(replace(spec, columns=NAMES[:: -1 if unit.index else 1]), unit)",
        "test_all_units_have_one_schema",
    ),
    "IgnoresTheBatch": (
        "def read(self, spec, unit): return self.good.read(replace(spec, tuning=replace(spec.tuning, batch_rows=500)), unit)",
        "test_batches_are_bounded",
    ),
    "BringsEveryColumn": (
        "def read(self, spec, unit): return self.good.read(replace(spec, columns=()), unit)",
        "test_only_the_asked_columns_arrive",
    ),
    "ReadsTwice": (
        "def units(self, spec, marks): found = self.good.units(spec, marks); "
        "return found + ((replace(found[0], index=len(found)),) if spec.mode == 'full' else ())",
        "test_a_full_read_brings_every_value",
    ),
    "ForgetsTheLookback": (
        "def units(self, spec, marks): return self.good.units(replace(spec, lookback_seconds=None), marks)",
        "test_a_lookback_reads_the_last_stretch_again",
    ),
    "AddsUpWrongly": (
        "def digest(self, spec, unit, columns): return replace(self.good.digest(spec, unit, columns), total=7)",
        "test_a_digest_is_that_of_what_is_read",
    ),
    # The path of the missing file stands in sqlite's error; here it plays the password.
    "ShowsTheSecret": ("pass", "test_a_refused_connection_is_explained_and_shows_no_secret"),
}

SOURCE_HEAD = """
import sqlite3
from contextlib import closing
from dataclasses import replace
import pytest
from rivet_core.builtin import rivet_sources
from rivet_core.builtin.sqlite.session import connect
from rivet_core.testing import SourceConformance
from rivet_core.testing.conformance.table import COLUMNS as NAMES, create_sql, insert_sql, rows

class Sqlite(SourceConformance):
    secret = "s3cret"
    bad = None

    @pytest.fixture
    def record(self):
        return replace(rivet_sources()[0], connect=self.bad)

    @pytest.fixture
    def options(self, tmp_path):
        return {"path": str(tmp_path / "a.db")}

    @pytest.fixture
    def refused(self, tmp_path):
        return {"path": str(tmp_path / "s3cret.db")}

    @pytest.fixture
    def insert(self, tmp_path):
        def insert(found):
            with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
                connection.execute(insert_sql("t", found))

        return insert

    @pytest.fixture
    def table(self, tmp_path, insert):
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
            connection.execute(create_sql("t", timestamp="timestamp", text="text"))
        insert(rows())
        return "t"

class Bad:
    def __init__(self, options):
        self.good = connect(options)

    def __getattr__(self, name):
        return getattr(self.good, name)
"""

SOURCE = """
class {name}(Bad):
    {method}

class Test{name}(Sqlite):
    bad = {name}
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    text = SOURCE_HEAD + "".join(SOURCE.format(name=name, method=method) for name, (method, _) in SOURCES.items())
    return Verdicts(tmp_path_factory.mktemp("sources"), text)


@pytest.mark.parametrize("name", SOURCES)
def test_a_bad_source(sources, name):
    _, caught = SOURCES[name]
    found = sources.of(f"Test{name}")
    assert caught in found, sources.output
    assert "test_it_describes_every_column" not in found, sources.output


PLUGIN = """
import pydantic
import rivet_core.planning.judge
from rivet_core.api import ScoringRule, hookimpl

@hookimpl
def rivet_scoring_rules():
    return [ScoringRule(name="r", summary="s", codes=("X-acme-001",), score="acme_rivet:nothing")]
"""


DESTINATION = """
from rivet_core.api import DestinationSpec, hookimpl

class Options:
    pass

@hookimpl
def rivet_destinations():
    return [DestinationSpec(name="{name}", summary="s", options={options}, open="{name}_rivet:{open}")]

def start(options):
    raise NotImplementedError

something = 3
"""


def test_bad_plugins(tmp_path):
    text = """
        from rivet_core.testing import PluginConformance

        class TestHeavy(PluginConformance):
            plugin = "acme"
            module = "acme_rivet"

        class TestUnknownHook(PluginConformance):
            plugin = "odd"
            module = "odd_rivet"

        class TestPlainOptions(PluginConformance):
            plugin = "plain"
            module = "plain_rivet"

        class TestNoFunction(PluginConformance):
            plugin = "still"
            module = "still_rivet"

        class TestNoModule(PluginConformance):
            plugin = "gone"
            module = "gone_rivet"
    """
    files = {
        "acme_rivet.py": PLUGIN,
        "odd_rivet.py": "from rivet_core.api import hookimpl\n\n@hookimpl\ndef rivet_scoring_rulez():\n    return []\n",
        "plain_rivet.py": DESTINATION.format(name="plain", options="'plain_rivet:Options'", open="start"),
        "still_rivet.py": DESTINATION.format(name="still", options="'rivet_core.options:PluginOptions'", open="something"),
        "gone_rivet.py": "raise RuntimeError('no licence')",
    }
    for name in ("acme", "odd", "plain", "still", "gone"):
        files[f"{name}-1.0.dist-info/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        files[f"{name}-1.0.dist-info/entry_points.txt"] = f"[rivet.v1]\n{name} = {name}_rivet\n"
    verdicts = Verdicts(tmp_path, textwrap.dedent(text), files)
    heavy = {"test_its_import_is_light", "test_its_references_resolve", "test_it_imports_public_modules_only"}
    assert verdicts.of("TestHeavy") == heavy, verdicts.output
    assert verdicts.of("TestUnknownHook") == {"test_it_is_admitted"}, verdicts.output
    assert verdicts.of("TestPlainOptions") == verdicts.of("TestNoFunction") == {"test_its_references_resolve"}, verdicts.output
    assert verdicts.of("TestNoModule") == {"test_it_is_admitted", "test_its_import_is_light"}, verdicts.output
    assert "no subclass of rivet_core.options.PluginOptions" in verdicts.output
    assert "still_rivet:something is a int, not a function" in verdicts.output
    assert "gone_rivet cannot be imported: RuntimeError: no licence" in verdicts.output
    assert "make it a lazy reference" in verdicts.output
    assert "rivet_core.planning.judge" in verdicts.output
    assert "rivet_scoring_rulez" in verdicts.output
