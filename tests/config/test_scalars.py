from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.config.scalars import read_plain


@pytest.mark.parametrize("word", ["true", "True", "TRUE"])
def test_three_spellings_are_true(word: str) -> None:
    assert read_plain(word) is True


@pytest.mark.parametrize("word", ["false", "False", "FALSE"])
def test_three_spellings_are_false(word: str) -> None:
    assert read_plain(word) is False


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "NULL"])
def test_nulls(word: str) -> None:
    assert read_plain(word) is None


TEXT = [
    *("on", "off", "yes", "no", "y", "n", "Y", "N", "On", "tRUE", "nULL", "none"),
    *("12:30:00", "1:30", "190:20:30", "06:00+02:00", "2027-01-01", "2027-01-01T00:00:00Z"),
    *(
        "007",
        "0123",
        "00",
        "01.5",
        "-012",
        "+00",
        "0o8",
        "0xg",
        "0b101",
        "1_000",
        "1,5",
        "1.2.3",
        "1e",
        "e3",
        ".",
        "-",
        "+",
        "--1",
        "0x",
        "0o",
    ),
    *(".Nan", "inf", "nan", "+.nan", "1 2", "\u0663", "=", "<<"),
]


@pytest.mark.parametrize("word", TEXT)
def test_everything_else_is_text(word: str) -> None:
    assert read_plain(word) == word


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("-7", -7),
        ("0o17", 15),
        ("0xFf", 255),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_integers(word: str, value: int) -> None:
    found = read_plain(word)
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-0.25", -0.25),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("0.0", 0.0),
        ("-.inf", -math.inf),
    ],
)
def test_floats(word: str, value: float) -> None:
    found = read_plain(word)
    assert found == value
    assert type(found) is float


def test_not_a_number() -> None:
    assert math.isnan(float(read_plain(".nan") or 0))


def test_digits_beyond_reason_are_text() -> None:
    assert read_plain("9" * 5000) == "9" * 5000


@given(st.integers())
def test_every_integer_reads_back(value: int) -> None:
    assert read_plain(str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value: float) -> None:
    found = read_plain(repr(value))
    assert type(found) is float
    assert found == value


@given(st.text(min_size=1))
def test_a_scalar_is_itself_or_says_the_same(text: str) -> None:
    found = read_plain(text)
    if isinstance(found, str):
        assert found == text
    elif isinstance(found, bool):
        assert text.lower() == str(found).lower()
    else:
        assert found is None or text.isascii()


@given(st.from_regex(r"0[0-9]+", fullmatch=True))
def test_leading_zeros_stay_text(text: str) -> None:
    assert read_plain(text) == text


@given(st.from_regex(r"[0-9]{1,3}(:[0-5][0-9]){1,2}", fullmatch=True))
def test_sexagesimals_stay_text(text: str) -> None:
    assert read_plain(text) == text
