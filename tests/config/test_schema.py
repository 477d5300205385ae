"""The JSON Schema: valid itself, a description on every key, and it agrees with the loader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rivet_core.api import DestinationSpec, SourceSpec
from rivet_core.config import CampaignConfig, config_schema
from rivet_core.config.document import read_document
from rivet_core.config.nodes import plain_data
from rivet_core.config.reference import config_reference
from rivet_core.options import ConfigPath, PluginOptions
from rivet_core.sql.options import SqlOptions

DOCS = Path(__file__).parents[2] / "docs"

EXAMPLE = """\
sources:
  shop:  {type: postgres, url_env: SHOP_URL, source_group: replica_a}
  crm:   {type: mysql,    url_env: CRM_URL}
source_groups:
  replica_a: {max_connections: 4, max_heavy: 1}
destination: {type: local, path: ./out}
defaults: {format: parquet, compression_profile: balanced}
exports:
  - name: orders
    source: shop
    table: public.orders
    mode: incremental
    cursor_column: updated_at
    lookback: 10m
    null_cursor: include
    depends_on: [customers]
    value: {tier: high, freshness: 1h, deadline: "06:00+02:00", consumers: [finance, churn]}
  - {name: customers, source: crm, table: customers, x-note: mine}
  - {name: events, source: shop, table: events, columns: [a, b], partition_by: at}
planning:
  workers: 4
  waves: 4
  policy: auto
  fail_fast: false
  rules: {RV201: {points: 25}, RV204: off}
  suppress: [{export: events, code: RV302, reason: "append-only by contract", until: 2027-01-01}]
plugins: {block: [noisy-rules]}
state: {url: "sqlite:///.rivet/state.db"}
x-mine: {anything: [goes]}
"""
SMALL = "source: {type: sqlite, path: a.db}\ndestination: {type: local, path: o}\nexports: [{name: a, table: a%s}]\n%s"

VALID = [
    EXAMPLE,
    SMALL % ("", ""),
    SMALL % (", query_file: null", ""),
    SMALL % (", parallel: null, value: null", ""),
    SMALL % (", columns: {a: text}, lookback: 10, max_file_size: 1GB, chunk_by_key: true", ""),
    SMALL % (", meta_columns: {row_hash: [a]}, quality: {null_ratio_max: {a: 0.5}}", ""),
    SMALL % (", destination: {path: x}, tuning: {profile: safe, throttle_ms: 5}", ""),
    SMALL % ("", "planning: {waves: auto, window: 1d}\nplugins: {grant: {a: [base]}, options: {a: {b: [1]}}}\n"),
    "source:\n  type: sqlite\n  path: ${P}\n"
    "destination: {type: local, path: o}\nexports:\n  - name: a\n    table: a\n    parallel: ${N}\n",
]
INVALID = [
    SMALL % (", chunk_szie: 5", ""),
    SMALL % (", parallel: four", ""),
    SMALL % (", mode: cdc", ""),
    SMALL % (", query: SELECT 1", ""),
    SMALL % (", lookback: 12:30:00", ""),
    SMALL % (", columns: []", ""),
    SMALL % ("", "paralel: 5\n"),
    SMALL % ("", "sources: {b: {type: sqlite}}\n"),
    SMALL % ("", "planning: {rules: {RV201: on}}\n"),
    SMALL % ("", "planning: {rules: {size: off}}\n"),
    SMALL % ("", "source_groups: {g: {max_heavy: 0}}\n"),
    "destination: {type: local}\nexports: [{name: a, table: a}]\n",
    "source: {type: sqlite}\nexports: []\n",
    "source: {path: a.db}\nexports: [{name: a, table: a}]\n",
    "source: {type: sqlite}\nexports: [{name: a/b, table: a}]\n",
    "source: {type: sqlite}\nexports: [{table: a}]\n",
]


class FileOptions(PluginOptions):
    """A file."""

    path: ConfigPath


@dataclass(frozen=True)
class Owned:
    record: Any


@dataclass(frozen=True)
class Offers:
    sources: dict[str, Owned] = field(
        default_factory=lambda: {
            "sqlite": Owned(SourceSpec(name="sqlite", summary="", options=FileOptions, connect=print)),
            "postgres": Owned(SourceSpec(name="postgres", summary="", options=SqlOptions, connect=print)),
        }
    )
    destinations: dict[str, Owned] = field(
        default_factory=lambda: {"local": Owned(DestinationSpec(name="local", summary="", options=FileOptions, open=print))}
    )

    def resolve(self, ref: Any) -> Any:
        return ref


VALIDATORS = [jsonschema.Draft202012Validator(config_schema(registry)) for registry in (None, Offers())]


@pytest.mark.parametrize("validator", VALIDATORS, ids=["core", "with plugins"])
def test_the_schema_itself_is_valid(validator: Any) -> None:
    validator.check_schema(validator.schema)


def errors_of(tmp_path: Path, text: str, *, plugins: bool = False) -> list[str]:
    path = tmp_path / "rivet.yaml"
    path.write_text(text)
    return [error.message for error in VALIDATORS[plugins].iter_errors(plain_data(read_document(path).root))]


@pytest.mark.parametrize("text", VALID)
def test_what_loads_is_valid(tmp_path: Path, load: Callable[..., CampaignConfig], text: str) -> None:
    assert errors_of(tmp_path, text) == []
    assert load(text, {"P": "a.db", "N": "3"}).exports


@pytest.mark.parametrize("text", INVALID)
def test_what_is_refused_is_invalid(tmp_path: Path, refuse: Callable[..., object], text: str) -> None:
    assert errors_of(tmp_path, text)
    refuse(text)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (SMALL % ("", ""), True),
        ((SMALL % ("", "")).replace("path: a.db", "paht: a.db"), False),
        ((SMALL % ("", "")).replace("path: a.db", "path: a.db, port: 5"), False),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: postgres, host: h, port: 5"), True),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: postgres, host: h, port: '${PORT}'"), True),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: postgres, host: h, port: many"), False),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: postgres, host: h, tls: {mode: requiire}"), False),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: postgres, url_env: X, tuning: {profile: safe}"), True),
        ((SMALL % ("", "")).replace("type: sqlite, path: a.db", "type: of_another_plugin, anything: goes"), True),
        (SMALL % (", destination: {type: local, pth: x}", ""), False),
        (SMALL % (", destination: {path: x}", ""), True),
    ],
)
def test_options_of_installed_plugins_stand_under_their_type(tmp_path: Path, text: str, valid: bool) -> None:
    assert (errors_of(tmp_path, text, plugins=True) == []) is valid


def keys_of(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        for name, value in schema.get("properties", {}).items():
            yield f"{path}.{name}", value
        for name, value in schema.items():
            if name not in {"if", "oneOf"}:  # conditions on keys that are described where they stand
                yield from keys_of(value, f"{path}/{name}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from keys_of(value, f"{path}/{index}")


def test_every_key_is_described() -> None:
    nameless = [
        path for path, value in keys_of(config_schema()) if not value.get("description") and not path.endswith(".points")
    ]
    assert nameless == []


def test_the_schema_names_its_dialect() -> None:
    assert config_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_reference_page_is_the_one_in_docs() -> None:
    assert (DOCS / "reference" / "config.md").read_text() == config_reference()


def test_the_reference_page_names_every_key_once_per_section() -> None:
    page = config_reference()
    assert "| `cursor_column` | text |" in page
    assert "| `mode` | `full`, `incremental`, `chunked`, `time_window` | `full` |" in page
    for section in page.split("\n## ")[1:-1]:
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        assert len(rows) == len(set(rows))
