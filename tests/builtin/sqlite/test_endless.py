from __future__ import annotations

import pytest

from rivet_core.errors import SourceError
from rivet_core.facts import Mode, ReadSpec
from tests.builtin.sqlite.reading import rows_of, run


def test_a_cursor_is_not_left_at_infinity(database, open_session) -> None:
    """Nothing sorts behind it, so every later row would be missed without a word."""
    rows = [(1, 1.5), (2, float("-inf"))]
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY, u REAL)", ("INSERT INTO t VALUES (?, ?)", rows)))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("u",))
    assert sorted(rows_of(run(session, spec, ())[0])) == rows
    path = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u REAL)", ("INSERT INTO t VALUES (?, ?)", [(3, float("inf"))]), name="b.db"
    )
    with pytest.raises(SourceError, match="behind which nothing sorts"):
        run(open_session(path), spec, ())
