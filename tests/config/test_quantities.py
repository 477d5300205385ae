from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.config.quantities import read_date, read_deadline, read_size, read_span


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("1h", 3600),
        ("2d", 172800),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1.5h", 5400),
        (0, 0),
        (90, 90),
        (0.5, 0.5),
    ],
)
def test_spans(value: object, seconds: float) -> None:
    assert read_span(value) == seconds


@pytest.mark.parametrize(
    "value", ["", "10", "m", "10 m", "10x", "-1s", -1, True, None, "12:30:00", "1H", float("nan"), [], "1h 30m"]
)
def test_no_spans(value: object) -> None:
    with pytest.raises(ValueError, match="span of time"):
        read_span(value)


@pytest.mark.parametrize("value", [float("inf"), 1e300, 10**400, "36501d", "9" * 400 + "s", 36_500 * 86_400 + 1])
def test_spans_end_where_clocks_do(value: object) -> None:
    with pytest.raises(ValueError, match="at most 36500d"):
        read_span(value)


@pytest.mark.parametrize("value", [10**400, "9" * 400 + "T", (1 << 60) + 1])
def test_sizes_end(value: object) -> None:
    with pytest.raises(ValueError, match="at most 1048576TB"):
        read_size(value)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("256MB", 256 << 20),
        ("64MiB", 64 << 20),
        ("1GB", 1 << 30),
        ("1.5GB", 3 << 29),
        ("10kb", 10240),
        ("1 T", 1 << 40),
        ("100", 100),
        ("7B", 7),
        (4096, 4096),
    ],
)
def test_sizes(value: object, size: int) -> None:
    assert read_size(value) == size


@pytest.mark.parametrize("value", ["", "0", 0, -1, "MB", "1XB", "-1MB", True, 1.5, None, "1,5GB", "0.0001B"])
def test_no_sizes(value: object) -> None:
    with pytest.raises(ValueError, match="a size such as"):
        read_size(value)


@pytest.mark.parametrize(
    ("value", "deadline"),
    [("06:00", "06:00"), ("06:00+02:00", "06:00+02:00"), ("23:59-11:30", "23:59-11:30"), ("00:00Z", "00:00+00:00")],
)
def test_deadlines(value: str, deadline: str) -> None:
    assert read_deadline(value) == deadline


@pytest.mark.parametrize(
    "value",
    [
        "6:00",
        "24:00",
        "06:60",
        "06:00+2",
        "06:00+25:00",
        "06:00:00",
        "noon",
        600,
        None,
        True,
        "06:00 +02:00",
        "\u0660\u0666:\u0660\u0660",
    ],
)
def test_no_deadlines(value: object) -> None:
    with pytest.raises(ValueError, match="time of day"):
        read_deadline(value)


def test_dates() -> None:
    assert read_date("2027-01-31") == date(2027, 1, 31)
    for value in ("2027-02-30", "2027-1-1", "20270101", 2027, None, "2027-01-01T00:00:00", ""):
        with pytest.raises(ValueError, match="a date such as"):
            read_date(value)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()))
def test_anything_reads_or_explains_itself(value: object) -> None:
    for read in (read_span, read_size, read_deadline, read_date):
        try:
            read(value)
        except ValueError as error:
            assert str(error).startswith("must be ")  # noqa: PT017
