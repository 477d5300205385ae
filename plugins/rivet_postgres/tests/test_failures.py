"""What to do about an error of the server: only a value that a column cannot be read as is a matter of `columns:`."""

from __future__ import annotations

import psycopg
import pytest

from rivet_core.sql.endpoint import Endpoint
from rivet_postgres.failures import translate

HERE = Endpoint(host="db", port=5432, user="u", database="shop")


@pytest.mark.parametrize(
    ("state", "kind", "hint"),
    [
        ("22003", "data", "`columns:`"),
        ("22007", "data", "`columns:`"),
        ("22008", "data", "`columns:`"),
        ("22P02", "data", "`columns:`"),
        ("22021", "data", "`columns:`"),
        ("22012", "data", "divides by zero"),
        ("22023", "data", "does not take"),
        ("2201E", "data", "the expression"),
        ("22004", "data", "the expression"),
        ("XX001", "data", "from a backup"),
    ],
)
def test_the_hint_is_about_the_cause(state, kind, hint):
    error = translate(psycopg.errors.lookup(state)("what the server said"), HERE, "reading t")
    assert (error.error_class, error.sqlstate) == (kind, state)
    assert hint in error.hint
    assert ("columns:" in error.hint) == (hint == "`columns:`")
