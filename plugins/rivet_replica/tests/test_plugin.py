"""The plugin as a whole, as anybody's: admitted, light to import, on public modules only, one page per code."""

from __future__ import annotations

from pathlib import Path

import rivet_replica
from rivet_core.testing import PluginConformance

ROOT = Path(__file__).parents[1]
HEADINGS = ("What it says", "Why it matters", "How it is computed", "False positives", "Remedy", "Example")


class TestPlugin(PluginConformance):
    plugin = "rivet_replica"
    module = "rivet_replica"


def test_every_code_has_a_page_and_every_page_a_code():
    codes = {code for rule in rivet_replica.rivet_scoring_rules() for code in rule.codes}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} == codes
    for code in codes:
        text = (ROOT / "docs" / f"{code}.md").read_text()
        assert text.startswith(f"# {code}: ")
        assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(HEADINGS)


def test_the_readme_names_every_option():
    from rivet_replica.options import ReplicaOptions

    text = (ROOT / "README.md").read_text()
    for name, field in ReplicaOptions.model_fields.items():
        assert f"{name}: {field.default:g}\n" in text
