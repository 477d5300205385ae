"""From catalog facts to exports for a new config: the judge's way where the source agrees, and names that never collide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rivet_core.config import CampaignConfig, load_config
from rivet_core.errors import ConfigError
from rivet_core.facts import Fidelity, GroupCapacity, Mode, RelationKind, ServerFacts, TableFacts
from rivet_core.planning.propose import Proposal, Wish, name_exports, propose, sort_out
from rivet_core.plugins import load_plugins
from rivet_core.render.config_text import comment, config_text, scalar
from rivet_core.testing.conformance.samples import AS_OF, COLUMNS, INDEXES, counted

LARGE = counted(10**9, 1 << 38)
SERVER = ServerFacts(engine="postgres", address="db:5432", observed_at=AS_OF)


def proposed(table: TableFacts, refuse: str = "") -> Proposal:
    def try_out(spec: Any) -> None:
        if refuse:
            raise ConfigError(refuse)

    config = CampaignConfig(path=Path("rivet.yaml"), sha256="", sources={}, exports=(), state_url="")
    return propose([table], SERVER, config, load_plugins(environ={}), source="shop", as_of=AS_OF, try_out=try_out)[0]


def test_a_large_table_is_read_by_its_cursor_with_the_reason() -> None:
    found = proposed(LARGE)
    assert (found.spec.mode, found.spec.cursor_column) == (Mode.INCREMENTAL, "updated_at")
    assert "256.0 GiB" in found.why


def test_a_large_table_without_a_cursor_is_cut_by_its_key() -> None:
    found = proposed(replace(LARGE, columns=COLUMNS[:1], indexes=INDEXES[:1]))
    assert (found.spec.mode, found.spec.chunk_column) == (Mode.CHUNKED, "id")


def test_what_the_source_refuses_is_read_whole_and_says_why() -> None:
    found = proposed(LARGE, refuse="updated_at has no order")
    assert found.spec.mode is Mode.FULL
    assert found.spec.cursor_column is None
    assert "updated_at has no order" in found.why


def test_a_small_table_is_read_whole_and_names_the_alternative() -> None:
    found = proposed(counted(10, 8192))
    assert found.spec.mode is Mode.FULL
    assert "updated_at" in found.alternative


def test_columns_that_cannot_be_read_are_left_out_by_name() -> None:
    columns = (*COLUMNS[:2], replace(COLUMNS[2], readable=False), replace(COLUMNS[3], fidelity=Fidelity.REFUSED))
    found = proposed(replace(counted(10, 8192), columns=columns))
    assert found.spec.columns == ("id", "updated_at")
    assert found.left_out == ("note", "doc")
    assert proposed(counted(10, 8192)).spec.columns == ()


def test_each_way_makes_a_config_that_loads(tmp_path: Path) -> None:
    tables = [LARGE, replace(LARGE, columns=COLUMNS[:1], indexes=INDEXES[:1])]
    proposals = [proposed(table) for table in tables]
    proposals[1] = replace(proposals[1], spec=replace(proposals[1].spec, name="second"))
    text = config_text(
        proposals,
        [(LARGE, "broken\nexports: []")],
        source="shop",
        kind="postgres",
        options={"url_env": "SHOP_URL"},
        group="db_5432",
        capacity=GroupCapacity(max_connections=4, max_heavy=1, assumed=True),
        server=SERVER,
        command="rivet init",
    )
    path = tmp_path / "rivet.yaml"
    path.write_text(text)
    loaded = load_config(path)
    assert [spec.mode for spec in loaded.exports] == [Mode.INCREMENTAL, Mode.CHUNKED]
    assert loaded.sources["shop"].source_group == "db_5432"


def test_names_differ_whatever_the_case_and_never_look_like_an_option() -> None:
    names = ["orders", "ORDERS", "or/ders", "or:ders", "..", "--", "-x", "é", "e\u0301", "x" * 300]
    found = name_exports([TableFacts(name=name, relation=name) for name in names])
    assert len({name.casefold() for name in found}) == len(names)
    assert not [name for name in found if name.startswith("-") or "/" in name or len(name.encode()) > 100]


def test_a_relation_of_two_schemas_is_named_with_its_schema() -> None:
    tables = [TableFacts(name=f"{schema}.orders", schema=schema, relation="orders") for schema in ("a", "b")]
    assert name_exports(tables) == ["a.orders", "b.orders"]


def test_globs_and_schemas_and_what_is_left_out() -> None:
    tables = [
        replace(LARGE, name="a.orders", schema="a", relation="orders"),
        replace(LARGE, name="b.orders", schema="b", relation="orders"),
        replace(LARGE, name="a.seen", schema="a", relation="seen", kind=RelationKind.VIEW),
        replace(LARGE, name="a.locked", schema="a", relation="locked", problem="no right", remedy="GRANT SELECT"),
    ]
    taken, left = sort_out(tables, Wish(schemas=("a",)))
    assert [table.name for table in taken] == ["a.orders"]
    assert [table.name for table, _ in left] == ["a.seen", "a.locked"]
    assert [table.name for table in sort_out(tables, Wish(include=("b.*", "seen")))[0]] == ["b.orders", "a.seen"]
    assert [table.name for table in sort_out(tables, Wish(exclude=("orders",)))[0]] == []


@pytest.mark.parametrize("text", ["true", "no", "007", "1e5", "~", "a: b", "#x", '"', "\\", "\n", "\x85", "${X}", "", "\ufeff"])
def test_a_scalar_means_exactly_its_text(text: str) -> None:
    import yaml

    assert yaml.safe_load(f"key: {scalar(text)}")["key"].replace("$${", "${") == text


def test_a_comment_is_never_anything_else() -> None:
    assert all(line.startswith("  # ") for line in comment("a\nexports: []\r\x85b \u2028c " + "word " * 60, "  "))
