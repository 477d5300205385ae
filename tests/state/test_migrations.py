"""States of older Rivets: adopted, migrated once however many come at once, and read without being touched."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, make_url, text

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.state import open_state, read_state
from rivet_core.state.models import METADATA, SCHEMA_VERSION
from rivet_core.state.opening import _DRIVERS

CURSOR = (Mark(column="id", type="bigint", value="9007199254740993"),)
AT = "2024-01-01T00:00:00.000000+00:00"

SCHEMA_1 = """
CREATE TABLE rivet_cursor (export VARCHAR(512) NOT NULL, marks TEXT, run_id VARCHAR(64) NOT NULL,
    updated_at VARCHAR(32) NOT NULL, PRIMARY KEY (export));
CREATE TABLE rivet_event (id {serial} NOT NULL, at VARCHAR(32) NOT NULL, kind VARCHAR(64) NOT NULL,
    plan_id VARCHAR(64) NOT NULL, export VARCHAR(512) NOT NULL, data TEXT, PRIMARY KEY (id));
CREATE INDEX ix_rivet_event_at ON rivet_event (at);
CREATE TABLE rivet_lease (name VARCHAR(512) NOT NULL, owner VARCHAR(64) NOT NULL, host VARCHAR(256) NOT NULL,
    pid INTEGER NOT NULL, process_started VARCHAR(64) NOT NULL, acquired_at VARCHAR(32) NOT NULL,
    heartbeat_at VARCHAR(32) NOT NULL, PRIMARY KEY (name));
CREATE TABLE rivet_metric (run_id VARCHAR(64) NOT NULL, export VARCHAR(512) NOT NULL, at VARCHAR(32) NOT NULL,
    status VARCHAR(16) NOT NULL, seconds FLOAT NOT NULL, rows BIGINT NOT NULL, bytes BIGINT NOT NULL, predicted_p10 FLOAT,
    predicted_p50 FLOAT, predicted_p90 FLOAT, basis VARCHAR(16) NOT NULL, PRIMARY KEY (run_id));
CREATE INDEX ix_rivet_metric_export ON rivet_metric (export);
CREATE TABLE rivet_part (run_id VARCHAR(64) NOT NULL, unit INTEGER NOT NULL, part INTEGER NOT NULL,
    partition VARCHAR(512) NOT NULL, key TEXT NOT NULL, rows BIGINT NOT NULL, bytes BIGINT NOT NULL,
    checksum VARCHAR(80) NOT NULL, columns TEXT, PRIMARY KEY (run_id, unit, part, partition));
CREATE TABLE rivet_progress (export VARCHAR(512) NOT NULL, observed TEXT, committed TEXT, verified TEXT,
    observed_at VARCHAR(32), committed_at VARCHAR(32), verified_at VARCHAR(32), PRIMARY KEY (export));
CREATE TABLE rivet_run (run_id VARCHAR(64) NOT NULL, export VARCHAR(512) NOT NULL, plan_id VARCHAR(64) NOT NULL,
    fingerprint VARCHAR(64) NOT NULL, source_fingerprint VARCHAR(64) NOT NULL, mode VARCHAR(32) NOT NULL,
    status VARCHAR(16) NOT NULL, started_at VARCHAR(32) NOT NULL, finished_at VARCHAR(32), seconds FLOAT, rows BIGINT,
    bytes BIGINT, table_bytes BIGINT, predicted_seconds FLOAT, retries INTEGER NOT NULL, error_class VARCHAR(32) NOT NULL,
    error TEXT, units TEXT, cursor_before TEXT, columns TEXT, PRIMARY KEY (run_id));
CREATE INDEX rivet_run_plan ON rivet_run (plan_id);
CREATE INDEX rivet_run_export ON rivet_run (export, started_at);
CREATE TABLE rivet_schema (id INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (id));
CREATE TABLE rivet_snapshot (source VARCHAR(512) NOT NULL, observed_at VARCHAR(32) NOT NULL, data TEXT,
    PRIMARY KEY (source, observed_at));
CREATE TABLE rivet_unit (run_id VARCHAR(64) NOT NULL, unit INTEGER NOT NULL, rows BIGINT NOT NULL, bytes BIGINT NOT NULL,
    marks TEXT, counts TEXT, schema TEXT, done_at VARCHAR(32) NOT NULL, PRIMARY KEY (run_id, unit));
INSERT INTO rivet_schema VALUES (1, 1);
"""
"""What Rivet made before it had migrations, letter for letter."""

ROWS: dict[str, dict[str, Any]] = {
    "rivet_cursor": {
        "export": "orders",
        "marks": '[{"column":"id","type":"bigint","value":"9007199254740993"}]',
        "run_id": "r1",
        "updated_at": AT,
    },
    "rivet_run": {
        "run_id": "r2", "export": "orders", "plan_id": "p", "fingerprint": "f", "source_fingerprint": "s", "mode": "chunked",
        "status": "running", "started_at": AT, "retries": 0, "error_class": "",
        "units": json.dumps([Unit(index=0, kind=UnitKind.WHOLE).to_json()]), "cursor_before": "[]",
    },
    "rivet_unit": {"run_id": "r2", "unit": 0, "rows": 1 << 40, "bytes": 7, "done_at": AT},
    "rivet_part": {
        "run_id": "r2", "unit": 0, "part": 0, "partition": "", "key": "k", "rows": 1 << 40, "bytes": 7, "checksum": "c",
    },
    "rivet_event": {"at": AT, "kind": "warning", "plan_id": "p", "export": "orders", "data": '{"n":1}'},
    "rivet_snapshot": {"source": "shop", "observed_at": AT, "data": '{"\\u043a":1}'},
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A database that holds nothing yet, and a way to it that is not the state's."""

    url: str

    def engine(self):
        place = make_url(self.url)
        return create_engine(place.set(drivername=_DRIVERS.get(place.drivername, place.drivername)))

    def make_schema_1(self) -> None:
        engine = self.engine()
        serial = "INTEGER" if engine.dialect.name == "sqlite" else "SERIAL"
        with engine.begin() as connection:
            for statement in SCHEMA_1.format(serial=serial).split(";"):
                if statement.strip():
                    connection.execute(text(statement))
            for table, row in ROWS.items():
                names = ", ".join(row)
                values = ", ".join(f":{name}" for name in row)
                connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
        engine.dispose()

    def ask(self, statement: str) -> list[Any]:
        engine = self.engine()
        with engine.begin() as connection:
            result = connection.execute(text(statement))
            found = [tuple(row) for row in result] if result.returns_rows else []
        engine.dispose()
        return found

    def tables(self) -> set[str]:
        engine = self.engine()
        found = {name for name in inspect(engine).get_table_names() if name.startswith("rivet_")}
        engine.dispose()
        return found


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request, tmp_path):
    if request.param == "sqlite":
        return Place(f"sqlite:///{tmp_path}/state.db")
    return Place(request.getfixturevalue("postgres").admin_url)


@pytest.fixture
def old(place):
    place.make_schema_1()
    return place


def holds_everything(state) -> None:
    assert state.cursor("orders") == CURSOR
    found = state.runs.resumable("orders")
    assert (found.run_id, found.fingerprint, [unit.index for unit in found.units]) == ("r2", "f", [0])
    assert [(record.rows, record.parts[0].key) for record in found.done] == [(1 << 40, "k")]
    assert [entry.data for entry in state.events()] == [{"n": 1}]
    assert state.snapshot("shop").data == {"к": 1}


def test_a_state_without_a_revision_is_adopted_and_brought_up_to_date(old):
    with open_state(old.url) as state:
        holds_everything(state)
        state.accept_schema("orders", "r2")
        assert state.schema_accepted("orders", "r2")
    assert old.ask("SELECT version FROM rivet_schema") == [(SCHEMA_VERSION,)]
    assert old.ask("SELECT version_num FROM rivet_alembic") == [(f"{SCHEMA_VERSION:04}",)]
    engine = old.engine()
    assert "rivet_event_export" in {index["name"] for index in inspect(engine).get_indexes("rivet_event")}
    engine.dispose()
    with open_state(old.url) as state:
        assert (state.cursor("orders"), len(state.events())) == (CURSOR, 2)


def test_reading_an_older_state_leaves_it_as_it_was(old, tmp_path):
    before = old.tables()
    image = (tmp_path / "state.db").read_bytes() if old.url.startswith("sqlite") else b""
    with read_state(old.url) as state:
        holds_everything(state)
    assert old.tables() == before
    assert old.ask("SELECT version FROM rivet_schema") == [(1,)]
    if image:
        assert (tmp_path / "state.db").read_bytes() == image


def compared(place):
    """What the tables differ in from the models, names of constraints aside."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = place.engine()
    with engine.connect() as connection:
        options = {"version_table": "rivet_alembic", "compare_type": True}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)
    engine.dispose()
    return found


def test_what_the_migrations_make_is_what_the_models_say(place):
    from alembic import command
    from alembic.config import Config

    engine = place.engine()
    with engine.begin() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", "rivet_core.state:migrations")
        command.upgrade(config, "head")
    engine.dispose()
    assert compared(place) == []
    assert place.ask("SELECT version_num FROM rivet_alembic") == [(f"{SCHEMA_VERSION:04}",)]
    # And a difference would show.
    place.ask("DROP INDEX rivet_event_export")
    assert len(compared(place)) == 1


def test_a_new_state_has_the_same_tables(place):
    open_state(place.url).close()
    assert compared(place) == []
    assert place.ask("SELECT version_num FROM rivet_alembic") == [(f"{SCHEMA_VERSION:04}",)]


OPENER = """
import sys, time
from rivet_core.state import open_state
time.sleep(max(0, float(sys.argv[2]) - time.time()))
with open_state(sys.argv[1]) as state:
    print(state.cursor("orders")[0].value, "alembic" in sys.modules)
"""


@pytest.mark.parametrize("made", ["old", "new"])
def test_processes_that_come_at_once_migrate_once(place, made):
    """`new`: they make it at once instead."""
    if made == "old":
        place.make_schema_1()
    at = datetime.now(UTC).timestamp() + 1.5
    script = OPENER if made == "old" else OPENER.replace('state.cursor("orders")[0].value', "state.cursors()")
    command = [sys.executable, "-c", script, place.url, str(at)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0] * 4, said
    assert {out.split()[0] for out, _ in said} == {"9007199254740993" if made == "old" else "{}"}
    migrated = [out.split()[1] for out, _ in said].count("True")
    assert migrated >= 1 if made == "old" else migrated == 0
    assert place.ask("SELECT id, version FROM rivet_schema") == [(1, SCHEMA_VERSION)]
    assert place.ask("SELECT version_num FROM rivet_alembic") == [(f"{SCHEMA_VERSION:04}",)]
    assert compared(place) == []


def test_threads_migrate_states_of_their_own_at_once(tmp_path):
    places = [Place(f"sqlite:///{tmp_path}/{number}.db") for number in range(8)]
    for place in places:
        place.make_schema_1()

    def look(number):
        with (open_state if number % 2 else read_state)(places[number].url) as state:
            holds_everything(state)
        return places[number].ask("SELECT version FROM rivet_schema")[0][0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(look, range(8))) == [1, SCHEMA_VERSION] * 4


@pytest.mark.parametrize("opener", [open_state, read_state])
def test_a_newer_state_is_refused_and_left_alone(old, opener):
    old.ask(f"UPDATE rivet_schema SET version = {SCHEMA_VERSION + 1}")
    before = old.tables()
    with pytest.raises(ConfigError, match=f"newer Rivet .schema {SCHEMA_VERSION + 1}, known: {SCHEMA_VERSION}") as caught:
        opener(old.url)
    assert (caught.value.code, bool(caught.value.hint)) == ("state_newer", True)
    assert old.tables() == before


@pytest.mark.parametrize("opener", [open_state, read_state])
def test_a_version_that_never_was_is_refused_and_left_alone(old, opener):
    old.ask("UPDATE rivet_schema SET version = 0")
    with pytest.raises(ConfigError, match="cannot be brought from schema 0") as caught:
        opener(old.url)
    assert (caught.value.code, bool(caught.value.hint)) == ("state_migration", True)
    assert "rivet_alembic" not in old.tables()
    assert old.ask("SELECT count(*) FROM rivet_cursor") == [(1,)]


def test_a_migration_that_fails_changes_nothing(old):
    """Somebody made an index of that name: the database refuses the migration, which is undone whole."""
    old.ask("CREATE INDEX rivet_event_export ON rivet_event (kind)")
    with pytest.raises(ConfigError, match="already exists"):
        open_state(old.url)
    assert old.ask("SELECT version FROM rivet_schema") == [(1,)]
    assert "rivet_alembic" not in old.tables()
    old.ask("DROP INDEX rivet_event_export")
    with open_state(old.url) as state:
        holds_everything(state)


IMPORTS = """
import json, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from rivet_core.state import open_state, read_state
said = []
event.listen(Engine, "before_cursor_execute", lambda conn, cursor, statement, *rest: said.append(statement))
(open_state if sys.argv[2] == "open" else read_state)(sys.argv[1]).close()
print(json.dumps([said, "alembic" in sys.modules]))
"""


@pytest.mark.parametrize("how", ["open", "read"])
def test_opening_an_up_to_date_state_costs_no_more_than_looking_at_its_version(place, how):
    open_state(place.url).close()
    done = subprocess.run([sys.executable, "-c", IMPORTS, place.url, how], capture_output=True, text=True, check=True)
    said, imported = json.loads(done.stdout)
    assert not imported
    own = [statement for statement in said if statement.split()[0] not in ("BEGIN", "select", "show")]
    # Whether there is a version, and which; for SQLite also how it waits.
    looks = [statement for statement in own if "busy_timeout" not in statement]
    assert len(looks) == 2, said
    assert "rivet_schema.version" in looks[1]


def test_making_a_new_state_needs_no_alembic(place):
    done = subprocess.run([sys.executable, "-c", IMPORTS, place.url, "open"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[1] is False
