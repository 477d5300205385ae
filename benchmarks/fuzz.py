"""Feed changed COPY streams to the decoder of rivet-pgcopy, in a build with the address and undefined-behaviour sanitizers.

`python -m benchmarks.fuzz [--seconds N] [--seed N]`; `make soak` runs it for a minute. The streams are those of a private
server's table of edge values. Ends with 1, and with the sanitizer's words, at the first byte that is read where none is, the
first leak and the first array that does not hold together; the seed that is printed then repeats it.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pyarrow as pa

from rivet_core.testing.postgres import open_postgres
from rivet_pgcopy import field_of

PROJECT = Path(__file__).parent.parent / "plugins" / "rivet_pgcopy"
SOURCES = ("arrow", "batch", "buffer", "column", "list", "numeric")
FLAGS = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ROUNDS = 20_000
"""Rounds of one process: long enough to forget its start, short enough to stop in time."""
JSON = pa.json_(pa.utf8())
COLUMNS: tuple[tuple[str, pa.DataType, tuple[str, ...]], ...] = (
    ("boolean", pa.bool_(), ("true", "false")),
    ("smallint", pa.int16(), ("-32768", "7")),
    ("integer", pa.int32(), ("1", "-1")),
    ("bigint", pa.int64(), ("9223372036854775807",)),
    ("oid", pa.int64(), ("4294967295",)),
    ("real", pa.float32(), ("'NaN'", "1.5")),
    ("double precision", pa.float64(), ("'-0'", "'Infinity'")),
    ("text", pa.string(), ("''", "'some text'", "repeat('x', 300)")),
    ("bytea", pa.binary(), ("'\\x00ff'", "''")),
    ("json", JSON, ("'{}'",)),
    ("jsonb", JSON, ("""'{"a": [1, 2]}'""", "'null'")),
    ("date", pa.date32(), ("'infinity'", "'2024-02-29'")),
    ("time", pa.time64("us"), ("'24:00'", "'12:00'")),
    ("timestamp", pa.timestamp("us"), ("'-infinity'", "'1999-12-31 23:59:59.999999'")),
    ("timestamptz", pa.timestamp("us", "UTC"), ("'294276-12-31 00:00+00'", "'2024-01-01 00:00+00'")),
    ("uuid", pa.uuid(), ("'00112233-4455-6677-8899-aabbccddeeff'",)),
    ("numeric(5,2)", pa.decimal128(5, 2), ("-1.25", "'NaN'", "0")),
    ("numeric(38,10)", pa.decimal128(38, 10), ("1234567890123456789012345678.0123456789",)),
    ("numeric(60,10)", pa.decimal256(60, 10), ("-12345678901234567890123456789012345678901234567890.5",)),
    ("integer[]", pa.list_(pa.int32()), ("'{1,NULL,3}'", "'{}'")),
    ("text[]", pa.list_(pa.string()), ("'{a,\"\",NULL,longer than that}'", "'{}'")),
    ("boolean[]", pa.list_(pa.bool_()), ("'{t,NULL,f,t,t,f,t,f,t}'",)),
    ("numeric(12,3)[]", pa.list_(pa.decimal128(12, 3)), ("'{1.5,NaN,NULL,-999.999}'",)),
    ("timestamptz[]", pa.list_(pa.timestamp("us", "UTC")), ("'{2024-01-01 00:00+00,infinity}'",)),
    ("uuid[]", pa.list_(pa.uuid()), ("'{00112233-4455-6677-8899-aabbccddeeff}'",)),
)
ROWS = 6


def main() -> int:
    """Build, write the corpus, and run until the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rivet-fuzz-"))
    try:
        program = build(folder)
        corpus = folder / "corpus"
        corpus.write_bytes(corpus_bytes(*dump()))
        return run(program, corpus, asked.seconds, asked.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build(folder: Path) -> Path:
    """Compile the decoder without Python, with a main of its own."""
    program = folder / "fuzz"
    sources = [PROJECT / "fuzz" / "fuzz.c", *(PROJECT / "src" / f"{name}.c" for name in SOURCES)]
    subprocess.run(["cc", *FLAGS, f"-I{PROJECT / 'src'}", *map(str, sources), "-o", str(program)], check=True)
    return program


def dump() -> tuple[list[tuple[int, int, int, bool, int]], list[bytes]]:
    """Return the columns as the decoder takes them, and the messages of one COPY of a private server."""
    server = open_postgres()
    try:
        database = server.create_database()
        names = [f"c{at}" for at in range(len(COLUMNS))]
        declared = ", ".join(f"{name} {column[0]}" for name, column in zip(names, COLUMNS, strict=True))
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE t ({declared})".encode())
            for row in range(ROWS):
                values = ", ".join([*literals, "NULL"][row % (len(literals) + 1)] for _, _, literals in COLUMNS)
                connection.execute(f"INSERT INTO t VALUES ({values})".encode())
            described = connection.execute("SELECT * FROM t LIMIT 0").description or []
            fields = [field_of(one.type_code, column[1]) for one, column in zip(described, COLUMNS, strict=True)]
            with connection.cursor() as cursor, cursor.copy("COPY t TO STDOUT (FORMAT binary)") as copy:
                messages = [bytes(message) for message in copy]
        return [field.record for field in fields if field is not None], messages
    finally:
        server.stop()


def corpus_bytes(fields: list[tuple[int, int, int, bool, int]], messages: list[bytes]) -> bytes:
    """Return both as `fuzz.c` reads them."""
    parts = [
        struct.pack("=I", len(fields)),
        *(struct.pack("=5I", *field) for field in fields),
        struct.pack("=I", len(messages)),
    ]
    return b"".join([*parts, *(struct.pack("=I", len(message)) + message for message in messages)])


def run(program: Path, corpus: Path, seconds: float, seed: int) -> int:
    """Run processes of `ROUNDS` each until the time is over; 1 when one of them found something."""
    began, rounds, refused = time.monotonic(), 0, 0
    while rounds == 0 or time.monotonic() - began < seconds:
        done = subprocess.run([str(program), str(corpus), str(ROUNDS), str(seed)], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"fuzz: broken with --seed {seed}\n{done.stdout}{done.stderr}")
            return 1
        rounds += ROUNDS
        refused += int(done.stdout.split()[2])
        seed += 1
    print(f"fuzz: {rounds} changed streams in {time.monotonic() - began:.0f} s, {refused} refused, none read wrongly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
