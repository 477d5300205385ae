"""Files that commands write: never over what they read, and never in the place of a link, a pipe or a device."""

from __future__ import annotations

import os
import sqlite3

import pytest
import yaml

from rivet_core.config import load_config
from tests.cli.shop import Shop


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    assert cli("run", "-q").code == 0
    assert cli("plan", "-q", "-o", "plan.json").code == 0
    return made


INPUTS = ["rivet.yaml", "plan.json", ".rivet/state.db", "shop.db"]


@pytest.mark.parametrize("way", ["as it is", "symlink", "hard link", "roundabout"])
@pytest.mark.parametrize("name", INPUTS)
def test_nothing_that_is_read_is_overwritten(cli, shop, name, way):
    target = shop.root / name
    named = target
    if way == "symlink":
        named = shop.root / "link"
        named.symlink_to(target)
    elif way == "hard link":
        named = shop.root / "link"
        os.link(target, named)
    elif way == "roundabout":
        named = shop.root / ".rivet" / ".." / name
    before = target.read_bytes()[:16]  # planning adds to the state, as it should
    commands = [("apply", "plan.json", "--summary-output", named)]
    if name != "plan.json":
        commands += [("plan", "-o", named), ("run", "--summary-output", named), ("apply", "--summary-output", named)]
    if name.endswith(".db"):
        commands.append(("init", "--source", "sqlite:///shop.db", "--force", "-o", named))
    for command in commands:
        said = cli(*command, "-q")
        assert said.code == 2, (command, said)
        assert f"error: {named} is " in said.err
        assert "hint: name another file" in said.err
        assert target.read_bytes()[:16] == before, command


def test_the_place_of_a_state_that_is_not_there_yet_is_refused_too(cli, tmp_path):
    Shop(tmp_path)
    (tmp_path / ".rivet").mkdir()
    for ending in ("", "-wal", "-shm", "-journal"):
        said = cli("plan", "-q", "-o", f".rivet/state.db{ending}")
        assert said.code == 2, said
        assert "is the state database" in said.err
    assert not list((tmp_path / ".rivet").iterdir())


def test_another_file_is_replaced_whole(cli, shop):
    (shop.root / "old.json").write_text("old")
    assert cli("plan", "-q", "-o", "old.json").code == 0
    assert cli("apply", "plan.json", "-q", "--summary-output", "old.json").code == 0
    assert (shop.root / "old.json").read_text().startswith("{")
    assert not list(shop.root.glob(".old.json*"))


@pytest.mark.parametrize("command", ["init", "plan", "summary"])
def test_a_link_and_a_pipe_keep_their_place(cli, shop, command):
    words = {
        "init": ("init", "--source", "sqlite:///shop.db", "--force", "-o"),
        "plan": ("plan", "-o"),
        "summary": ("apply", "plan.json", "--summary-output"),
    }[command]
    link, aim, pipe = shop.root / "link", shop.root / "aim", shop.root / "pipe"
    link.symlink_to(aim)
    assert cli(*words, link, "-q").code == 0
    assert link.is_symlink()
    assert aim.stat().st_size
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert cli(*words, pipe, "-q").code == 0
    assert pipe.is_fifo()
    assert os.read(reader, 1 << 20)
    os.close(reader)


def test_init_force_replaces_a_config(cli, shop):
    assert cli("init", "--source", "sqlite:///shop.db", "-q").code == 2
    assert cli("init", "--source", "sqlite:///shop.db", "-q", "--force").code == 0
    assert len(load_config(shop.root / "rivet.yaml").exports) == 2
    assert sqlite3.connect(shop.root / "shop.db").execute("SELECT count(*) FROM orders").fetchone() == (50,)


def test_a_file_that_the_config_reads_is_not_overwritten(cli, shop):
    (shop.root / "query.sql").write_text("SELECT * FROM orders")
    (shop.root / "where").write_text("sqlite:///shop.db")
    (shop.root / "state").write_text("sqlite:///.rivet/state.db")
    config = {
        "source": {"type": "sqlite", "url_file": "where"},
        "destination": {"type": "local", "path": "out"},
        "state": {"url": "${file:state}"},
        "exports": [{"name": "orders", "query_file": "query.sql"}, {"name": "other", "table": "customers"}],
    }
    (shop.root / "rivet.yaml").write_text(yaml.safe_dump(config))
    (shop.root / "link").symlink_to("where")
    for target in ("query.sql", "where", "state", "link"):
        said = cli("plan", "-q", "-o", target)
        assert said.code == 2, said
        assert f"{target} is a file that the config reads" in said.err
        assert cli("run", "-q", "--summary-output", target).code == 2
    assert (shop.root / "query.sql").read_text().startswith("SELECT")
    assert cli("plan", "-q", "-o", "other").code == 0, "the name of an export, and no file"
    assert cli("plan", "-q", "-o", "other").code == 0, "a plan is replaced by the next"
    for ending in ("", "-wal"):
        assert cli("plan", "-q", "-o", f".rivet/state.db{ending}").code == 2
