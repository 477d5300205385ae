"""The three shapes that are read: narrow, wide, and many tiny tables."""

from __future__ import annotations

from dataclasses import dataclass

NARROW_COLUMNS = "id bigint PRIMARY KEY, k int, x float8, at timestamptz, name text"
NARROW_ROW = "g, g % 1000, g * 0.5, timestamptz '2026-01-01 00:00+00' + g * interval '1 s', 'name-' || g % 5000"
WIDE_COLUMNS = (
    "id bigint PRIMARY KEY, a int, b int, c smallint, d float8, e float4, f boolean, p numeric(12,2), q numeric(18,4), "
    "r numeric(30,8), t timestamptz, u timestamp, v date, j jsonb, i uuid, s1 text, s2 text, s3 varchar(80), s4 text, s5 text"
)
WIDE_ROW = (
    "g, g % 1000, -g, (g % 100)::smallint, g * 0.1, g * 0.5, g % 2 = 0, g * 0.01, g * 1.2345, g * 1.00000001, "
    "timestamptz '2026-01-01 00:00+00' + g * interval '1 s', timestamp '2026-01-01' + g * interval '1 min', "
    "date '2020-01-01' + g % 2000, jsonb_build_object('n', g, 'tag', 'v' || g % 50), md5(g::text)::uuid, 'word ' || g % 100, "
    "md5(g::text), 'status ' || g % 7, CASE WHEN g % 3 = 0 THEN NULL ELSE 'note ' || g END, repeat('x', g % 40)"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What one measurement reads: the names of its tables and the statements that make them."""

    name: str
    title: str
    tables: tuple[str, ...]
    statements: tuple[str, ...]


def shapes(narrow: int, wide: int, tiny: int) -> dict[str, Shape]:
    """Return the shapes for so many rows of narrow and wide, and so many tiny tables of 1,000 rows."""
    names = tuple(f"tiny{number:03}" for number in range(tiny))
    return {
        "narrow": Shape("narrow", f"{narrow:,} rows x 5", ("narrow",), _table("narrow", NARROW_COLUMNS, NARROW_ROW, narrow)),
        "wide": Shape("wide", f"{wide:,} rows x 20", ("wide",), _table("wide", WIDE_COLUMNS, WIDE_ROW, wide)),
        "tiny": Shape(
            "tiny",
            f"{tiny} tables x 1,000 rows",
            names,
            tuple(sql for name in names for sql in _table(name, NARROW_COLUMNS, NARROW_ROW, 1000)),
        ),
    }


def _table(name: str, columns: str, row: str, rows: int) -> tuple[str, ...]:
    return (
        f"CREATE TABLE {name} ({columns})",
        f"INSERT INTO {name} SELECT {row} FROM generate_series(1, {rows}) g",
        f"VACUUM ANALYZE {name}",
    )
