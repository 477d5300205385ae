"""`rivet plan --write-waves`: what it writes, what it leaves, what it says."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rivet_core.artifact import read_plan
from rivet_core.config import load_config

TABLES = tuple("abcdefghijkl")
"""Enough that none of them may outlast a wave, though none was measured."""
HEAD = """\
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
planning: {workers: 1, waves: 3}
exports:
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        for name in TABLES:
            database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, v TEXT)")
            database.executemany(f"INSERT INTO {name} (v) VALUES (?)", [("x" * 100,)] * 300)
        database.commit()
    write(tmp_path)
    return tmp_path


def write(shop: Path, **more: str) -> None:
    lines = [f"- {{name: {name}, table: {name}{more.get(name, '')}}}" for name in TABLES]
    (shop / "rivet.yaml").write_text(HEAD + "\n".join(lines) + "\n")


def waves(shop: Path) -> dict[str, int | None]:
    return {spec.name: spec.wave for spec in load_config(shop / "rivet.yaml").exports}


def shown(plan: Any) -> dict[str, int]:
    return {name: wave["wave"] for wave in plan["campaign"]["waves"] for name in wave["exports"]}


def test_the_config_gets_what_the_plan_shows(cli: Any, shop: Path) -> None:
    said = cli("plan", "--write-waves", "--json", "-o", "plan.json")
    assert said.code == 0
    assert waves(shop) == shown(said.data)
    assert set(shown(said.data).values()) == {1, 2, 3}
    assert "+- {name: a, wave: 1, table: a}" in said.err
    assert "-- {name: a, table: a}" in said.err
    assert (shop / "plan.json").read_bytes() == said.out.encode()
    # The plan knows the text that it wrote: apply does not warn of a changed config.
    assert read_plan(shop / "plan.json").config.sha256 == load_config(shop / "rivet.yaml").sha256
    assert "changed" not in cli("apply", "plan.json").err


def test_a_second_time_there_is_nothing_to_write(cli: Any, shop: Path) -> None:
    cli("plan", "--write-waves")
    before = (shop / "rivet.yaml").stat()
    assert "nothing to write" in cli("plan", "--write-waves").err
    after = (shop / "rivet.yaml").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_hand_set_values_stay_unless_asked(cli: Any, shop: Path) -> None:
    write(shop, a=", wave: 9, parallel_safe: false")
    assert cli("plan", "--write-waves").code == 0
    assert waves(shop)["a"] == 9
    said = cli("plan", "--write-waves", "--overwrite", "--json")
    assert waves(shop) == shown(said.data)
    assert set(waves(shop).values()) == {1, 2, 3}
    assert load_config(shop / "rivet.yaml").exports[0].parallel_safe is True


def test_what_the_plan_finds_unsafe_is_written(cli: Any, shop: Path) -> None:
    write(shop, b=", heavy: true")
    said = cli("plan", "--write-waves")
    assert "parallel_safe: false on 1" in said.err
    specs = {spec.name: spec for spec in load_config(shop / "rivet.yaml").exports}
    assert [spec.parallel_safe for spec in specs.values()] == [None, False, *[None] * 10]


def test_what_another_waits_for_never_comes_later(cli: Any, shop: Path) -> None:
    write(shop, f=", wave: 1, depends_on: [e]", d=", depends_on: [f]")
    said = cli("plan", "--write-waves", "--json")
    assert said.code == 0
    assert waves(shop) == shown(said.data)
    assert waves(shop)["e"] == 1
    assert cli("run", "-q").code == 0


def test_only_asked_exports_are_written(cli: Any, shop: Path) -> None:
    cli("plan", "--write-waves", "-e", "c")
    assert {name: wave for name, wave in waves(shop).items() if wave} == {"c": 1}


def test_what_cannot_be_planned_gets_no_wave(cli: Any, shop: Path) -> None:
    with closing(sqlite3.connect(shop / "shop.db")) as database:
        database.execute("DROP TABLE c")
    said = cli("plan", "--write-waves")
    assert said.code == 1
    assert "no wave for what could not be planned: c" in said.err
    assert [name for name, wave in waves(shop).items() if wave is None] == ["c"]


def test_a_read_only_config_is_refused_and_kept(cli: Any, shop: Path) -> None:
    before = (shop / "rivet.yaml").read_bytes()
    (shop / "rivet.yaml").chmod(0o444)
    said = cli("plan", "--write-waves", "--json")
    assert said.code == 2
    assert said.data["error"]["code"] == "read_only"
    assert said.data["error"]["hint"]
    assert (shop / "rivet.yaml").read_bytes() == before


def test_overwrite_alone_means_nothing(cli: Any, shop: Path) -> None:
    said = cli("plan", "--overwrite")
    assert said.code == 2
    assert "--write-waves" in said.err


def test_the_diff_shows_no_credential(cli: Any, shop: Path) -> None:
    text = json.dumps(
        {
            "source": {"type": "sqlite", "path": "shop.db"},
            "destination": {"type": "s3", "bucket": "b", "access_key_id": "AKIA1", "secret_access_key": "s3cr3t-value"},
            "exports": [{"name": "a", "table": "a"}],
        }
    )
    (shop / "rivet.yaml").write_text(text)
    said = cli("plan", "--write-waves")
    assert '"wave": 1' in said.err
    assert "***" in said.err
    assert "s3cr3t-value" not in said.err + said.out


def test_no_other_command_touches_the_config(cli: Any, shop: Path) -> None:
    before = (shop / "rivet.yaml").read_bytes(), (shop / "rivet.yaml").stat().st_mtime_ns
    for command in (["doctor"], ["check"], ["plan", "-o", "p.json"], ["explain", "a"], ["run", "-q"], ["apply"], ["gc"]):
        cli(*command)
    assert ((shop / "rivet.yaml").read_bytes(), (shop / "rivet.yaml").stat().st_mtime_ns) == before
