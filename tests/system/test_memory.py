"""A process stays under the figure that its plan printed, however wide the rows are."""

from __future__ import annotations

import re

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.s3 import S3Bucket
from tests.system.resident import peak_bytes

MIB = 1 << 20
ROWS = 32
CONFIG = """
    source: {type: postgres, url_env: SHOP_URL, source_group: shop}
    source_groups: {shop: {max_connections: 2, max_heavy: 2}}
    planning: {workers: 2}
    exports:
"""


@pytest.fixture
def wide(postgres: PostgresDatabase, rivet: Project) -> Project:
    """Two tables whose rows hold 5 MB each that do not compress."""
    with postgres.connect(admin=True) as connection:
        for table in ("a", "b"):
            connection.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, body bytea)")
            connection.execute(f"ALTER TABLE {table} ALTER body SET STORAGE EXTERNAL")
            connection.execute(
                f"INSERT INTO {table} SELECT 1, decode(string_agg(md5(random()::text || i), ''), 'hex') "
                "FROM generate_series(1, 312500) i"
            )
            for more in (1, 2, 4, 8, 16):
                connection.execute(f"INSERT INTO {table} SELECT id + {more}, body FROM {table}")
            connection.execute(f"GRANT SELECT ON {table} TO PUBLIC; ANALYZE {table}")
    rivet.environ["SHOP_URL"] = postgres.url
    return rivet


def figure(text: str, pattern: str) -> float:
    found = re.search(pattern + r" +([0-9.]+) (MiB|GiB) at most", text)
    assert found, text
    return float(found[1]) * MIB * (1024 if found[2] == "GiB" else 1)


TWO_EXPORTS = ["{name: a, table: a}", "{name: b, table: b}"]
TWO_UNITS = ["{name: a, table: a, mode: chunked, chunk_column: id, chunk_count: 4, parallel: 2}"]
LOCAL = "{type: local, path: out}"


def stays_under_the_printed_figure(wide: Project, destination: str, exports: list[str], profile: str) -> None:
    listed = "".join(f"      - {export}\n" for export in exports)
    rest = f"    destination: {destination}\n    defaults: {{tuning: {{profile: {profile}}}}}\n"
    wide.config(CONFIG + listed + rest)
    shown = wide.run("plan", "-o", "plan.json").assert_done().stdout
    printed = figure(shown, "memory")
    explained = sum(
        figure(wide.run("explain", name, "--plan", "plan.json").assert_done().stdout, "memory")
        for name in ("a", "b")[: len(exports)]
    )
    assert explained < printed < explained + 300 * MIB, "the process and its exports"
    used = peak_bytes(wide, "apply", "plan.json")
    files = [file for name in ("a", "b")[: len(exports)] for file in wide.run("files", name, "--json").json()["files"]]
    assert sum(file["bytes"] for file in files) > len(exports) * ROWS * 4_900_000
    assert printed / 3 < used < printed, f"{used / MIB:.0f} MiB used, {printed / MIB:.0f} MiB printed"
    print(f"{used / MIB:.0f} MiB used, {printed / MIB:.0f} MiB printed")


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["balanced", "fast"])
@pytest.mark.parametrize("exports", [pytest.param(TWO_EXPORTS, id="two exports"), pytest.param(TWO_UNITS, id="two units")])
def test_rows_of_5_mb_stay_under_the_printed_figure(wide: Project, exports: list[str], profile: str) -> None:
    stays_under_the_printed_figure(wide, LOCAL, exports, profile)


@pytest.mark.slow
@pytest.mark.s3
def test_rows_of_5_mb_stay_under_it_on_the_way_to_a_bucket(wide: Project, s3: S3Bucket) -> None:
    wide.environ["LAKE_SECRET"] = s3.secret_key
    keys = f"access_key_id: {s3.access_key}, secret_key_env: LAKE_SECRET"
    place = f"{{type: s3, bucket: {s3.name}, endpoint: '{s3.endpoint}', region: {s3.region}, {keys}}}"
    stays_under_the_printed_figure(wide, place, TWO_EXPORTS, "balanced")
