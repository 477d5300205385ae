from __future__ import annotations

from collections.abc import Callable

import pytest

from rivet_core.config import CampaignConfig
from rivet_core.config.sources import address_of

Load = Callable[..., CampaignConfig]


def warnings_of(load: Load, text: str) -> list[str]:
    return [warning.partition("rivet.yaml:")[2] for warning in load(text).warnings]


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("type: postgres, url: 'postgresql://u@DB.example:6543/d'", ("db.example", 6543)),
        ("type: postgres, url: 'postgresql://u@db/d'", ("db", 5432)),
        ("type: mysql, host: db", ("db", 3306)),
        ("type: mysql, host: db, port: 3307", ("db", 3307)),
        ("type: postgres, url: 'postgresql://[::1]:5/d'", ("::1", 5)),
        ("type: postgres, url: 'postgresql:///d'", None),
        ("type: postgres, url: 'postgresql://u@db:port/d'", None),
        ("type: postgres, url: '${URL}'", None),
        ("type: postgres, url_env: URL", None),
        ("type: postgres, host: '${H}'", None),
        ("type: sqlite, path: a.db", None),
    ],
)
def test_addresses_that_stand_in_the_config(load: Load, source: str, address: tuple[str, int] | None) -> None:
    config = load(f"source: {{{source}}}\ndestination: {{type: local}}\nexports: [{{name: a, table: a}}]\n")
    assert address_of(config.sources["default"]) == address


def test_two_groups_on_one_server_are_warned_about(load: Load) -> None:
    found = warnings_of(
        load,
        """\
        sources:
          a: {type: postgres, url: "postgresql://u@db/x", source_group: one}
          b: {type: postgres, host: DB, source_group: two}
          c: {type: postgres, host: db, source_group: one}
          d: {type: postgres, host: db}
        destination: {type: local}
        exports: [{name: e, table: e, source: a}]
        """,
    )
    assert found == [
        "3: sources.b.source_group: groups two and one (source a) share db:5432, and each may load it to its own limit; "
        "give both sources one group"
    ]


def test_a_group_that_is_misspelt_or_unused_is_warned_about(load: Load) -> None:
    found = warnings_of(
        load,
        """\
        source: {type: sqlite, path: a.db, source_group: replica_a}
        source_groups:
          replica_a: {max_heavy: 1}
          unused: {max_heavy: 1}
        destination: {type: local}
        exports:
          - {name: a, table: a, source_group: replika_a}
          - {name: b, table: b, source_group: elsewhere}
        """,
    )
    assert found == [
        "7: exports[0].source_group: group replika_a is not under `source_groups:`, its capacity is assumed; "
        "did you mean replica_a?",
        "4: source_groups.unused: no source and no export belongs to this group",
    ]


def test_an_implicit_group_may_be_declared_under_its_address(load: Load) -> None:
    text = """\
        source: {type: postgres, url_env: SHOP_URL}
        source_groups:
          "db:5432": {max_connections: 2}
          unused: {max_heavy: 1}
        destination: {type: local}
        exports: [{name: a, table: a}]
        """
    assert warnings_of(load, text) == ["4: source_groups.unused: no source and no export belongs to this group"]


def test_inline_credentials_are_warned_about_and_never_shown(load: Load) -> None:
    found = warnings_of(
        load,
        """\
        sources:
          a: {type: postgres, url: "postgresql://u:hunter2@db/x"}
          b:
            type: mysql
            host: db
            password: hunter2
          c: {type: postgres, url: "${env:URL}", password_env: X}
        destination:
          type: s3
          secret_access_key: hunter2
        exports:
          - name: e
            table: e
            source: a
            destination: {sas_token: hunter2}
        state: {url: "postgresql://u:hunter2@h/db"}
        """,
    )
    assert [line.partition(": holds a credential")[0] for line in found] == [
        "2: sources.a.url",
        "6: sources.b.password",
        "10: destination.secret_access_key",
        "15: exports[0].destination.sas_token",
        "16: state.url",
    ]
    assert all("${env:" in line and "hunter2" not in line for line in found)


def test_one_source_may_go_unnamed_and_its_name_is_default(load: Load) -> None:
    config = load("sources: {only: {type: sqlite}}\ndestination: {type: local}\nexports: [{name: a, table: a}]\n")
    assert config.exports[0].source == "only"
    config = load("source: {type: sqlite}\ndestination: {type: local}\nexports: [{name: a, table: a, source: default}]\n")
    assert config.exports[0].source == "default"
    assert config.sources["default"].line == 1
