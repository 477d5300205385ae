"""What these tests share: a session on a fresh database, and a whole read as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from rivet_core.facts import Mark, ReadSpec, Tuning, Unit
from rivet_mysql.options import MysqlOptions
from rivet_mysql.session import MysqlSession, connect

ENGINES = ("auto", "rows")


@dataclass
class Delivery:
    """What the units of one read delivered."""

    units: tuple[Unit, ...]
    tables: list[pa.Table] = field(default_factory=list)
    marks: list[tuple[Mark, ...] | None] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables)

    @property
    def schema(self) -> pa.Schema:
        return self.tables[0].schema

    def column(self, name: str) -> list[Any]:
        return self.table.column(name).to_pylist()

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.table.to_pylist()]


Reader = Callable[..., Delivery]


@pytest.fixture(params=ENGINES)
def session(request, mysql) -> Iterator[MysqlSession]:
    """A session by each engine: both must deliver the same."""
    opened = connect(MysqlOptions(url=mysql.url, engine=request.param))
    yield opened
    opened.close()


@pytest.fixture
def plain(mysql) -> Iterator[MysqlSession]:
    """One session, where the engine plays no part."""
    opened = connect(MysqlOptions(url=mysql.url))
    yield opened
    opened.close()


def deliver(session: MysqlSession, table: str | None = None, *, committed=(), units=None, **spec: Any) -> Delivery:
    """Read a table (or `query=`) from its units to the last row. Small pages, so that several are needed."""
    spec.setdefault("tuning", Tuning(batch_rows=700, batch_bytes=60_000, pause_share=0.0))
    spec.setdefault("out_of_range", "null_counted")
    asked = ReadSpec(export=spec.pop("export", table or "q"), table=table, **spec)
    chosen = session.units(asked, committed) if units is None else units
    delivery = Delivery(units=chosen)
    for unit in chosen:
        stream = session.read(asked, unit)
        delivery.tables.append(pa.Table.from_batches(list(stream), stream.schema))
        delivery.marks.append(stream.marks)
        for key, count in stream.counts.items():
            delivery.counts[key] = delivery.counts.get(key, 0) + count
    return delivery


@pytest.fixture
def read(session) -> Reader:
    """Read by each engine in turn."""
    return partial(deliver, session)


@pytest.fixture
def read_once(plain) -> Reader:
    """Read by the engine that `auto` chooses."""
    return partial(deliver, plain)
