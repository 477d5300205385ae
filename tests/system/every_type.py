"""Every type of each engine, with values at its edges: what a digest has to spell alike on both sides."""

from __future__ import annotations

import random
from collections.abc import Iterator

POSTGRES: dict[str, list[str]] = {
    "smallint": ["-32768", "0", "32767"],
    "integer": ["-2147483648", "7"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["4294967295", "0"],
    "boolean": ["true", "false"],
    "real": ["0.1", "'-0'", "'NaN'", "'Infinity'", "3.4028235e38", "1e-45"],
    "double precision": [
        "0.1",
        "'-0'",
        "'NaN'",
        "'-Infinity'",
        "5e-324",
        "1.7976931348623157e308",
        "'Infinity'::float8 - 'Infinity'::float8",
    ],
    "numeric(10,2)": ["0", "-0.10", "100", "12345678.90", "0.01"],
    "numeric(5,-2)": ["1200", "-100", "0"],
    "numeric(38,20)": ["1e-20", "-123456789012345678.00000000000000000001"],
    "numeric(60,30)": ["1e-30", "123456789012345678901234567890.5"],
    "numeric(6,0)": ["120", "0", "-5"],
    "numeric": ["1.10", "1e30", "'NaN'"],
    "money": ["'-12.30'::numeric::money", "0"],
    "text": ["''", "'a:1,b'", "E'line\\r\\nnext\\t\"q\"'", "'é🚲'", "' blank '", "'\\x00'"],
    "varchar(8)": ["'ab '", "''"],
    "char(6)": ["'ab'", "''"],
    '"char"': ["'x'", "''"],
    "name": ["'n'"],
    "bytea": ["'\\x00ff00'", "''"],
    "date": ["'0001-01-01'", "'1970-01-01'", "'9999-12-31'", "'1969-12-31'"],
    "timestamp": ["'2024-02-29 23:59:59.999999'", "'1969-12-31 23:59:59.000001'", "'0001-01-01'"],
    "timestamptz": ["'2024-01-01 05:30+05:30'", "'1900-01-01 00:00:00.1+00'"],
    "time": ["'23:59:59.999999'", "'00:00'"],
    "timetz": ["'12:00:00.5+02'"],
    "interval": ["'1 mon -2 days 03:04:05.6'", "'0'"],
    "uuid": ["'00112233-4455-6677-8899-aabbccddeeff'"],
    "json": ["'{\"a\": 1}'", "'null'"],
    "jsonb": ["'{\"a\": [1, null]}'"],
    "inet": ["'10.0.0.1'", "'10.0.0.1/8'"],
    "bit(5)": ["B'10101'"],
    "int4range": ["'[1,5)'"],
    "mood": ["'glad'", "'sad'"],
    "small": ["1", "99"],
    "padded": ["'z'"],
    "integer[]": ["'{}'", "'{1,NULL,-3}'"],
    "text[]": ["'{}'", "ARRAY['', 'a:b', NULL, 'é']", "'{NULL}'"],
    "char(3)[]": ["ARRAY['a', 'bcd']::char(3)[]"],
    "numeric(6,2)[]": ["ARRAY[1.10, 0]::numeric(6,2)[]"],
    "double precision[]": ["ARRAY['NaN', 0.5]::float8[]"],
    "timestamptz[]": ["ARRAY['2024-01-01 00:00+01']::timestamptz[]"],
    "uuid[]": ["ARRAY['00112233-4455-6677-8899-aabbccddeeff']::uuid[]"],
    "boolean[]": ["'{true,false,NULL}'"],
}
POSTGRES_TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int CHECK (VALUE < 100); CREATE DOMAIN padded AS char(4);"
)
MARIADB: dict[str, list[str]] = {
    "tinyint": ["-128", "127"],
    "tinyint(1)": ["0", "1"],
    "smallint unsigned": ["65535"],
    "mediumint": ["-8388608"],
    "int": ["-2147483648", "0"],
    "bigint": ["-9223372036854775808"],
    "bigint unsigned": ["18446744073709551615", "0"],
    "float": ["0.1", "3.4e38", "-1.5", "0"],
    "double": ["0.1", "-1.7976931348623157e308", "5e-324", "0"],
    "decimal(10,2)": ["0", "-0.10", "100", "12345678.90"],
    "decimal(6,0)": ["120", "-5"],
    "decimal(60,30)": ["1e-30", "123456789012345678901234567890.5"],
    "bit(1)": ["b'1'", "b'0'"],
    "bit(12)": ["b'101010101010'"],
    "year": ["2024", "0"],
    "char(6)": ["'ab'", "''"],
    "varchar(20)": ["'ab '", "''", "'é🚲'", "'a:1,b'"],
    "text": ["'line\r\nnext \"q\"'", "''", "' blank '"],
    "varchar(10) character set latin1": ["'é'", "'plain'"],
    "binary(4)": ["x'00ff'"],
    "varbinary(8)": ["x''", "x'00ff00'"],
    "blob": ["x'ffee'", "''"],
    "date": ["'1000-01-01'", "'1970-01-01'", "'9999-12-31'"],
    "datetime(6)": ["'2024-02-29 23:59:59.999999'", "'1969-12-31 23:59:59.000001'"],
    "datetime": ["'2024-02-29 23:59:59'"],
    "timestamp(3) null": ["'2024-01-01 05:30:00.5'"],
    "time(6)": ["'-838:59:58.999999'", "'00:00:00.000001'", "'838:00:00'", "'-00:00:00.5'"],
    "time": ["'12:34:56'"],
    "enum('s','m','l')": ["'m'"],
    "set('a','b','c')": ["'a,c'", "''"],
    "json": ["'{\"a\": 1}'"],
    "uuid": ["'00112233-4455-6677-8899-aabbccddeeff'"],
    "inet6": ["'::1'"],
    "point": ["ST_GeomFromText('POINT(1 2)')"],
}
SQLITE: dict[str, list[str]] = {
    "INTEGER": ["-9223372036854775808", "0"],
    "BOOLEAN": ["0", "1"],
    "REAL": ["0.1", "-0.0", "9e999", "5e-324"],
    "TEXT": ["''", "'a:1,b'", "'é🚲'", "'two\r\nlines'"],
    "BLOB": ["x'00ff'", "x''"],
    "DECIMAL(10,2)": ["1.5", "7", "'0.10'"],
    "TIMESTAMP": ["'2024-01-01 00:00:00'"],
    "DATE": ["'2024-01-01'"],
    "ANYTHING": ["1", "'text'", "2.5"],
}


def statements(types: dict[str, list[str]], *, rows: int, seed: int, null: str = "") -> Iterator[str]:
    """Yield the statements that make table `t` of all types and fill it: every edge once, then at random, NULLs among them.

    `null` stands after the type of a column.
    """
    drawn = random.Random(seed)
    columns = ", ".join(f"c{number} {kind}{null if ' null' not in kind else ''}" for number, kind in enumerate(types))
    yield f"CREATE TABLE t (id integer PRIMARY KEY, {columns})"
    for row in range(rows):
        values = []
        for literals in types.values():
            edge = literals[row] if row < len(literals) else None
            values.append(edge or ("NULL" if drawn.random() < 0.2 else drawn.choice(literals)))
        yield f"INSERT INTO t VALUES ({row}, {', '.join(values)})"
