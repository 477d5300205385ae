from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
def test_a_database(postgres):
    assert postgres.execute("SELECT 1") == [(1,)]

def test_a_restart(postgres):
    postgres.restart()

def test_the_log(postgres):
    assert postgres.log.statements() == []
"""


def run_pytest(directory, *options, **environ):
    (directory / "test_it.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", *options, "test_it.py"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environ}
    env = {name: value for name, value in env.items() if value}
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=directory, check=False)


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_what_a_foreign_server_cannot_do_is_skipped_loudly(tmp_path, postgres, options):
    done = run_pytest(tmp_path, *options, RIVET_TEST_POSTGRES_URL=postgres.admin_url, RIVET_REQUIRE_SERVICES="")
    assert done.returncode == 0, done.stdout
    assert "1 passed, 2 skipped" in done.stdout
    assert "MISSING SERVERS" in done.stdout
    assert "2 tests skipped: a private PostgreSQL is missing" in done.stdout
    assert "to get it: unset RIVET_TEST_POSTGRES_URL" in done.stdout


def test_where_servers_are_required_it_fails(tmp_path, postgres):
    done = run_pytest(tmp_path, RIVET_TEST_POSTGRES_URL=postgres.admin_url, RIVET_REQUIRE_SERVICES="1")
    assert done.returncode == 1, done.stdout
    assert "1 passed" in done.stdout
    assert "2 failed" in done.stdout
    assert "unset RIVET_TEST_POSTGRES_URL" in done.stdout


def test_a_test_is_marked_by_the_servers_it_asks_for(tmp_path):
    done = run_pytest(tmp_path, "-m", "not postgres", "--strict-markers")
    assert "3 deselected" in done.stdout, done.stdout


def test_collecting_starts_nothing_and_imports_nothing_heavy(tmp_path):
    probe = """
import sys

def pytest_collection_finish(session):
    heavy = {"pyarrow", "psycopg", "pymysql", "botocore", "pydantic", "sqlalchemy", "fsspec"}
    print("heavy:", sorted(heavy & set(sys.modules)))
"""
    (tmp_path / "conftest.py").write_text(probe)
    done = run_pytest(tmp_path, "--collect-only", "-q", "-s", "-p", "no:hypothesispytest", "-p", "no:xdist")
    assert "heavy: []" in done.stdout, done.stdout + done.stderr
