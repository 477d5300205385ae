"""How rows come from the server: ADBC, or rivet-pgcopy where it is installed. Same schema, same values, same counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from rivet_core.errors import ConfigError
from rivet_core.facts import ReadSpec
from rivet_postgres.columns import ColumnPlan
from rivet_postgres.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One way to read. `binary` says that decimals and infinities are dealt with as they are decoded.

    `shares` says that it reads through the connections that catalog statements use.
    """

    name: str
    binary: bool
    shares: bool
    statement: Callable[[Any, ReadSpec, Sequence[ColumnPlan]], Statement]
    note: str = ""


def choose_engine(wanted: str) -> Engine:
    """Return the engine of `engine: auto | adbc | pgcopy`. Raises `ConfigError` when pgcopy is asked for and cannot be had."""
    missing = "" if wanted == "adbc" else _missing()
    if wanted == "adbc" or (missing and wanted == "auto"):
        why = missing or "the config says so"
        return Engine(name="adbc", binary=False, shares=False, statement=_adbc, note=f"rows are read through ADBC: {why}")
    if missing:
        raise ConfigError(f"engine pgcopy cannot be used: {missing}", hint="pip install rivet-pgcopy, or set `engine: auto`")
    from rivet_postgres.copying import CopyStatement

    note = "rows are read through rivet-pgcopy"
    return Engine(name="pgcopy", binary=True, shares=True, statement=CopyStatement, note=note)


def _adbc(connection: Any, spec: ReadSpec, plans: Sequence[ColumnPlan]) -> Statement:
    from rivet_postgres.adbc import AdbcStatement

    return AdbcStatement(connection, spec, plans)


def _missing() -> str:
    """Return why rivet-pgcopy cannot be used, empty when it can."""
    if find_spec("rivet_pgcopy") is None:
        return "rivet-pgcopy is not installed"
    try:
        import rivet_pgcopy

        rivet_pgcopy.functions()
    except ImportError as error:
        return f"rivet-pgcopy cannot be imported: {error}"
    except rivet_pgcopy.NoLibpqError as error:
        return str(error)
    return ""
