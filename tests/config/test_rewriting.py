"""A config is replaced whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rivet_core.config.rewriting import rewrite
from rivet_core.errors import ConfigError


def accept(draft: Path) -> None:
    assert draft.read_bytes() == b"new"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "rivet.yaml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    return path


def test_mode_and_link_stay(config: Path) -> None:
    link = config.parent / "linked" / "rivet.yaml"
    link.parent.mkdir()
    link.symlink_to("../rivet.yaml")
    rewrite(link, b"old", b"new", accept)
    assert link.is_symlink()
    assert config.read_bytes() == b"new"
    assert config.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in config.parent.iterdir()) == ["linked", "rivet.yaml"]


def test_a_write_protected_file_is_refused(config: Path) -> None:
    config.chmod(0o444)
    with pytest.raises(ConfigError, match="read-only") as caught:
        rewrite(config, b"old", b"new", accept)
    assert caught.value.code == "read_only"
    assert config.read_bytes() == b"old"


def test_what_changed_meanwhile_is_kept(config: Path) -> None:
    config.write_bytes(b"theirs")
    with pytest.raises(ConfigError, match="changed by somebody else"):
        rewrite(config, b"old", b"new", accept)
    assert config.read_bytes() == b"theirs"


def test_a_draft_that_is_no_config_changes_nothing(config: Path) -> None:
    def refuse(draft: Path) -> None:
        raise ConfigError(f"{draft.name} is wrong")

    with pytest.raises(ConfigError, match="is wrong"):
        rewrite(config, b"old", b"new", refuse)
    assert config.read_bytes() == b"old"
    assert os.listdir(config.parent) == ["rivet.yaml"]  # noqa: PTH208


def test_a_directory_that_takes_no_draft_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write"):
        rewrite(tmp_path / "gone" / "rivet.yaml", b"old", b"new", accept)
