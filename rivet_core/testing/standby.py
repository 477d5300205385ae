"""A streaming standby of a private PostgreSQL, for what only a replica shows: role, lag, conflicts."""

from __future__ import annotations

import time

from rivet_core.testing.postgres import ADMIN, ADMIN_PASSWORD, URL_VARIABLE, PostgresServer
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.process import LOOPBACK, MissingServer, ServerFailed, free_port, short_directory


class StandbyServer(PostgresServer):
    """A hot standby; read-only, follows `primary`. Databases are those of the primary."""

    primary: PostgresServer

    @classmethod
    def follow(cls, primary: PostgresServer) -> StandbyServer:
        """Copy `primary` and start following it."""
        if primary.external:
            raise MissingServer("a standby", f"{URL_VARIABLE} is set", f"unset {URL_VARIABLE}")
        standby = cls(short_directory("sb"), primary.programs, free_port())
        standby.primary = primary
        try:
            standby.prepare_directory()
            primary.run_program(
                "pg_basebackup",
                *("--pgdata", str(standby.data), "--write-recovery-conf", "--checkpoint", "fast", "--no-sync"),
                # A slot keeps what the standby has not read yet, however long it is paused or the primary restarts.
                *("--create-slot", "--slot", f"standby_{standby.port}"),
                *("--host", LOOPBACK, "--port", str(primary.port), "--username", ADMIN),
                environ={"PGPASSWORD": ADMIN_PASSWORD},
            )
            standby.start()
        except BaseException:
            standby.remove()
            raise
        return standby

    def catch_up(self, *, patience: float = 30.0) -> None:
        """Wait until everything that the primary has written can be read here."""
        goal = self.primary.admin().execute("SELECT pg_current_wal_insert_lsn()::text")[0][0]
        deadline = time.monotonic() + patience
        while not self.admin().execute(f"SELECT pg_last_wal_replay_lsn() >= '{goal}'")[0][0]:
            if time.monotonic() > deadline:
                raise ServerFailed(f"the standby did not reach {goal} in {patience:g} s:\n{self.process.tail()}")
            time.sleep(0.02)

    def pause(self) -> None:
        """Stop replaying, so that the lag grows."""
        self.admin().execute("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        """Go on replaying."""
        self.admin().execute("SELECT pg_wal_replay_resume()")

    def create_database(self, template: str = "template1") -> PostgresDatabase:
        """Refuse: a standby follows."""
        raise ServerFailed("create the database on the primary; the standby follows")

    def drop_database(self, name: str) -> None:
        """Leave it to the primary."""
