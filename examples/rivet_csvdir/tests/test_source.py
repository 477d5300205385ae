"""The source under the conformance kit, and what is special about files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rivet_csvdir.options import Options
from rivet_csvdir.session import connect

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import InspectItem, Mode, ReadSpec
from rivet_core.testing import SourceConformance
from rivet_core.testing.conformance.table import COLUMNS, Row, rows

TYPES = {"id": "bigint not null", "label": "text", "changed_at": "timestamp not null"}


class TestSource(SourceConformance):
    """Every check of the kit for this kind."""

    name = "csvdir"

    @pytest.fixture
    def options(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"path": str(tmp_path / "in"), "tables": {"events": {"key": "id", "columns": TYPES}}}

    @pytest.fixture
    def table(self, tmp_path: Path, insert: Callable[[Sequence[Row]], None]) -> str:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "events.csv").write_text(",".join(COLUMNS) + "\n")
        insert(rows())
        return "events"

    @pytest.fixture
    def insert(self, tmp_path: Path) -> Callable[[Sequence[Row]], None]:
        def add(more: Sequence[Row]) -> None:
            with (tmp_path / "in" / "events.csv").open("a", newline="", encoding="utf-8") as file:
                for row in more:
                    label = "" if row.label is None else '"' + row.label.replace('"', '""') + '"'
                    file.write(f"{row.id},{label},{row.changed_at.isoformat(sep=' ')}\n")

        return add

    @pytest.fixture
    def refused(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"path": str(tmp_path / "not_there")}


def folder(path: Path, tables: Mapping[str, Any] | None = None, **files: str) -> Any:
    for name, text in files.items():
        (path / f"{name}.csv").write_text(text, encoding="utf-8")
    return connect(Options(path=path, tables=tables or {}))


def read(session: Any, table: str, **more: Any) -> list[dict[str, Any]]:
    spec = ReadSpec(export="e", table=table, **more)
    return [row for unit in session.units(spec, ()) for batch in session.read(spec, unit) for row in batch.to_pylist()]


def test_an_empty_value_is_null_and_a_quoted_one_is_not(tmp_path: Path) -> None:
    session = folder(tmp_path, t='a,b\n1,\n2,""\n3,"two\nlines"\n')
    assert [row["b"] for row in read(session, "t")] == [None, "", "two\nlines"]


def test_chunks_with_missing_keys_lose_nobody(tmp_path: Path) -> None:
    session = folder(tmp_path, {"t": {"columns": {"k": "bigint"}}}, t="k\n" + "\n".join(map(str, range(50))) + '\n""\n')
    with pytest.raises(SourceError, match="does not fit"):
        read(session, "t")
    session = folder(tmp_path, {"t": {"columns": {"k": "bigint"}}}, t="k,v\n" + "".join(f"{n},x\n" for n in range(50)) + ",x\n")
    found = read(session, "t", mode=Mode.CHUNKED, chunk_column="k", chunk_size=10)
    assert sorted(row["k"] for row in found if row["k"] is not None) == list(range(50))
    assert [row["k"] for row in found].count(None) == 1


@pytest.mark.parametrize(("word", "seen"), [("include", [None, None]), ("skip", [])])
def test_rows_without_a_cursor(tmp_path: Path, word: str, seen: list[None]) -> None:
    session = folder(tmp_path, {"t": {"columns": {"at": "decimal( 5, 2 )"}}}, t="at,v\n1.50,x\n,y\n,z\n")
    how = {"mode": Mode.INCREMENTAL, "cursor": ("at",)}
    assert [row["at"] for row in read(session, "t", **how, null_cursor=word) if row["at"] is None] == seen
    with pytest.raises(SourceError, match="without a value in at"):
        read(session, "t", **how, null_cursor="fail")


def test_what_does_not_fit_is_refused_without_its_value(tmp_path: Path) -> None:
    session = folder(tmp_path, {"t": {"columns": {"a": "bigint"}}}, t="a\nsecret-text\n")
    with pytest.raises(SourceError) as caught:
        read(session, "t")
    assert "secret-text" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("name", ["../t", "/etc/passwd", "T", "missing", ""])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match="there is no table"):
        read(folder(inner, u="a\n1\n"), name)


def test_every_file_is_found(tmp_path: Path) -> None:
    session = folder(tmp_path, b="x\n1\n", a="y\n2\n")
    assert list(session.inspect([]).tables) == ["a", "b"]


@pytest.mark.parametrize("text", ["", "a,a\n1,2\n"])
def test_a_header_that_names_no_columns_is_a_marked_table(tmp_path: Path, text: str) -> None:
    facts = folder(tmp_path, t=text).inspect([InspectItem(name="t", table="t")]).tables["t"]
    assert "header" in facts.problem


def test_a_type_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="is no type"):
        Options(path=tmp_path, tables={"t": {"columns": {"a": "integerr"}}})


def test_what_files_cannot_do_is_said(tmp_path: Path) -> None:
    session = folder(tmp_path, t="a,at\n1,2024-01-01\n")
    with pytest.raises(ConfigError, match="cannot be read so"):
        session.units(ReadSpec(export="e", table="t", mode=Mode.TIME_WINDOW, time_column="at"), ())
    with pytest.raises(ConfigError, match="need a column of type bigint"):
        session.units(ReadSpec(export="e", table="t", mode=Mode.CHUNKED), ())


def test_quotes_survive_the_round_trip(tmp_path: Path) -> None:
    values = ['a "b"', "c,d", "e\nf", "g"]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["v", "n"], *([value, 1] for value in values)])
    assert [row["v"] for row in read(folder(tmp_path), "t")] == values
