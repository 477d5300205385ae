"""What an incremental or windowed export of a large table is expected to move: the delta, beside the table's own size."""

from __future__ import annotations

from typing import Any

from tests.system.either import Shop

ROWS = 60_000


def fill(shop: Shop) -> None:
    """A row a minute until now, about 14 MB."""
    if shop.kind == "postgres":
        shop.sql(
            "CREATE TABLE t(id bigint PRIMARY KEY, at timestamp NOT NULL, v text)",
            "CREATE INDEX ON t (at)",
            f"INSERT INTO t SELECT n, now()::timestamp - ({ROWS} - n) * interval '1 minute', repeat('x', 200)"
            f" FROM generate_series(1, {ROWS}) s(n)",
            "ANALYZE t",
        )
    else:
        shop.sql(
            "CREATE TABLE t(id bigint PRIMARY KEY, at datetime NOT NULL, v text, KEY (at))",
            f"INSERT INTO t SELECT seq, UTC_TIMESTAMP() - INTERVAL ({ROWS} - seq) MINUTE, REPEAT('x', 200)"
            f" FROM seq_1_to_{ROWS}",
            "ANALYZE TABLE t",
        )


def add(shop: Shop, rows: int) -> None:
    shop.sql(f"INSERT INTO t {shop.series(rows, f'n + {ROWS}, {now(shop)}, ' + repeated(shop))}")


def now(shop: Shop) -> str:
    return "now()::timestamp" if shop.kind == "postgres" else "UTC_TIMESTAMP()"


def repeated(shop: Shop) -> str:
    return "repeat('x', 200)" if shop.kind == "postgres" else "REPEAT('x', 200)"


def planned(shop: Shop) -> dict[str, Any]:
    (export,) = shop.project.run("plan", "--json", "--refresh").json()["exports"]
    assert export["status"] == "planned", export
    return dict(export)


def work(export: dict[str, Any]) -> str:
    (code,) = {reason["code"] for reason in export["reasons"]} & {"RV101", "RV102", "RV103", "RV105", "RV801"}
    return str(code)


def test_a_window_of_a_large_table_is_costed_by_its_days(any_shop: Shop) -> None:
    fill(any_shop)
    any_shop.export(mode="full")
    whole = planned(any_shop)
    any_shop.export(mode="time_window", time_column="at", days_window=3)
    window = planned(any_shop)
    assert (work(whole), work(window)) == ("RV102", "RV105")
    assert 3000 < window["estimated"]["delta_rows"] < 8000
    assert window["estimated"]["bytes"] == whole["estimated"]["bytes"] > 10 << 20
    assert sum(unit["rows"] for unit in window["units"]) == window["estimated"]["delta_rows"]
    assert window["scores"]["cost"] < whole["scores"]["cost"]
    assert window["predicted_seconds"]["p50"] < whole["predicted_seconds"]["p50"] / 2


def test_an_incremental_export_is_costed_by_what_lies_past_its_cursor(any_shop: Shop) -> None:
    fill(any_shop)
    any_shop.export(mode="incremental", cursor_column="id")
    first = planned(any_shop)
    assert (work(first), first["estimated"]["delta_rows"]) == ("RV102", None)
    assert len(any_shop.run()) == ROWS
    add(any_shop, 500)
    later = planned(any_shop)
    assert work(later) == "RV105"
    assert 100 <= later["estimated"]["delta_rows"] <= 2000
    assert later["predicted_seconds"]["p50"] < first["predicted_seconds"]["p50"] / 2
    assert len(any_shop.run()) == ROWS + 500
    assert planned(any_shop)["estimated"]["delta_rows"] < 700
