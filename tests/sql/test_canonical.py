"""The canonical text of each type, and sums that neither order nor cuts change. The expected texts are those of the docs."""

from __future__ import annotations

import hashlib
import math
import random
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest

from rivet_core.sql.canonical import MODULUS, RowDigest, canonical, digest_of, has_canonical, row_texts

DAY = 86_400_000_000
CASES = [
    (pa.array([0, -128, 127, None], pa.int8()), ["0", "-128", "127", None]),
    (pa.array([18446744073709551615], pa.uint64()), ["18446744073709551615"]),
    (pa.array([True, False, None]), ["1", "0", None]),
    (pa.array([Decimal("120.00"), Decimal("-0.50"), Decimal("0.00"), None], pa.decimal128(10, 2)), ["120", "-0.5", "0", None]),
    (pa.array([Decimal("1e-20")], pa.decimal128(38, 20)), ["0.00000000000000000001"]),
    (pa.array([Decimal(1200)], pa.decimal128(7, 0)), ["1200"]),
    (pa.array([Decimal("1e30")], pa.decimal256(60, 20)), ["1" + "0" * 30]),
    (
        pa.array([1.0, -0.0, math.nan, math.inf], pa.float64()),
        ["3ff0000000000000", "8000000000000000", "nan", "7ff0000000000000"],
    ),
    (pa.array([0.5], pa.float32()), ["3fe0000000000000"]),
    (pa.array(["", "é:1", None]), ["", "é:1", None]),
    (pa.array([b"\x00\xff", b""]), ["00ff", ""]),
    (pa.array([0, -1, 19000], pa.int32()).cast(pa.date32()), ["0", "-1", "19000"]),
    (pa.array([-1, DAY], pa.timestamp("us")), ["-1", str(DAY)]),
    (pa.array([DAY], pa.timestamp("us", "UTC")), [str(DAY)]),
    (pa.array([2], pa.timestamp("ms")), ["2000"]),
    (pa.array([DAY - 1], pa.time64("us")), [str(DAY - 1)]),
    (pa.array([-5], pa.duration("us")), ["-5"]),
    (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=255).bytes], pa.binary(16))),
        ["000000000000000000000000000000ff"],
    ),
    (pa.array([[1, None, 30], [], None], pa.list_(pa.int32())), ["1:1-2:30", "", None]),
    (pa.array([["é", ""]], pa.list_(pa.string())), ["2:é0:"]),
    (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
]


@pytest.mark.parametrize(("column", "texts"), CASES, ids=[str(column.type) for column, _ in CASES])
def test_the_text_of_each_type(column, texts):
    assert has_canonical(column.type)
    assert canonical(column).to_pylist() == texts
    assert canonical(column.slice(1)).to_pylist() == texts[1:], "a slice is read from its own beginning"


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("ns"),
        pa.list_(pa.list_(pa.int8())),
        pa.struct([("a", pa.int8())]),
        pa.map_(pa.string(), pa.int8()),
        pa.null(),
    ],
    ids=str,
)
def test_what_has_no_text(kind):
    assert not has_canonical(kind)


def batch(*columns):
    return pa.RecordBatch.from_arrays([pa.array(values) for values in columns], [f"c{n}" for n in range(len(columns))])


def test_the_row_of_the_docs():
    texts = row_texts(
        [canonical(pa.array(values, kind)) for values, kind in (([7], None), ([None], pa.int8()), (["é"], None))], 1
    )
    assert texts == ["1:7-2:é".encode()]
    digest = digest_of([batch([7], ["é"])], ["c0", "c1"])
    assert digest.total == int.from_bytes(hashlib.sha256("1:72:é".encode()).digest()[:8])


def test_neighbours_do_not_run_into_one_another():
    rows = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("-", "abc"), (None, "abc"), ("1:a", "b"), ("1:a1:b", "")]
    totals = {digest_of([batch([left], [right])], ["c0", "c1"]).total for left, right in rows}
    assert len(totals) == len(rows)


def test_order_and_cuts_do_not_matter_but_every_row_does():
    drawn = random.Random(5)
    values = [drawn.randrange(1000) for _ in range(500)]
    whole = digest_of([batch(values)], ["c0"])
    drawn.shuffle(values)
    parts = [digest_of([batch(values[at : at + 77])], ["c0"]) for at in range(0, 500, 77)]
    assert whole.rows == sum(part.rows for part in parts) == 500
    assert whole.total == sum(part.total for part in parts) % MODULUS
    assert digest_of([batch([*values[1:], values[1]])], ["c0"]) != whole, "a row twice does not make up for one that is lost"


def test_columns_are_taken_by_name_in_the_asked_order():
    rows = batch([1, 2], [3, 4])
    assert digest_of([rows], ["c0", "c1"]) == digest_of([rows.select(["c1", "c0"])], ["c0", "c1"])
    assert digest_of([rows], ["c0", "c1"]) != digest_of([rows], ["c1", "c0"])
    empty = RowDigest([])
    empty.add(rows)
    assert empty.finish().rows == 2, "without any column rows are still counted"
