"""Kill an export at random points while its table changes, resume it, and hold every result to the reader's rule.

`python -m benchmarks.soak [--kills N] [--rows N] [--minutes N] [--seed N]`; `make soak SOAK="--kills 20"` is a short one. The
rule for a chunked export over its primary key: every row that was there when the run began and was not deleted appears;
every version delivered was committed by somebody during the run; no key appears twice. Ends with 1 when it is broken once, or
when the time was over before enough had been killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pyarrow.parquet as pq

from rivet_core.running.faults import STEPS
from rivet_core.testing.postgres import open_postgres

CONFIG = """
source: {type: postgres, url_env: SOAK_URL}
destination: {type: local, path: out}
defaults: {tuning: {profile: fast, throttle_ms: 20}}
exports:
  - {name: orders, table: orders, mode: chunked, chunk_column: id, chunk_count: UNITS, parallel: 2, keep_runs: 1}
"""
UNITS = 30
ROLLED_BACK = -1
"""A version that writers set and roll back: nobody may ever see it."""


@dataclass
class Writer:
    """Inserts between and behind the keys, updates, deletes and rolls back, and knows what it committed."""

    url: str
    seed: int
    committed: dict[int, int] = field(default_factory=dict)
    attempted: dict[int, int] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)
    transactions: int = 0
    error: BaseException | None = None

    def fill(self, rows: int) -> None:
        """Create the table: odd keys, so that there is room between them."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, version bigint NOT NULL, body text NOT NULL)")
            connection.execute(
                "INSERT INTO orders SELECT g * 2 + 1, 0, md5((g * 2 + 1) || ':0') FROM generate_series(0, %s - 1) g", (rows,)
            )
            connection.execute("ANALYZE orders")
        self.committed = {number * 2 + 1: 0 for number in range(rows)}
        self.attempted = dict(self.committed)

    def run(self) -> None:
        """Write until told to stop."""
        dice = random.Random(self.seed)
        keys = list(self.committed)
        try:
            with psycopg.connect(self.url) as connection:
                while not self.stop.is_set():
                    self._once(connection, dice, keys)
                    time.sleep(0.002)
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            self.error = error

    def _once(self, connection: psycopg.Connection, dice: random.Random, keys: list[int]) -> None:
        chosen = sorted(set(dice.choices(keys, k=20)) - self.deleted)
        if dice.random() < 0.1:
            connection.execute("UPDATE orders SET version = %s, body = 'x' WHERE id = ANY(%s)", (ROLLED_BACK, chosen))
            connection.rollback()
            return
        fresh = {dice.choice((dice.randrange(0, 2 * len(keys), 2), max(keys[-1], keys[0]) + 2 + n)) for n in range(3)}
        fresh = {key for key in fresh if key not in self.attempted and key not in self.deleted}
        gone = chosen[:1] if dice.random() < 0.1 else []
        changed = [key for key in chosen if key not in gone]
        with self.lock:
            for key in changed:
                self.attempted[key] = self.committed[key] + 1
            self.attempted.update(dict.fromkeys(fresh, 0))
            self.deleted.update(gone)
        connection.execute(
            "UPDATE orders SET version = version + 1, body = md5(id || ':' || version + 1) WHERE id = ANY(%s)", (changed,)
        )
        connection.execute("INSERT INTO orders SELECT k, 0, md5(k || ':0') FROM unnest(%s::bigint[]) k", (sorted(fresh),))
        connection.execute("DELETE FROM orders WHERE id = ANY(%s)", (gone,))
        connection.commit()
        with self.lock:
            for key in changed:
                self.committed[key] += 1
            self.committed.update(dict.fromkeys(fresh, 0))
            self.transactions += 1
        keys.extend(sorted(fresh))


@dataclass
class Soak:
    """The project that is killed, and what came of it."""

    root: Path
    environ: dict[str, str]
    writer: Writer
    dice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    seconds: float = 3.0

    def start(self, *arguments: str, fault: str = "") -> subprocess.Popen[bytes]:
        """Start a run in a process of its own."""
        command = [sys.executable, "-m", "rivet_core.cli", "run", "--json", *arguments]
        environ = {**self.environ, "RIVET_FAULT": fault}
        return subprocess.Popen(command, cwd=self.root, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def undisturbed(self) -> None:
        """Measure how long a run takes, so that kills fall inside of it."""
        began = time.monotonic()
        self.finish(self.start())
        self.seconds = time.monotonic() - began

    def once(self) -> None:
        """Start a run, kill it, perhaps kill its resume too, then let it end and check what readers get."""
        with self.writer.lock:
            low = dict(self.writer.committed)
            already = set(self.writer.deleted)
        before = self.current()
        self.kill(self.start(fault=(fault := self.fault())), fault)
        while self.dice.random() < 0.25 and self.current() == before:
            self.kill(self.start("--resume", fault=(fault := self.fault())), fault)
        after = self.current()
        self.counts["killed after the commit" if after != before else "killed before the commit"] += 1
        if after == before:
            units = self.finish(self.start("--resume"))
            self.counts["resumes that took units over"] += units > 0
            self.counts["units taken over"] += units
        self.check(low, already)

    def fault(self) -> str:
        """Return a step to die at, or nothing for a moment of the clock."""
        if self.dice.random() < 0.5:
            return ""
        step = self.dice.choice(STEPS)
        return f"{step}:{self.dice.randint(1, UNITS)}" if STEPS.index(step) < 4 else step

    def kill(self, process: subprocess.Popen[bytes], fault: str) -> None:
        """Kill the process at its fault point, or at a random moment; it may be faster."""
        if not fault:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.dice.uniform(0.2, 1.0) * self.seconds)
            process.kill()
        process.communicate()
        if process.returncode != -signal.SIGKILL:
            self.counts["ended before the kill"] += 1
            return
        self.counts["kills"] += 1
        self.counts["  at a step" if fault else "  at a moment of the clock"] += 1

    def finish(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a run that nobody kills; return how many units it took over."""
        out, err = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"a run ended with {process.returncode}\n{out.decode()}\n{err.decode()}")
        found: int = json.loads(out)["exports"][0]["resumed_units"]
        return found

    def current(self) -> str:
        """Return the id of the run that readers see."""
        path = self.root / "out/orders/_rivet/current.json"
        return str(json.loads(path.read_text())["run_id"]) if path.exists() else ""

    def check(self, low: dict[int, int], already: set[int]) -> None:
        """Hold the dataset to the rule. `low` is what was committed before the run began."""
        with self.writer.lock:
            high, deleted = dict(self.writer.attempted), set(self.writer.deleted)
        home = self.root / "out"
        current = json.loads((home / "orders/_rivet/current.json").read_text())
        seen: dict[int, tuple[int, str]] = {}
        rows = 0
        for member in current["manifests"]:
            folder = (home / member["key"]).parent
            listed = [part["path"] for part in json.loads((home / member["key"]).read_text())["parts"]]
            self.counts["parts listed twice"] += len(listed) - len(set(listed))
            for path in listed:
                table = pq.read_table(folder / path, partitioning=None)
                rows += table.num_rows
                columns = (table[name].to_pylist() for name in ("id", "version", "body"))
                seen.update((key, (version, body)) for key, version, body in zip(*columns, strict=True))
        lost = [key for key in low if key not in seen and key not in deleted]
        wrong = [key for key, (version, _) in seen.items() if not low.get(key, 0) <= version <= high.get(key, -1)]
        ghosts = [key for key in seen if key in already]
        torn = [key for key in self.dice.sample(list(seen), min(2000, len(seen))) if seen[key][1] != _body(key, seen[key][0])]
        found = {
            "rows lost": len(lost),
            "rows twice": rows - len(seen),
            "versions nobody committed": len(wrong) + len(torn),
            "rows deleted before": len(ghosts),
        }
        self.counts.update({"rows checked": rows, **found})
        if any(found.values()):
            self.broken.append(f"run {current['run_id']}: {found}; for instance {(lost + wrong + torn + ghosts)[:5]}")


def _body(key: int, version: int) -> str:
    import hashlib

    return hashlib.md5(f"{key}:{version}".encode(), usedforsecurity=False).hexdigest()


def main() -> int:
    """Run the soak and print its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--minutes", type=float, default=60.0, help="no new kill after so long")
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = random.randrange(1 << 30) if asked.seed is None else asked.seed
    server = open_postgres()
    root = Path(tempfile.mkdtemp(prefix="rivet-soak-"))
    began = time.monotonic()
    try:
        database = server.create_database()
        writer = Writer(database.url, seed)
        writer.fill(asked.rows)
        (root / "rivet.yaml").write_text(CONFIG.replace("UNITS", str(UNITS)))
        soak = Soak(root, {**os.environ, "SOAK_URL": database.url}, writer, random.Random(seed))
        thread = threading.Thread(target=writer.run, daemon=True)
        thread.start()
        soak.undisturbed()
        with suppress(KeyboardInterrupt):  # Ctrl-C prints the numbers so far.
            while soak.counts["kills"] < asked.kills and writer.error is None and time.monotonic() < began + 60 * asked.minutes:
                soak.once()
                _sweep(root)
                broken = f", {len(soak.broken)} broken" if soak.broken else ""
                print(f"\r{soak.counts['kills']} of {asked.kills} kills{broken}", end="", file=sys.stderr, flush=True)
        writer.stop.set()
        thread.join()
    finally:
        server.remove()
        shutil.rmtree(root, ignore_errors=True)
    print(file=sys.stderr)
    print(f"table               {asked.rows:,} rows, {writer.transactions:,} transactions beside the exports, seed {seed}")
    for name, number in soak.counts.items():
        print(f"{name:<27} {number:,}")
    print(f"seconds                     {time.monotonic() - began:.0f}")
    short = soak.counts["kills"] < asked.kills
    if short:
        print(f"SHORT  {soak.counts['kills']} of {asked.kills} kills")
    for text in soak.broken:
        print(f"BROKEN {text}")
    if writer.error is not None:
        raise writer.error
    return 1 if soak.broken or short else 0


def _sweep(root: Path) -> None:
    """Keep the disk small: runs that are no longer current go, as `rivet gc` would let them."""
    home = root / "out/orders"
    current = json.loads((home / "_rivet/current.json").read_text())["run_id"]
    for run in home.glob("run=*"):
        if run.name != f"run={current}":
            shutil.rmtree(run)


if __name__ == "__main__":
    sys.exit(main())
