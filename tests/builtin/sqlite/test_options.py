from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.errors import ConfigError


def options(base: Path, environ: dict[str, str] | None = None, **keys: str) -> SqliteOptions:
    return SqliteOptions.model_validate(keys, context={"base": base, "environ": environ or {}})


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"path": "shop.db"}, "BASE/shop.db"),
        ({"path": "/data/shop.db"}, "/data/shop.db"),
        ({"path": "../up/./shop.db"}, "BASE/../up/shop.db"),
        ({"url": "sqlite:///shop.db"}, "BASE/shop.db"),
        ({"url": "sqlite:////data/shop%20one.db"}, "/data/shop one.db"),
        ({"url_env": "SHOP"}, "/env/shop.db"),
        ({"url_file": "where.txt"}, "BASE/in-file.db"),
    ],
)
def test_places(tmp_path: Path, keys: dict[str, str], expected: str) -> None:
    (tmp_path / "where.txt").write_text("sqlite:///in-file.db\n")
    found = options(tmp_path, {"SHOP": "sqlite:////env/shop.db"}, **keys).database()
    assert found == Path(expected.replace("BASE/..", str(tmp_path.parent)).replace("BASE", str(tmp_path)))


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"path": "a", "url": "sqlite:///b"},
        {"url": "postgresql://host/db"},
        {"url": "sqlite://"},
        {"url": "sqlite:///:memory:"},
        {"url": "sqlite:///a.db?mode=rw"},
        {"path": "a.db", "mode": "rw"},
    ],
)
def test_wrong_keys(tmp_path: Path, keys: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        options(tmp_path, **keys)


def test_what_is_unset_or_unreadable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="SHOP"):
        options(tmp_path, url_env="SHOP").database()
    with pytest.raises(ConfigError, match=r"gone\.txt"):
        options(tmp_path, url_file="gone.txt").database()
    with pytest.raises(ConfigError, match="SQLite URL"):
        options(tmp_path, {"SHOP": "mysql://x"}, url_env="SHOP").database()
