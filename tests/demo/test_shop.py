from __future__ import annotations

import hashlib
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.config.load import load_config
from rivet_core.demo.sample import DemoShop, build_shop, config_text
from rivet_core.demo.story import add_rows
from rivet_core.errors import ConfigError
from rivet_core.facts import InspectItem, Mark, Mode, ReadSpec
from tests.builtin.sqlite.reading import read_all, read_unit, rows_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoShop, float]:
    begun = time.process_time()
    shop = build_shop(tmp_path_factory.mktemp("demo") / "shop")
    return shop, time.process_time() - begun


def test_it_is_small_and_quick_to_build(built: tuple[DemoShop, float]) -> None:
    shop, seconds = built
    assert seconds < 6
    assert shop.database.stat().st_size < 60_000_000
    assert sorted(path.name for path in shop.directory.iterdir()) == ["rivet.yaml", "shop.db"]


def copy_of(shop: DemoShop, directory: Path) -> DemoShop:
    shutil.copytree(shop.directory, directory)
    return DemoShop(directory, directory / "shop.db", directory / "rivet.yaml")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_shops_are_one_and_so_are_their_next_days(built: tuple[DemoShop, float], tmp_path: Path) -> None:
    first, second = build_shop(tmp_path / "a"), built[0]
    assert digest(first.database) == digest(second.database)
    twin = copy_of(built[0], tmp_path / "b")
    assert add_rows(first) == add_rows(twin)
    assert digest(first.database) == digest(twin.database)


def specs(shop: DemoShop) -> list[ReadSpec]:
    return [ReadSpec.of(export) for export in load_config(shop.config).exports]


def test_every_export_can_be_planned_and_read(built: tuple[DemoShop, float]) -> None:
    shop, _ = built
    config = load_config(shop.config)
    assert config.warnings == ()
    session = SqliteSession(shop.database)
    source = sqlite3.connect(shop.database)
    try:
        items = [
            InspectItem(name=export.table or export.name, table=export.table, query=export.query) for export in config.exports
        ]
        facts = session.inspect(items)
        assert [name for name, table in facts.tables.items() if table.problem] == []
        assert len(facts.tables) >= 10
        for export in config.exports:
            spec = ReadSpec.of(export)
            units = session.units(spec, ())
            table = read_all(session, spec, units)
            asked = f"SELECT * FROM {export.table}" if export.table else export.query or ""
            assert table.num_rows == source.execute(f"SELECT count(*) FROM ({asked})").fetchone()[0], export.name
            assert (len(units) > 1) == (export.mode is Mode.CHUNKED or export.name == "customers"), export.name
    finally:
        source.close()
        session.close()


def test_the_second_run_sees_what_the_day_brought(built: tuple[DemoShop, float], tmp_path: Path) -> None:
    shop = copy_of(built[0], tmp_path / "shop")
    session = SqliteSession(shop.database)
    try:
        chosen = {spec.export: spec for spec in specs(shop) if spec.mode is Mode.INCREMENTAL}
        assert set(chosen) == {"orders", "customers", "audit_log"}
        marks: dict[str, tuple[Mark, ...]] = {}
        before = {}
        for name, spec in chosen.items():
            table, reached, _ = read_unit(session, spec, session.units(spec, ())[0])
            assert reached is not None
            marks[name], before[name] = reached, rows_of(table)
        added = add_rows(shop)
        for name, expected in (("orders", added.orders), ("customers", added.customers), ("audit_log", added.audit)):
            table, _, _ = read_unit(session, chosen[name], session.units(chosen[name], marks[name])[0])
            assert table.num_rows == expected, name
            assert set(rows_of(table)).isdisjoint(before[name])
        again = add_rows(shop)
        assert again == added
    finally:
        session.close()


def test_building_again_starts_over_and_an_edited_config_is_kept(built: tuple[DemoShop, float], tmp_path: Path) -> None:
    tmp_path = tmp_path / "shop"
    shop = copy_of(built[0], tmp_path)
    (tmp_path / ".rivet").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    add_rows(shop)
    build_shop(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "rivet.yaml", "shop.db"]
    assert digest(shop.database) == digest(built[0].database)
    shop.config.write_text(config_text().replace("workers: 3", "workers: 2"))
    with pytest.raises(ConfigError, match="did not leave like this") as caught:
        build_shop(tmp_path)
    assert "another directory" in caught.value.hint
    assert "workers: 2" in shop.config.read_text()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot build the demo"):
        build_shop(tmp_path / "file")
