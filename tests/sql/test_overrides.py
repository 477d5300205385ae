from __future__ import annotations

import pyarrow as pa
import pytest

from rivet_core.errors import ConfigError
from rivet_core.sql.overrides import parse_override, require_json


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("decimal(18,2)", pa.decimal128(18, 2)),
        ("NUMERIC(60, 10)", pa.decimal256(60, 10)),
        ("Text", pa.string()),
        ("bigint", pa.int64()),
        ("double precision", pa.float64()),
        ("timestamptz", pa.timestamp("us", "UTC")),
        ("uuid", pa.uuid()),
    ],
)
def test_vocabulary(text, arrow):
    assert parse_override("c", text) == arrow


@pytest.mark.parametrize("text", ["decimal", "decimal(80,2)", "decimal(2,5)", "blobb"])
def test_an_unknown_type_is_refused_with_the_column(text):
    with pytest.raises(ConfigError, match=r"columns\.c"):
        parse_override("c", text)


def test_what_json_is():
    require_json([None, "null", "0", '"x"', "[]", ' {"a": {"a": 1.5e-3}}\n', "9" * 5000, '{"a": 1, "a": 2}'])


@pytest.mark.parametrize(
    "text", ["", " ", "a", "{'a': 1}", "NaN", "[-Infinity]", "01", "1 2", "[1,]", "\ufeff{}", '"\n"', "[" * 10**6]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match="a value is"):
        require_json([None, "{}", text])
