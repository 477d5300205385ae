"""Tables that hypothesis makes up, what keeps changing them while they are read, and the rule that holds for their readers."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.system.either import Shop

NUMBER, VERSION = "{n}", "{v}"
"""In an expression, the row's number and version: a row's values follow from the two, so that no two versions can be mixed."""

KEYS: dict[str, dict[str, tuple[str, tuple[str, ...], str]]] = {
    "postgres": {
        "dense": ("k int PRIMARY KEY", ("{n}",), ""),
        "sparse": ("k bigint PRIMARY KEY", ("{n}::bigint * 1000003 - 500000000",), ""),
        "skewed": ("k bigint PRIMARY KEY", ("CASE WHEN {n} % 40 = 0 THEN {n}::bigint << 40 ELSE {n} END",), ""),
        "words": ("k text PRIMARY KEY", ("CASE {n} % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'B' ELSE 'é' END || {n}",), ""),
        "words by bytes": ('k text COLLATE "C" PRIMARY KEY', ("CASE {n} % 2 WHEN 0 THEN 'a' ELSE 'B' END || {n}",), ""),
        "uuid": ("k uuid PRIMARY KEY", ("md5({n}::text)::uuid",), ""),
        "few and many": ("k int, l text", ("{n} % 3", "'x' || {n}"), ", PRIMARY KEY (k, l)"),
        "many and few": ("k text, l int", ("'x' || {n} / 3", "{n} % 3"), ", PRIMARY KEY (k, l)"),
        "moments": ("k timestamptz PRIMARY KEY", ("timestamptz 'epoch' + {n} * interval '1 hour 1 microsecond'",), ""),
        "decimals": ("k numeric(20,4) PRIMARY KEY", ("{n}::numeric / 8 - 20",), ""),
        "bytes": ("k bytea PRIMARY KEY", ("decode(md5({n}::text), 'hex')",), ""),
        "unique": ("k int NOT NULL UNIQUE", ("1000 - {n}",), ""),
        "none": ("k int", ("{n} % 7",), ""),
    },
    "mysql": {
        "dense": ("k int PRIMARY KEY", ("{n}",), ""),
        "sparse": ("k bigint PRIMARY KEY", ("{n} * 1000003 - 500000000",), ""),
        "unsigned": ("k bigint unsigned PRIMARY KEY", ("18446744073709551615 - {n} * 1000000007",), ""),
        "words": ("k varchar(60) PRIMARY KEY", ("CONCAT(ELT({n} % 3 + 1, 'a', 'B', 'é'), {n})",), ""),
        "latin1": ("k varchar(60) CHARACTER SET latin1 PRIMARY KEY", ("CONCAT(ELT({n} % 2 + 1, 'z', 'É'), {n})",), ""),
        "uuid as text": ("k char(36) PRIMARY KEY", ("INSERT(INSERT(MD5({n}), 9, 0, '-'), 14, 0, '-')",), ""),
        "uuid as bytes": ("k binary(16) PRIMARY KEY", ("UNHEX(MD5({n}))",), ""),
        "few and many": ("k smallint, l varchar(20)", ("{n} % 3", "CONCAT('x', {n})"), ", PRIMARY KEY (k, l)"),
        "many and few": ("k varchar(20), l int", ("CONCAT('x', {n} DIV 3)", "{n} % 3"), ", PRIMARY KEY (k, l)"),
        "moments": ("k datetime(6) PRIMARY KEY", ("'2024-01-01' + INTERVAL {n} * 3600000001 MICROSECOND",), ""),
        "decimals": ("k decimal(20,4) PRIMARY KEY", ("{n} / 8 - 20",), ""),
        "none": ("k int", ("{n} % 7",), ""),
    },
}
"""Name -> declaration, expressions of the key's columns, and what follows the last column."""

COLUMNS: dict[str, dict[str, str]] = {
    "postgres": {
        "bigint": "{n}::bigint * 1000000007 + {v}",
        "numeric(20,5)": "({n} / 7.0 + {v})::numeric(20,5)",
        "float8": "sqrt({n} + {v})",
        "text": "repeat('é', {n} % 9) || '-' || {v}",
        "bytea": "decode(md5({n}::text || {v}), 'hex')",
        "timestamp": "timestamp '2024-01-01' + ({n} * 1000 + {v}) * interval '1.000001 second'",
        "timestamptz": "timestamptz '2024-01-01 00:00+05:30' + ({n} * 1000 + {v}) * interval '1 second'",
        "date": "date '1900-01-01' + {n} + {v}",
        "boolean": "({n} + {v}) % 2 = 0",
        "uuid": "md5({n}::text || {v})::uuid",
        "int[]": "array[{n}, null, {v}]",
        "char(5)": "({v} % 100)::text",
    },
    "mysql": {
        "bigint unsigned": "18446744073709551615 - {n} - {v}",
        "decimal(20,5)": "{n} / 7 + {v}",
        "double": "SQRT({n} + {v})",
        "varchar(40)": "CONCAT(REPEAT('é', {n} % 9), '-', {v})",
        "longtext": "CONCAT(REPEAT('long ', {n} % 50), {v})",
        "varbinary(40)": "UNHEX(MD5(CONCAT({n}, '-', {v})))",
        "datetime(6)": "'2024-01-01' + INTERVAL ({n} * 1000 + {v}) * 1000001 MICROSECOND",
        "date": "'1900-01-01' + INTERVAL {n} + {v} DAY",
        "tinyint(1)": "({n} + {v}) % 120",
        "year": "1901 + ({n} + {v}) % 200",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A table: the kind of its key, its columns with how often each is NULL (0 never), its rows, and how it is read."""

    key: str
    columns: tuple[tuple[str, int], ...]
    rows: int
    units: int
    workers: int
    seed: int


def drawn(kind: str) -> st.SearchStrategy[Drawn]:
    """Return tables for one kind of server."""
    column = st.tuples(st.sampled_from(sorted(COLUMNS[kind])), st.sampled_from([0, 0, 1, 2, 5]))
    return st.builds(
        Drawn,
        key=st.sampled_from(sorted(KEYS[kind])),
        columns=st.lists(column, max_size=5).map(tuple),
        rows=st.one_of(st.integers(0, 12), st.integers(13, 600)),
        units=st.integers(1, 7),
        workers=st.sampled_from([1, 4]),
        seed=st.integers(0, 10**6),
    )


class Table:
    """The table `t` in the database, and the versions of all its rows that were ever committed in `h`."""

    def __init__(self, shop: Shop, drawn: Drawn) -> None:
        self.shop, self.drawn = shop, drawn
        declared, self.keys, tail = KEYS[shop.kind][drawn.key]
        types = [f"c{place} {kind}" for place, (kind, _) in enumerate(drawn.columns)]
        columns = ", ".join([declared, "n int", "ver int", *types])
        shop.sql("DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS h", f"CREATE TABLE t({columns}{tail})")
        plain = declared.replace(" PRIMARY KEY", "").replace(" UNIQUE", "")
        shop.sql(f"CREATE TABLE h({', '.join([plain, 'n int', 'ver int', *types])})")
        if drawn.rows:
            shop.sql(f"INSERT INTO t {shop.series(drawn.rows, self.values('n', '0'))}", "INSERT INTO h SELECT * FROM t")
        shop.sql("ANALYZE t" if shop.kind == "postgres" else "ANALYZE TABLE t")

    def values(self, number: str, version: str) -> str:
        """Return the SQL of a row's values."""
        return ", ".join([*(one.format(n=number) for one in self.keys), number, version, *self.payload(number, version)])

    def payload(self, number: str, version: str) -> list[str]:
        """Return the SQL of the columns that change with the version."""
        found = []
        for kind, nulls in self.drawn.columns:
            value = COLUMNS[self.shop.kind][kind].format(n=f"({number})", v=f"({version})")
            found.append(f"CASE WHEN ({number} + {version}) % {nulls} = 0 THEN NULL ELSE {value} END" if nulls else value)
        return found

    def versions(self) -> dict[int, set[tuple[Any, ...]]]:
        """Return every version that was committed, by row number."""
        found: dict[int, set[tuple[Any, ...]]] = {}
        width = len(self.keys)
        for row in self.shop.database.execute("SELECT * FROM h"):
            found.setdefault(row[width], set()).add(tuple(plain(value) for value in row))
        return found


def plain(value: Any) -> Any:
    """Return a value as both drivers and Arrow can say it."""
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list):
        return tuple(value)
    return value


class Changes(threading.Thread):
    """Updates, inserts and deletes rows until it is stopped; knows which rows it deleted."""

    def __init__(self, table: Table) -> None:
        super().__init__(daemon=True)
        self._table = table
        self.over = threading.Event()
        self.deleted: set[int] = set()
        self.steps = 0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self._change()
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def _change(self) -> None:
        table, rows = self._table, max(1, self._table.drawn.rows)
        connection = table.shop.database.connect()
        try:
            while not self.over.is_set():
                self.steps += 1
                place = (self.steps * 7919 + table.drawn.seed) % rows + 1
                new = [f"c{at} = {sql}" for at, sql in enumerate(table.payload("n", "(ver + 1)"))]
                # In MySQL the assignments see those before them, so the version comes last.
                self._commit(
                    connection, f"UPDATE t SET {', '.join([*new, 'ver = ver + 1'])} WHERE n % 20 = {place % 20}", place % 20
                )
                if self.steps % 3 == 0:
                    connection.cursor().execute(f"DELETE FROM t WHERE n = {place}")
                    self.deleted.add(place)
                number = rows + self.steps
                self._commit(connection, f"INSERT INTO t SELECT {table.values(str(number), '0')}", number % 20)
                self.over.wait(0.002)
        finally:
            connection.close()

    @staticmethod
    def _commit(connection: Any, change: str, place: int) -> None:
        """Make a change, and keep the versions that it made, in one transaction."""
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute(change)
        cursor.execute(f"INSERT INTO h SELECT * FROM t WHERE n % 20 = {place}")
        cursor.execute("COMMIT")
