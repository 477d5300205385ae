"""Plain readers, as one would write them with the driver alone. Run as a program: drivers.py DRIVER URL DIRECTORY.

None of them checks types, commits a dataset, resumes or keeps statements short: they are the floor for what a driver can do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path


def read_connectorx(url: str, tables: Sequence[str], out: Path) -> None:
    """Read each table whole into Arrow, then write it."""
    import connectorx
    import pyarrow.parquet as pq

    for name in tables:
        table = connectorx.read_sql(url, f"SELECT * FROM {name}", return_type="arrow")
        pq.write_table(table, out / f"{name}.parquet", compression="zstd")


def read_adbc(url: str, tables: Sequence[str], out: Path) -> None:
    """Stream each table over one connection."""
    import pyarrow.parquet as pq
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        for name in tables:
            cursor.execute(f"SELECT * FROM {name}")
            reader = cursor.fetch_record_batch()
            with pq.ParquetWriter(out / f"{name}.parquet", reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)


def read_duckdb(url: str, tables: Sequence[str], out: Path) -> None:
    """Let DuckDB scan each table into a file."""
    import duckdb

    connection = duckdb.connect()
    connection.sql("LOAD postgres")
    connection.sql(f"ATTACH '{url}' AS pg (TYPE postgres, READ_ONLY)")
    for name in tables:
        connection.sql(f"COPY (SELECT * FROM pg.{name}) TO '{out / name}.parquet' (FORMAT parquet, COMPRESSION zstd)")


if __name__ == "__main__":
    driver, url, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (directory / "out").mkdir()
    wanted = json.loads((directory / "tables.json").read_text())
    {"connectorx": read_connectorx, "adbc": read_adbc, "duckdb": read_duckdb}[driver](url, wanted, directory / "out")
