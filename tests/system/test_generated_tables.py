"""Generated tables, read in units by one and by four workers while they change, hold the rule for readers.

Each row that was there at the start and was not deleted appears, no row appears twice, and each one as it was committed.
`RIVET_TABLES` says how many they are; `make soak` takes 1,000.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivet_core.testing.project import Project
from tests.system.campaigns import counts, dataset
from tests.system.either import ENGINES, Shop
from tests.system.generated import Changes, Table, drawn, plain

TABLES = int(os.environ.get("RIVET_TABLES", "40")) // len(ENGINES)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_generated_tables_are_read_exactly_while_they_change(
    engine: str, request: pytest.FixtureRequest, rivet: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = ENGINES[engine]
    shop = Shop(rivet, request.getfixturevalue(kind), kind, monkeypatch)
    steps = 0

    @settings(max_examples=TABLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        nonlocal steps
        steps += _read_while_it_changes(shop, data)

    holds()
    assert steps > TABLES, "nothing changed while the tables were read"


def _read_while_it_changes(shop: Shop, data: st.DataObject) -> int:
    one = data.draw(drawn(shop.kind))
    table = Table(shop, one)
    tuning = {"page_seconds": 0.01, "pause_share": 0, "throttle_ms": 5, "batch_size": 50}
    shop.export(mode="chunked", chunk_count=one.units, parallel=one.workers, tuning=tuning, groups={"max_connections": 5})
    plan = shop.plan()
    changes = Changes(table)
    changes.start()
    try:
        outcome = shop.apply(plan)
    finally:
        changes.over.set()
        changes.join()
    assert changes.error is None, changes.error
    assert counts(outcome) == {"done": 1}, outcome.exports[0].error
    versions = table.versions()
    place = len(table.keys)
    rows = [tuple(plain(value) for value in row.values()) for row in dataset(shop, "t").to_pylist()]
    numbers = [row[place] for row in rows]
    assert len(numbers) == len(set(numbers)), "a row came twice"
    assert {number for number in range(1, one.rows + 1) if number not in changes.deleted} <= set(numbers), "a row is missing"
    for row in rows:
        assert row in versions[row[place]], f"{row} was never committed: {versions[row[place]]}"
    return changes.steps
