"""P05: behind pgbouncer in transaction mode every setting holds for its transaction, and nothing leaks to others."""

from __future__ import annotations

import shutil
import threading

import pytest

from rivet_core.facts import InspectItem, Mode, ReadSpec, Tuning
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.privilege import hand_over, prefix
from rivet_core.testing.process import LOOPBACK, MissingServer, ServerProcess, accepts, free_port, short_directory
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect

TUNING = Tuning(page_seconds=0.001, pause_share=0, statement_timeout_seconds=7, lock_timeout_seconds=3)


class Bouncer:
    """A private pgbouncer in transaction mode with two connections to the server; `url` leads to the database through it."""

    def __init__(self, database: PostgresDatabase) -> None:
        program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
        if program is None:
            raise MissingServer("pgbouncer", "nothing installed", "apt-get install pgbouncer")
        directory, self.port = short_directory("pb"), free_port()
        login = f"user={database.user} password={database.password}"
        (directory / "pgbouncer.ini").write_text(
            f"[databases]\n{database.name} = host={database.host} port={database.port} {login}\n"
            f"[pgbouncer]\nlisten_addr = {LOOPBACK}\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 2\n"
        )
        hand_over(directory)
        command = [*prefix(), program, str(directory / "pgbouncer.ini")]
        self.url = database.url_with(port=self.port)
        self._process = ServerProcess(command, directory=directory, output=directory / "log")

    def start(self) -> None:
        """Start it."""
        self._process.start(lambda: accepts(self.port))

    def remove(self) -> None:
        """Stop it and remove its directory."""
        self._process.remove()


@pytest.fixture
def session(database, engine):
    bouncer = Bouncer(database)
    try:
        bouncer.start()
        found = connect(PostgresOptions(url=bouncer.url, engine=engine))
        yield found
        found.close()
    finally:
        bouncer.remove()


def test_p05_pages_of_four_workers_over_two_pooled_connections(source, session):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, v text)")
    source.execute("INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 20000) g; ANALYZE t")
    assert session.inspect([InspectItem(name="t")]).tables["t"].primary_key == ("id",)
    spec = ReadSpec(export="e", table="t", mode=Mode.CHUNKED, chunk_count=4, tuning=TUNING)
    units = session.units(spec, ())
    seen: list[int] = []

    def read(unit):
        for batch in session.read(spec, unit):
            seen.extend(batch.column(0).to_pylist())

    log = source.database.log.mark()
    threads = [threading.Thread(target=read, args=(unit,)) for unit in units]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == list(range(1, 20001))
    assert len({entry.pid for entry in log.entries() if "COPY" in entry.text}) <= 2


def test_p05_settings_hold_in_the_transaction_and_nowhere_else(source, session):
    query = "SELECT current_setting('statement_timeout') AS st, current_setting('TimeZone') AS tz"
    spec = ReadSpec(export="e", query=query, tuning=TUNING)
    source.execute(f"ALTER ROLE {source.database.user} SET timezone = 'Asia/Tokyo'")
    try:
        rows = [row for batch in session.read(spec, session.units(spec, ())[0]) for row in batch.to_pylist()]
        assert rows == [{"st": "7s", "tz": "UTC"}]
        session.probe()
        left = source.execute(
            "SELECT DISTINCT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
            admin=True,
        )
        assert left == [("idle",)]
    finally:
        source.execute(f"ALTER ROLE {source.database.user} RESET timezone")
