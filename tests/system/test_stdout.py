"""O06: data and nothing else on stdout; a reader that goes away is quiet, not a success, and moves no cursor."""

from __future__ import annotations

import csv
import io
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet_core.testing.project import Project

ROWS = 60_000


@pytest.fixture
def shop(rivet: Project) -> Project:
    with closing(sqlite3.connect(rivet.path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", ((i, f"note {i}") for i in range(1, ROWS + 1)))
        connection.commit()
    return rivet


def config(project: Project, keys: str) -> None:
    project.config(
        f"""
        source: {{type: sqlite, path: shop.db}}
        destination: {{type: stdout}}
        exports: [{{name: orders, table: orders, {keys}}}]
        """
    )


def run_into_file(project: Project, *arguments: str) -> tuple[int, bytes, str]:
    process = project.start(*arguments)
    process.stdout = process.stdout.detach()  # type: ignore[union-attr]
    out, err = process.stdout.read(), process.stderr.read()  # type: ignore[union-attr]
    return process.wait(timeout=60), out, err


@pytest.mark.parametrize("flags", [("-v",), ("--events",), ("--json",)])
def test_o06_data_only_whatever_else_is_said(shop, flags):
    config(shop, "format: csv, mode: incremental, cursor_column: id, null_cursor: skip")
    code, out, err = run_into_file(shop, "run", *flags)
    assert code == 0, err
    rows = list(csv.reader(io.StringIO(out.decode())))
    assert rows[0] == ["id", "note"]
    assert [int(row[0]) for row in rows[1:]] == list(range(1, ROWS + 1))
    assert err, "everything else is on stderr"
    code, out, _ = run_into_file(shop, "run", "-q")
    assert (code, out) == (0, b"id,note\r\n"), "nothing new"


def test_parquet_goes_through_a_pipe(shop):
    config(shop, "format: parquet")
    code, out, err = run_into_file(shop, "run", "-q")
    assert code == 0, err
    assert pq.read_table(io.BytesIO(out)).num_rows == ROWS


def test_o06_a_broken_pipe(shop):
    config(shop, "format: csv, mode: incremental, cursor_column: id, null_cursor: skip")
    process = shop.start("run", "-q")
    assert process.stdout is not None
    first = os.read(process.stdout.fileno(), 9)
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert first == b"id,note\r\n"
    assert process.stderr is not None
    assert process.stderr.read() == ""
    state = shop.run("state", "show", "--json").assert_done().json()["exports"][0]
    assert (state["cursor"], state["last_run"]["status"]) == ([], "killed")


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("mode: chunked, chunk_column: id", "chunked"),
        ("partition_by: [note]", "partitions"),
        ("max_file_size: 1MB", "max_file_size"),
    ],
)
def test_what_needs_several_files_is_refused(shop, keys, why):
    config(shop, keys)
    done = shop.run("run", "-q")
    done.assert_failed(2, why)
    assert not Path(shop.path / "stdout").exists()


def test_two_exports_cannot_share_it(shop):
    shop.config(
        """
        source: {type: sqlite, path: shop.db}
        destination: {type: stdout}
        exports: [{name: a, table: orders}, {name: b, table: orders}]
        """
    )
    shop.run("run").assert_failed(2, "same place")


def test_head_as_people_use_it(shop):
    config(shop, "format: csv")
    command = " ".join(shop._command("run", "-q"))
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"],
        cwd=shop.path,
        env=shop._environment(None),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("id,note\n141\n", "")
