"""What becomes of every column of an export, and how exactly: known before a row is read."""

from __future__ import annotations

from dataclasses import dataclass

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, ExportSpec, Fidelity, Json, TableFacts, TypeKind
from rivet_core.planning.finding import Finding, Severity
from rivet_core.sql.overrides import parse_override

_FLOATS = frozenset({"real", "float", "float4", "double", "float8", "double precision"})
_NARROW_FLOATS = frozenset({"real", "float", "float4"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """One column on its way from the source's type to the file's. `override` is what the config asks for, or empty."""

    name: str
    source_type: str
    arrow_type: str
    fidelity: Fidelity
    note: str = ""
    override: str = ""
    nullable: bool = True
    readable: bool = True

    def as_dict(self) -> dict[str, Json]:
        """Return the object that `--json` prints."""
        return {
            "name": self.name,
            "source_type": self.source_type,
            "arrow_type": self.arrow_type,
            "fidelity": str(self.fidelity),
            "note": self.note,
            "override": self.override,
            "nullable": self.nullable,
            "readable": self.readable,
        }


def report_columns(spec: ExportSpec, table: TableFacts) -> tuple[ColumnReport, ...]:
    """Return the columns that the export writes, in the table's order."""
    wanted = set(spec.columns)
    return tuple(
        _report(column, spec.overrides.get(column.name, "")) for column in table.columns if not wanted or column.name in wanted
    )


def _report(column: ColumnFacts, override: str) -> ColumnReport:
    fidelity, note = column.fidelity, column.fidelity_note
    if override:
        fidelity, note = _overridden(column, override)
    return ColumnReport(
        name=column.name,
        source_type=column.source_type,
        arrow_type=override or column.arrow_type,
        fidelity=fidelity,
        note=note,
        override=override,
        nullable=column.nullable,
        readable=column.readable,
    )


def _overridden(column: ColumnFacts, override: str) -> tuple[Fidelity, str]:
    """An override loses nothing silently but where it asks for binary fractions: other values that do not fit stop the run."""
    asked = " ".join(override.lower().split())
    if asked in _FLOATS and column.kind is not TypeKind.FLOAT:
        return Fidelity.LOSSY, f"{asked} keeps about {7 if asked in _NARROW_FLOATS else 15} digits"
    if asked in _NARROW_FLOATS and column.arrow_type == "double":
        return Fidelity.LOSSY, f"{asked} keeps about 7 of 15 digits"
    return Fidelity.EXACT, "a value that does not fit fails the run"


def judge_columns(spec: ExportSpec, table: TableFacts, *, strict: bool) -> list[Finding]:
    """Return what is wrong with the columns: refused and unreadable ones, and with `strict` all that are not exact.

    A column that the config names and the source does not have is a finding too, and so is an unknown override.
    """
    findings = [_named(spec, table, name) for name in (*spec.columns, *spec.overrides) if table.column(name) is None]
    findings += [found for name, asked in spec.overrides.items() if (found := _unknown_type(spec, name, asked)) is not None]
    for column in report_columns(spec, table):
        if not column.readable:
            findings.append(
                Finding(
                    severity=Severity.ERROR,
                    subject=spec.name,
                    message=f"column {column.name} must not be read by this user",
                    hint="; ".join(table.grants) or "grant SELECT on it, or list the other columns under `columns`",
                )
            )
        severity = _severity(column, strict=strict)
        if severity is not None:
            findings.append(
                Finding(
                    severity=severity,
                    subject=spec.name,
                    message=f"column {column.name} ({column.source_type or 'no type'}) arrives as {_arrival(column)}",
                    evidence=column.note,
                    hint=_hint(column),
                )
            )
    return findings


def _severity(column: ColumnReport, *, strict: bool) -> Severity | None:
    if column.fidelity is Fidelity.EXACT:
        return None
    if strict or column.fidelity is Fidelity.REFUSED:
        return Severity.ERROR
    return Severity.WARNING if column.fidelity is Fidelity.LOSSY else None


def _arrival(column: ColumnReport) -> str:
    words = {
        Fidelity.TEXT: "the server's text",
        Fidelity.LOSSY: f"{column.arrow_type or 'another type'}, which may lose precision",
        Fidelity.REFUSED: "nothing: its type is refused",
    }
    return words[column.fidelity]


def _hint(column: ColumnReport) -> str:
    if column.fidelity is Fidelity.REFUSED:
        return f"leave it out, or give it a type: columns: {{{column.name}: text}}"
    if column.override:
        return f"take the override {column.override} away, or ask for a type that holds every value"
    return f"columns: {{{column.name}: TYPE}} asks for a typed column; a value that does not fit then fails the run"


def _named(spec: ExportSpec, table: TableFacts, name: str) -> Finding:
    known = ", ".join(column.name for column in table.columns[:8])
    return Finding(
        severity=Severity.ERROR,
        subject=spec.name,
        message=f"there is no column {name}",
        evidence=f"columns: {known}" if known else "",
        hint="check the spelling under `columns`",
    )


def _unknown_type(spec: ExportSpec, name: str, asked: str) -> Finding | None:
    try:
        parse_override(name, asked)
    except ConfigError as error:
        return Finding.of(error, spec.name)
    return None
