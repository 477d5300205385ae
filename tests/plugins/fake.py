"""Fake distributions on disk: a module and its dist-info, found by importlib.metadata like any installed plugin."""

from __future__ import annotations

import textwrap
from pathlib import Path


def install(
    site: Path,
    name: str,
    code: str,
    *,
    dist: str | None = None,
    version: str = "1.2.3",
    group: str = "rivet.v1",
    module: str | None = None,
) -> str:
    """Write a distribution with one entry point `name` into `site`; return its distribution name."""
    dist = dist or f"rivet-{name}"
    module = module or f"fake_{dist.replace('-', '_')}"
    (site / f"{module}.py").write_text(textwrap.dedent(code))
    info = site / f"{dist.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
    return dist


RULE = """
from rivet_core.api import hookimpl, ScoringRule

@hookimpl
def rivet_scoring_rules():
    rule = ScoringRule(name={name!r}, summary="adds nothing", codes=({code!r},), score="nowhere_at_all:score", dimension="risk")
    return [rule]
"""


def rule(name: str = "audit", code: str = "X-acme-1") -> str:
    """Return the code of a plugin with one rule, whose reference leads nowhere: listing must not follow it."""
    return RULE.format(name=name, code=code)
