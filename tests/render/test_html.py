"""The page of a plan: the kit's checks, and that no text of a user becomes markup."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rivet_core.artifact import plan_bytes
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.render.html import render_html
from rivet_core.testing.conformance.renderer import RendererConformance

HOSTILE = "<script>alert('x')</script> & \"q\""


@pytest.fixture
def hostile_plan(tmp_path: Path) -> Mapping[str, Any]:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    connection.close()
    names = json.dumps([{"name": "good", "table": "t"}, {"name": "gone", "table": HOSTILE}])
    (tmp_path / "rivet.yaml").write_text(
        f"source: {{type: sqlite, path: a.db, source_group: {json.dumps(HOSTILE)}}}\n"
        f"destination: {{type: local, path: out}}\nexports: {names}\n"
    )
    config, registry = load_config(tmp_path / "rivet.yaml"), load_plugins(environ={})
    found: Mapping[str, Any] = json.loads(plan_bytes(build_plan(config, registry, PlanRequest())))
    return found


class Tags(HTMLParser):
    """Collects the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def test_no_text_of_a_user_becomes_markup(hostile_plan: Mapping[str, Any]) -> None:
    page = render_html(hostile_plan)
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.tags
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")


class TestHtmlRenderer(RendererConformance):
    name = "html"
    plugin = "core"

    @pytest.fixture
    def plan(self, hostile_plan: Mapping[str, Any]) -> Mapping[str, Any]:
        return hostile_plan
