"""docs/orchestrators.md: the plan as tasks that are started at once, and the capacity that holds over their processes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from tests.system.campaigns import Campaign, dataset, fill, table
from tests.system.sampler import Sampler

PAGE = (Path(__file__).parents[2] / "docs" / "orchestrators.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def tasks_of(plan: Path) -> dict[str, Any]:
    """Return what the page's own function makes of a plan."""
    space: dict[str, Any] = {}
    exec(compile(BLOCKS[0], "docs/orchestrators.md", "exec"), space)
    return dict(space["tasks_of"](str(plan)))


@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_of_the_page_is_python(block: str) -> None:
    compile(block, "docs/orchestrators.md", "exec")


def test_tasks_started_at_once_keep_the_capacity_of_their_group(shop: Campaign, postgres: PostgresDatabase) -> None:
    exports = fill(postgres, 5)
    late = {"name": "late", "query": "SELECT 1 AS a, pg_sleep(0.5)::text AS b", "depends_on": ["t0"]}
    shop.config(*exports, late, table("gone"), source_groups={"g": {"max_connections": 2}})
    plan = shop.project.path / "plan.json"
    shop.project.run("plan", "-o", plan).assert_failed(1, "gone")
    tasks = tasks_of(plan)
    assert tasks["late"]["upstream"] == ["t0"]
    assert sorted(tasks) == ["late", "t0", "t1", "t2", "t3", "t4"]
    first = [task["command"] for task in tasks.values() if not task["upstream"]]
    with Sampler.watching(postgres, postgres.user) as sampler:
        processes = [shop.project.start(*command[1:]) for command in first]
        for process in processes:
            output, errors = process.communicate(timeout=120)
            assert process.returncode == 0, output + errors
    assert sampler.peak <= 2
    assert sampler.highest >= 1, "nobody looked while they read"
    shop.project.run(*tasks["late"]["command"][1:]).assert_done()
    assert {name: dataset(shop, name).num_rows for name in tasks} == {"late": 1, **{f"t{number}": 20 for number in range(5)}}
    again = shop.project.run(*tasks["t0"]["command"][1:]).assert_done().json()
    assert [export["status"] for export in again["exports"]] == ["already_done"]
