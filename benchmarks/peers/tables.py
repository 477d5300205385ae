"""The three shapes that are read: narrow, wide, and many tiny tables, in the words of each engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """How an engine spells the columns and rows of the shapes; `row` gives a row for each number `g` of `series`."""

    narrow_columns: str
    narrow_row: str
    wide_columns: str
    wide_row: str
    series: str
    settle: str


POSTGRES = Wording(
    narrow_columns="id bigint PRIMARY KEY, k int, x float8, at timestamptz, name text",
    narrow_row="g, g % 1000, g * 0.5, timestamptz '2026-01-01 00:00+00' + g * interval '1 s', 'name-' || g % 5000",
    wide_columns=(
        "id bigint PRIMARY KEY, a int, b int, c smallint, d float8, e float4, f boolean, p numeric(12,2), q numeric(18,4), "
        "r numeric(30,8), t timestamptz, u timestamp, v date, j jsonb, i uuid, s1 text, s2 text, s3 varchar(80), s4 text, "
        "s5 text"
    ),
    wide_row=(
        "g, g % 1000, -g, (g % 100)::smallint, g * 0.1, g * 0.5, g % 2 = 0, g * 0.01, g * 1.2345, g * 1.00000001, "
        "timestamptz '2026-01-01 00:00+00' + g * interval '1 s', timestamp '2026-01-01' + g * interval '1 min', "
        "date '2020-01-01' + g % 2000, jsonb_build_object('n', g, 'tag', 'v' || g % 50), md5(g::text)::uuid, "
        "'word ' || g % 100, md5(g::text), 'status ' || g % 7, CASE WHEN g % 3 = 0 THEN NULL ELSE 'note ' || g END, "
        "repeat('x', g % 40)"
    ),
    series="generate_series(1, {rows}) g",
    settle="VACUUM ANALYZE {name}",
)

MARIADB = Wording(
    narrow_columns="id BIGINT PRIMARY KEY, k INT, x DOUBLE, at DATETIME, name VARCHAR(60)",
    narrow_row="g, g MOD 1000, g * 0.5, TIMESTAMPADD(SECOND, g, '2026-01-01'), CONCAT('name-', g MOD 5000)",
    wide_columns=(
        "id BIGINT PRIMARY KEY, a INT, b INT, c SMALLINT, d DOUBLE, e FLOAT, f TINYINT(1), p DECIMAL(12,2), q DECIMAL(18,4), "
        "r DECIMAL(30,8), t TIMESTAMP NULL, u DATETIME(6), v DATE, j JSON, i CHAR(36), s1 VARCHAR(80), s2 VARCHAR(80), "
        "s3 VARCHAR(80), s4 TEXT, s5 TEXT"
    ),
    wide_row=(
        "g, g MOD 1000, -g, g MOD 100, g * 0.1, g * 0.5, g MOD 2 = 0, g * 0.01, g * 1.2345, g * 1.00000001, "
        "TIMESTAMPADD(SECOND, g, '2026-01-01'), TIMESTAMPADD(MINUTE, g MOD 500000, '2026-01-01'), "
        "ADDDATE('2020-01-01', g MOD 2000), JSON_OBJECT('n', g, 'tag', CONCAT('v', g MOD 50)), UUID(), "
        "CONCAT('word ', g MOD 100), MD5(g), CONCAT('status ', g MOD 7), IF(g MOD 3 = 0, NULL, CONCAT('note ', g)), "
        "REPEAT('x', g MOD 40)"
    ),
    series="(SELECT seq AS g FROM seq_1_to_{rows}) AS numbers",
    settle="ANALYZE TABLE {name}",
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What one measurement reads: the names of its tables and the statements that make them."""

    name: str
    title: str
    tables: tuple[str, ...]
    statements: tuple[str, ...]


def shapes(wording: Wording, narrow: int, wide: int, tiny: int) -> dict[str, Shape]:
    """Return the shapes for so many rows of narrow and wide, and so many tiny tables of 1,000 rows."""
    names = tuple(f"tiny{number:03}" for number in range(tiny))
    slim, broad = (wording.narrow_columns, wording.narrow_row), (wording.wide_columns, wording.wide_row)
    return {
        "narrow": Shape("narrow", f"{narrow:,} rows x 5", ("narrow",), _table(wording, "narrow", *slim, narrow)),
        "wide": Shape("wide", f"{wide:,} rows x 20", ("wide",), _table(wording, "wide", *broad, wide)),
        "tiny": Shape(
            "tiny",
            f"{tiny} tables x 1,000 rows",
            names,
            tuple(sql for name in names for sql in _table(wording, name, *slim, 1000)),
        ),
    }


def _table(wording: Wording, name: str, columns: str, row: str, rows: int) -> tuple[str, ...]:
    return (
        f"CREATE TABLE {name} ({columns})",
        f"INSERT INTO {name} SELECT {row} FROM {wording.series.format(rows=rows)}",
        wording.settle.format(name=name),
    )
