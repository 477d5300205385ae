"""The columns that an export would write, as far as names can be wrong before anything is read."""

from __future__ import annotations

from collections import Counter

from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec, TableFacts


def columns_problem(table: TableFacts, spec: ExportSpec) -> ConfigError | None:
    """Return why the columns of a query cannot be the columns of a file, or `quality` cannot hold for them; `None` if they can.

    A table has no such columns; a query has two of one name, or one without, where its SELECT list does not name them.
    """
    names = [column.name for column in table.columns if not spec.columns or column.name in spec.columns]
    if not names:
        return None
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None or "" in names:
        what = "a column without a name" if twice is None else f"two columns named {twice}"
        return ConfigError(
            f"its query has {what}", hint="name each in the SELECT list: ... AS a, ... AS b", code="query_columns"
        )
    unread = spec.unread_quality(names)
    if unread:
        return ConfigError(f"{unread}, which is not read", hint=f"columns: {', '.join(names[:20])}", code="quality_columns")
    return None
