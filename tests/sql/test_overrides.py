from __future__ import annotations

import pyarrow as pa
import pytest

from rivet_core.errors import ConfigError
from rivet_core.sql.overrides import parse_override


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
