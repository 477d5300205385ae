"""The same configs through the Rust tool and through this program: do both run them, and are the rows the same?

Run: python -m benchmarks.vocabulary --tool PROGRAM, where PROGRAM is the `rivet` of rivet-cli in an environment of its own.
Ends with 1 when a config that the tool runs does not run here, or gives other rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from benchmarks.vocabulary.cases import CASES, Case
from benchmarks.vocabulary.programs import ProgramFailed, ours, ours_wrote, theirs, theirs_wrote
from benchmarks.vocabulary.rows import Rows, difference, rows_of
from rivet_core.testing.mariadb import MariaServer
from rivet_core.testing.postgres import PostgresServer
from rivet_core.testing.s3 import S3Bucket, S3Server

NUMBERS = {"postgres": "generate_series({}, {}) AS s(g)", "mysql": "(SELECT seq AS g FROM seq_{}_to_{}) AS s"}
ORDERS = """INSERT INTO orders SELECT g, g * 1.25, {note}, TIMESTAMP '2026-01-01 00:00:00' + {minutes},
 CASE WHEN g % 5 = 0 THEN TIMESTAMP '2026-02-01 00:00:00' + {minutes} END, DATE '2026-01-01' FROM {numbers}"""
WORDS = {
    "postgres": {"note": "CASE WHEN g % 3 > 0 THEN 'no. ' || g || ', \"ü\"' END", "minutes": "g * interval '1 min'"},
    "mysql": {"note": "CASE WHEN g % 3 > 0 THEN concat('no. ', g, ', \"ü\"') END", "minutes": "INTERVAL g MINUTE"},
}
COLUMNS = "id bigint PRIMARY KEY, total decimal(10,2), note varchar(80)"
TABLE = f"({COLUMNS}, updated_at {{time}} NOT NULL, changed_at {{time}} NULL, day date)"
TIMES = {"postgres": "timestamp(6)", "mysql": "datetime(6)"}


def main() -> int:
    """Run every case on both engines and print a table."""
    words = argparse.ArgumentParser(prog="python -m benchmarks.vocabulary", description=__doc__)
    words.add_argument("--tool", required=True, help="the Rust tool's program")
    words.add_argument("--only", default="", help="one case, by name")
    given = words.parse_args()
    store = S3Server.create()
    servers: dict[str, Any] = {"postgres": PostgresServer.create(), "mysql": MariaServer.create()}
    print("| config | engine | the Rust tool | here | rows |\n| --- | --- | --- | --- | --- |")
    worst = 0
    try:
        for case in CASES:
            for engine in case.engines if given.only in ("", case.name) else ():
                line, wrong = compare(case, engine, servers[engine], store, str(Path(given.tool).absolute()))
                print(line, flush=True)
                worst = max(worst, wrong)
    finally:
        for server in (*servers.values(), store):
            server.remove()
    return worst


def compare(case: Case, engine: str, server: Any, store: S3Server, tool: str) -> tuple[str, int]:
    """Run one config twice over, each time on a table of its own, and return a line of the table and 1 for a fault."""
    found: dict[str, dict[str, Rows] | str] = {}
    for who in ("tool", "here"):
        bucket = store.bucket() if "s3" in case.destination else None
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[who] = _rows(who, case, engine, server.create_database(), bucket, Path(folder), tool)
            except ProgramFailed as failure:
                found[who] = str(failure)
    there, here = found["tool"], found["here"]
    cells = ["runs" if isinstance(one, dict) else one for one in (there, here)]
    if isinstance(there, dict) and isinstance(here, dict):
        differs = [f"{name}: {text}" for name in here if (text := difference(here[name], there[name]))]
        again = sum((rows - there[name]).total() for name, rows in here.items())
        same = f"the same, {sum(rows.total() for rows in there.values())}" + (f", {again} delivered again" if again else "")
        return f"| {case.name} | {engine} | {' | '.join(cells)} | {'; '.join(differs) or same} |", int(bool(differs))
    return f"| {case.name} | {engine} | {' | '.join(cells)} | - |", int(isinstance(there, dict))


def _rows(
    who: str, case: Case, engine: str, database: Any, bucket: S3Bucket | None, folder: Path, tool: str
) -> dict[str, Rows]:
    text = case.config(engine)
    environ = {"SHOP_URL": database.url}
    if bucket is not None:
        text = text.replace("$BUCKET", bucket.name).replace("$ENDPOINT", bucket.endpoint)
        environ |= bucket.environ
    (folder / "rivet.yaml").write_text(text)
    (folder / "orders.sql").write_text("SELECT id, total, note FROM orders\n")
    table = TABLE.format(time=TIMES[engine])
    database.execute(f"CREATE TABLE orders {table}")
    database.execute(f"CREATE TABLE recent {table}")
    today = datetime.now(UTC).date()
    database.execute(f"INSERT INTO recent VALUES (1, 1, 'today', '{today} 00:00:00', NULL, '{today}')")
    database.execute("INSERT INTO recent VALUES (2, 1, 'long ago', '2020-01-01 00:00:00', NULL, NULL)")
    for read in range(case.reads):
        numbers = NUMBERS[engine].format(read * 1000 + 1, read * 1000 + 1000)
        database.execute(ORDERS.format(numbers=numbers, **WORDS[engine]))
        (theirs(tool, folder, environ) if who == "tool" else ours(folder, environ))
    names = [str(export["name"]) for export in yaml.safe_load(text)["exports"]]
    if who == "tool":
        return {name: rows_of(theirs_wrote(folder, name, bucket)) for name in names}
    return {name: rows_of(ours_wrote(folder, name, environ, bucket)) for name in names}


if __name__ == "__main__":
    sys.exit(main())
