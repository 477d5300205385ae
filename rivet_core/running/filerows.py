"""The rows of a dataset's files as canonical texts, whatever the format, so that they can be compared with the source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from rivet_core.errors import IntegrityError
from rivet_core.facts import Json, UnitDigest
from rivet_core.facts.plural import several
from rivet_core.running.columns import EXPORTED_AT, ROW_HASH
from rivet_core.running.manifest import Manifest, ManifestPart
from rivet_core.running.moments import from_iso
from rivet_core.sql.canonical import RowDigest, canonical, decimal_text
from rivet_core.stores import Store
from rivet_core.stores.faults import destination_error

BATCH_BYTES = 16 << 20
"""What one batch of a Parquet file may hold, uncompressed."""
BLOCK_BYTES, MOST_BLOCK_BYTES = 32 << 20, (1 << 31) - 1
"""What is read of a CSV file at once, and what may be where a row is longer than that: Arrow counts in 32 bits."""
ADDED = (EXPORTED_AT.name, ROW_HASH.name)
_TEXT = pa.large_string()
_PLAIN = re.compile(
    r"(bool|u?int(8|16|32|64)|float|double|(large_)?string|(large_)?binary|date32\[day\]|timestamp\[us(, tz=\w+)?\]"
    r"|time64\[us\]|duration\[us\]|decimal\d+\(.*\)|fixed_size_binary\[\d+\]|extension<arrow\.(uuid|json).*>)\Z"
)
_LIST = re.compile(r"(?:large_)?list<\w+: (?P<inner>.*?)(?: not null)?>\Z")

Keep = Callable[[dict[str, pa.Array]], pa.Array]
"""From the texts of a batch's columns to a mask of the rows that count."""


def covered_columns(manifest: Manifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of the source that have a canonical text in the run's files, and those that have none."""
    names: tuple[list[str], list[str]] = [], []
    for field in manifest.schema:
        name, kind = _named(field)
        if name not in ADDED:
            names[0 if _covers(kind, manifest.format) else 1].append(name)
    return tuple(names[0]), tuple(names[1])


def digest_parts(
    store: Store,
    manifest: Manifest,
    parts: Sequence[ManifestPart],
    columns: Sequence[str],
    *,
    keep: Keep | None = None,
    also: Sequence[str] = (),
) -> UnitDigest:
    """Return the digest of the rows of some parts of a run over these columns.

    `keep` leaves rows out, seeing the columns `also` besides. Raises `IntegrityError` for a file that is not as it was
    written: missing, unreadable, of other columns, or of another number of rows.
    """
    digest = RowDigest()
    # Where no column is compared, one of them still counts the rows.
    wanted = tuple(dict.fromkeys((*columns, *also))) or covered_columns(manifest)[0][:1]
    for part in parts:
        if not wanted:
            digest.add_texts((), part.rows)
            continue
        rows = 0
        for texts in part_texts(store, manifest, part, wanted):
            found = [texts[name] for name in columns]
            count = len(next(iter(texts.values()))) if texts else 0
            rows += count
            if keep is not None:
                mask = keep(texts)
                found = [array.filter(mask) for array in found]
                count = pc.sum(mask).as_py() or 0
            digest.add_texts(found, count)
        if rows != part.rows:
            raise _unlike(store, part, f"has {several(rows, 'row')}, the manifest says {part.rows}")
    return digest.finish()


def part_texts(store: Store, manifest: Manifest, part: ManifestPart, columns: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
    """Yield batch by batch the canonical texts of some columns of one file."""
    size = store.size(part.key)
    if size is None:
        raise _unlike(store, part, "is missing")
    kinds = dict(_named(field) for field in manifest.schema)
    try:
        with store.open(part.key) as file:
            batches = _csv(file, size, columns, kinds) if manifest.format == "csv" else _parquet(file, columns)
            yield from batches
    except pa.ArrowNotImplementedError:
        raise  # a bug of ours says nothing about the file
    except (pa.ArrowException, KeyError, ValueError, ArithmeticError, OSError, EOFError) as error:
        # Arrow says OSError of bytes that are no Parquet; a store that cannot be read has a number or a kind for it.
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise destination_error(error, store.url(part.key), "read") from error
        # What is said of CSV quotes the row.
        said = "" if manifest.format == "csv" else str(error)
        raise _unlike(store, part, f"cannot be read: {said.splitlines()[0] if said else type(error).__name__}") from error


def _parquet(file: Any, columns: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
    found = pq.ParquetFile(file)
    for number in range(found.num_row_groups):
        group = found.metadata.row_group(number)
        rows = max(1, BATCH_BYTES * group.num_rows // max(1, group.total_byte_size))
        for batch in found.iter_batches(batch_size=min(rows, 1 << 16), row_groups=[number]):
            yield {name: canonical(batch.column(name)) for name in columns}


def _csv(file: Any, size: int, columns: Sequence[str], kinds: dict[str, str]) -> Iterator[dict[str, pa.Array]]:
    """A row that is longer than a block is no damage: the file is read again in larger ones, from the row that was next."""
    block, told = BLOCK_BYTES, 0
    while True:
        seen = 0
        try:
            file.seek(0)
            for batch in _csv_batches(file, block, kinds):
                rest = batch.slice(min(max(0, told - seen), batch.num_rows))
                seen += batch.num_rows
                if rest.num_rows:
                    texts = {name: from_csv(rest.column(name).cast(_TEXT), kinds[name]) for name in columns}
                    told = seen
                    yield texts
        except pa.ArrowInvalid:
            if block >= min(size, MOST_BLOCK_BYTES):
                raise
            block = min(block * 8, MOST_BLOCK_BYTES)
        else:
            return


def _csv_batches(file: Any, block: int, kinds: dict[str, str]) -> pv.CSVStreamingReader:
    return pv.open_csv(
        file,
        read_options=pv.ReadOptions(block_size=block, use_threads=False),
        parse_options=pv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pv.ConvertOptions(
            column_types=dict.fromkeys(kinds, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def from_csv(text: pa.Array, kind: str) -> pa.Array:
    """Return the canonical texts of CSV fields, the reverse of `csvtext.field_text` for an Arrow type spelled `kind`."""
    if kind == "bool":
        return pc.replace_substring_regex(pc.replace_substring_regex(text, "^true$", "1"), "^false$", "0")
    if kind in ("float", "double"):
        return canonical(text.cast(pa.float32() if kind == "float" else pa.float64()))
    if kind.startswith("decimal"):
        return _each(text, lambda value: decimal_text(Decimal(value)))
    if kind.startswith(("binary", "large_binary", "fixed_size_binary")):
        return pc.utf8_slice_codeunits(text, 2)
    if kind.startswith("extension<arrow.uuid"):
        return pc.replace_substring(text, "-", "")
    if kind.startswith("timestamp"):
        return canonical(from_iso(pc.utf8_rtrim(text, "Z"), pa.timestamp("us")))
    if kind.startswith("date32"):
        return canonical(from_iso(text, pa.date32()))
    if kind.startswith("time64"):
        moments = pc.binary_join_element_wise(pa.scalar("1970-01-01", _TEXT), text, pa.scalar(" ", _TEXT))
        return canonical(moments.cast(pa.timestamp("us")))
    if kind.startswith("duration"):
        return _each(text, _duration)
    return text


def _duration(value: str) -> str:
    hours, minutes, seconds = value.removeprefix("-").split(":")
    micros = (int(hours) * 3600 + int(minutes) * 60) * 1_000_000 + int(Decimal(seconds) * 1_000_000)
    return str(-micros if value.startswith("-") else micros)


def _covers(kind: str, form: str) -> bool:
    listed = _LIST.match(kind)
    if listed is not None:
        return form != "csv" and bool(_PLAIN.match(listed["inner"]))
    return bool(_PLAIN.match(kind))


def _named(field: Json) -> tuple[str, str]:
    assert isinstance(field, dict)  # noqa: S101 - as `schema_json` writes it
    return str(field["name"]), str(field["type"])


def _each(column: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else text(value) for value in column.to_pylist()], _TEXT)


def _unlike(store: Store, part: ManifestPart, why: str) -> IntegrityError:
    return IntegrityError(f"{store.url(part.key)} {why}", hint="rivet repair exports its unit again", code="file_differs")
