"""Values of every kind, and streams that are not what they should be."""

from __future__ import annotations

import re
import struct
import uuid
from datetime import UTC, date, datetime, time
from pathlib import Path

import pyarrow as pa
import pytest

from rivet_pgcopy import CopyReader, DecodeError, Decoder, Kind, field_of, take

from .streams import HEADER, NOWHERE, TRAILER, column, decode, decoder_for, row

INT4, TEXT = (23, pa.int32()), (25, pa.string())
SOURCES = Path(__file__).parent.parent / "src"


@pytest.mark.parametrize(
    ("oid", "arrow", "sent", "value"),
    [
        (16, pa.bool_(), b"\1", True),
        (16, pa.bool_(), b"\0", False),
        (21, pa.int16(), struct.pack(">h", -32768), -32768),
        (23, pa.int32(), struct.pack(">i", -(2**31)), -(2**31)),
        (20, pa.int64(), struct.pack(">q", 2**63 - 1), 2**63 - 1),
        (26, pa.int64(), struct.pack(">I", 2**32 - 1), 2**32 - 1),
        (700, pa.float32(), struct.pack(">f", 1.5), 1.5),
        (701, pa.float64(), struct.pack(">d", 5e-324), 5e-324),
        (25, pa.string(), "é🚲".encode(), "é🚲"),
        (1042, pa.string(), b"ab   ", "ab   "),
        (17, pa.binary(), b"\0\xff", b"\0\xff"),
        (114, pa.json_(pa.utf8()), b'{"n":1.10}', '{"n":1.10}'),
        (3802, pa.json_(pa.utf8()), b"\x01[1]", "[1]"),
        (1082, pa.date32(), struct.pack(">i", 8825), date(2024, 2, 29)),
        (1083, pa.time64("us"), struct.pack(">q", 86_399_999_999), time(23, 59, 59, 999999)),
        (1114, pa.timestamp("us"), struct.pack(">q", -1), datetime(1999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
        (1184, pa.timestamp("us", "UTC"), struct.pack(">q", 0), datetime(2000, 1, 1, tzinfo=UTC)),
        (2950, pa.uuid(), bytes(range(16)), uuid.UUID(bytes=bytes(range(16)))),
    ],
)
def test_a_value_a_null_and_a_value_again(oid, arrow, sent, value):
    assert column(oid, arrow, sent, None, sent) == ([value, None, value], 0)


@pytest.mark.parametrize(
    ("oid", "arrow", "outside", "inside", "value"),
    [
        (1082, pa.date32(), (2**31 - 1, -(2**31), 2**31 - 10957), (2**31 - 1 - 10957), 2**31 - 1),
        (1114, pa.timestamp("us"), (2**63 - 1, -(2**63), 2**63 - 946684800000000), 2**63 - 1 - 946684800000000, 2**63 - 1),
        (1083, pa.time64("us"), (86_400_000_000,), 86_399_999_999, 86_399_999_999),
    ],
)
def test_what_arrow_cannot_keep_becomes_null_and_is_counted(oid, arrow, outside, inside, value):
    form = ">i" if oid == 1082 else ">q"
    batch, counts = decode([(oid, arrow)], HEADER, *(row(struct.pack(form, one)) for one in (*outside, inside)), TRAILER)
    numbers = batch.column(0).cast(pa.int32() if oid == 1082 else pa.int64()).to_pylist()
    assert numbers == [None] * len(outside) + [value]
    assert counts == (len(outside),)


def test_counts_begin_again_with_each_call():
    decoder = decoder_for([(1083, pa.time64("us"))])
    decoder.feed(HEADER + row(struct.pack(">q", 86_400_000_000)))
    assert (decoder.outside(), decoder.outside()) == ((1,), (0,))


def test_floats_keep_every_bit():
    bits = [b"\x7f\xf8\0\0\0\0\0\1", b"\xff\xf8\0\0\0\0\0\0", b"\x80\0\0\0\0\0\0\0"]
    batch, _ = decode([(701, pa.float64())], HEADER, *(row(one) for one in bits), TRAILER)
    data = batch.column(0).buffers()[1].to_pybytes()
    assert [data[at : at + 8][::-1] for at in range(0, 24, 8)] == bits


def test_many_rows_in_many_batches_grow_and_start_again():
    decoder = decoder_for([INT4, TEXT, (16, pa.bool_())])
    schema = pa.schema([("i", pa.int32()), ("t", pa.string()), ("b", pa.bool_())])
    decoder.feed(HEADER)
    for number in range(3):
        rows = 5000 if number != 1 else 3
        for at in range(rows):
            text = None if at % 7 == number else f"v{at}".encode()
            decoder.feed(row(struct.pack(">i", at), text, bytes([at % 2])))
        batch = take(decoder, schema)
        batch.validate(full=True)
        assert batch.column(0).to_pylist() == list(range(rows))
        assert batch.column(1).to_pylist() == [None if at % 7 == number else f"v{at}" for at in range(rows)]
        assert batch.column(2).to_pylist() == [at % 2 == 1 for at in range(rows)]
    assert (decoder.rows, decoder.ended) == (0, False)
    decoder.feed(TRAILER)
    assert decoder.ended
    assert take(decoder, schema).num_rows == 0


def test_buffers_outlive_the_decoder():
    batch, _ = decode([TEXT], HEADER, *(row(b"x" * 100) for _ in range(1000)), TRAILER)
    parts = [batch.slice(at, 10) for at in range(0, 1000, 100)]
    del batch
    assert all(part.column(0).to_pylist() == ["x" * 100] * 10 for part in parts)


def test_rows_without_columns_are_counted():
    batch, _ = decode([], HEADER + row(), row(), TRAILER)
    assert (batch.num_columns, batch.num_rows) == (0, 2)


WHOLE = [HEADER, row(struct.pack(">i", 7), b"abc"), row(None, None), TRAILER]


@pytest.mark.parametrize("pieces", [WHOLE, [b"".join(WHOLE)], [HEADER + WHOLE[1], WHOLE[2] + TRAILER]])
def test_messages_may_hold_a_row_or_several(pieces):
    batch, _ = decode([INT4, TEXT], *pieces)
    assert batch.to_pylist() == [{"c0": 7, "c1": "abc"}, {"c0": None, "c1": None}]


def test_a_stream_cut_anywhere_inside_a_message_is_an_error():
    stream = HEADER + WHOLE[1] + TRAILER
    for size in range(len(stream)):
        decoder = decoder_for([INT4, TEXT])
        if size in (len(HEADER), len(HEADER) + len(WHOLE[1])):  # between messages: the trailer is missed instead
            decoder.feed(stream[:size])
            assert not decoder.ended
            continue
        with pytest.raises(DecodeError):
            decoder.feed(stream[:size])


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([b""], "begin"),
        ([b"PGCOPX" + HEADER[6:]], "begin"),
        ([HEADER[:11] + b"\0\1\0\0" + HEADER[15:]], "begin"),
        ([HEADER[:15] + b"\0\0\0\4" + b"abcd"], "begin"),
        ([HEADER, b"\0"], "before its own length"),
        ([HEADER, row(None)], "another number of fields"),
        ([HEADER, row(None, None, None)], "another number of fields"),
        ([HEADER, b"\xff\xfe"], "another number of fields"),
        ([HEADER, TRAILER, row(None, None)], "follow the end"),
        ([HEADER, TRAILER + TRAILER], "follow the end"),
        ([HEADER, row(b"\0\0\0", b"")], "a length"),
        ([HEADER, row(b"\0\0\0\0\0", b"")], "a length"),
        ([HEADER, b"\0\2" + struct.pack(">i", -2) + b"\xff\xff\xff\xff"], "a length"),
        ([HEADER, b"\0\2" + struct.pack(">i", 2**31 - 1) + b"abcd"], "before its own length"),
    ],
)
def test_a_stream_that_is_none_is_refused_and_stays_refused(messages, words):
    decoder = decoder_for([INT4, TEXT])
    for message in messages[:-1]:
        decoder.feed(message)
    with pytest.raises(DecodeError, match=words):
        decoder.feed(messages[-1])
    for call in (lambda: decoder.feed(TRAILER), decoder.take, decoder.outside, lambda: decoder.drain(1, 1, 1)):
        with pytest.raises(RuntimeError, match="met an error"):
            call()


@pytest.mark.parametrize(
    ("oid", "arrow", "sent"),
    [
        (16, pa.bool_(), b"\2"),
        (3802, pa.json_(pa.utf8()), b"\x02{}"),
        (3802, pa.json_(pa.utf8()), b""),
        (1083, pa.time64("us"), struct.pack(">q", -1)),
        (1083, pa.time64("us"), struct.pack(">q", 86_400_000_001)),
        (2950, pa.uuid(), bytes(15)),
        (1082, pa.date32(), bytes(8)),
        (1184, pa.timestamp("us", "UTC"), bytes(4)),
    ],
)
def test_values_that_no_server_sends_name_their_column(oid, arrow, sent):
    with pytest.raises(DecodeError) as caught:
        decode([INT4, (oid, arrow)], HEADER, row(None, sent))
    assert caught.value.args[0] == 1


@pytest.mark.parametrize(
    "record",
    [
        (-1, 0, 0, False, 0),
        (13, 0, 0, False, 0),
        (99, 0, 0, True, 1),
        (8, 39, 0, False, 0),
        (9, 77, 0, False, 0),
        (8, 5, 6, False, 0),
        (8, 5, -1, False, 0),
        (1, 1, 0, False, 0),
    ],
)
def test_columns_that_make_no_sense_are_refused(record):
    with pytest.raises(ValueError, match="no such column"):
        Decoder((record,), NOWHERE)


@pytest.mark.parametrize(
    "wrong", [((1, 2),), ((1, 2, 3, 4, "x"),), (None,), [(1, 0, 0, False, 0)], ((0, 0, 0, False, 0),) * 40000]
)
def test_arguments_that_are_none_are_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        Decoder(wrong, NOWHERE)


def test_draining_needs_a_connection():
    decoder = decoder_for([INT4])
    for arguments in ((0, 1, 1), (1, 0, 1), (1, 1, 1)):
        with pytest.raises(ValueError, match="no connection"):
            decoder.drain(*arguments)


def test_a_batch_is_bounded_whatever_is_asked_for():
    class Closed:
        pgconn_ptr = None

        def get_error_message(self):
            return "gone"

    reader = CopyReader(Closed(), pa.schema([]), [], 1 << 40)
    assert reader._limit == 512 << 20
    with pytest.raises(ValueError, match="no connection"):
        reader.next()


def test_kinds_are_numbered_as_in_c():
    text = (SOURCES / "column.h").read_text()
    names = re.findall(r"^    ([A-Z0-9_]+),", text[: text.index("} kind;")], re.MULTILINE)
    assert names == [*(kind.name for kind in Kind), "LIST"]


@pytest.mark.parametrize(
    ("oid", "arrow"),
    [(25, pa.int32()), (20, pa.int32()), (790, pa.int64()), (1700, pa.string()), (1007, pa.int32()), (23, pa.list_(pa.int32())),
     (1007, pa.list_(pa.int64())), (1184, pa.timestamp("us")), (1114, pa.timestamp("us", "UTC")), (0, pa.string())],
)  # fmt: skip
def test_types_that_do_not_go_together_are_known(oid, arrow):
    assert field_of(oid, arrow) is None
