"""`python -m rivet_core.testing.servers`: find every server the tests need, get those that can be got, say what is missing.

Exit code 0, or 1 when one is missing and `RIVET_REQUIRE_SERVICES=1`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from rivet_core.testing import mariadb, mariadb_programs, postgres, s3
from rivet_core.testing.process import MissingServer
from rivet_core.testing.tls import TlsPostgresServer

SERVERS: dict[str, tuple[str, Callable[[], object]]] = {
    "PostgreSQL": (postgres.URL_VARIABLE, postgres.find_programs),
    "with TLS": ("", TlsPostgresServer.find),
    "MariaDB": (mariadb.URL_VARIABLE, lambda: mariadb_programs.find_programs().server),
    "S3 store": (s3.ENDPOINT_VARIABLE, s3.find_program),
}
"""Name -> the variable that replaces the private server (none for the second PostgreSQL), and what finds its program."""


def prepare() -> list[MissingServer]:
    """Find each server, print where it is, and return those that are missing."""
    missing: list[MissingServer] = []
    for name, (variable, find) in SERVERS.items():
        try:
            where = f"${variable}" if os.environ.get(variable) else find()
        except MissingServer as error:
            missing.append(error)
            where = f"MISSING ({error.why}); to get it: {error.remedy}"
        print(f"{name:<12}{where}", flush=True)  # noqa: T201
    return missing


if __name__ == "__main__":
    sys.exit(1 if prepare() and os.environ.get("RIVET_REQUIRE_SERVICES") == "1" else 0)
