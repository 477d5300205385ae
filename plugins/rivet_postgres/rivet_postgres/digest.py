"""The digest of a unit, computed by the server: one SELECT that hashes the canonical text of each row and adds up.

The texts are those of `rivet_core.sql.canonical`, written in SQL for each type that leaves; `docs/reconcile.md` lists them.
"""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from rivet_core.facts import ReadSpec, TypeKind, Unit, UnitDigest
from rivet_core.sql.canonical import MODULUS, NAN, has_canonical
from rivet_core.sql.querytext import ALIAS
from rivet_core.sql.select import where_unit
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.columns import ColumnPlan, RawColumn, plan_column
from rivet_postgres.dialect import LAST_TIMESTAMP, POSTGRES
from rivet_postgres.relation import Relation, key_types, known_column
from rivet_postgres.statement import settings_sql
from rivet_postgres.types import TypeCatalog

ALONE: Mapping[str, str] = {"max_parallel_workers_per_gather": "0", "jit": "off"}
"""One backend is what the group's budget counts."""
MOST_ARGUMENTS = 50
"""Of one call of concat(): the server takes no more than 100."""
_EPOCH_MICROS = 946_684_800_000_000
"""From 1970 to 2000, which the server counts from."""


def unit_digest(
    catalog: Catalog, relation: Relation, types: TypeCatalog, spec: ReadSpec, unit: Unit, columns: Sequence[str]
) -> UnitDigest:
    """Run the statement in a short read-only transaction of its own, with the settings of every read of the export."""
    sql, left_out = digest_sql(relation, types, spec, unit, columns)
    with catalog.transaction():
        catalog.connection.execute(settings_sql(spec, ALONE).encode())
        ((rows, total),) = catalog.fetch(sql)
    return UnitDigest(rows=int(rows), total=int(total) % MODULUS, left_out=left_out)


def digest_sql(
    relation: Relation, types: TypeCatalog, spec: ReadSpec, unit: Unit, columns: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the statement, and the columns that have no canonical text. Raises `ConfigError` for a column that is gone."""
    texts: list[tuple[str, bool]] = []
    left_out = []
    for name in columns:
        text = column_sql(known_column(relation, spec, name), types, spec)
        if text is None:
            left_out.append(name)
        else:
            texts.append(text)
    conditions = where_unit(POSTGRES, spec=spec, unit=unit, keys=key_types(relation, types, spec, unit.columns))
    source = relation.source if relation.source.startswith("(") else f"{relation.source} AS {ALIAS}"
    items = ", ".join(f"{sql} AS c{number}" for number, (sql, _) in enumerate(texts)) or "1 AS c0"
    fields = [_field(f"c{number}", ascii_only=plain) for number, (_, plain) in enumerate(texts)]
    lines = [
        f"SELECT count(*), coalesce(sum(('x' || encode(substring(sha256(convert_to({_concat(fields)}, 'UTF8')) "
        "FROM 1 FOR 8), 'hex'))::bit(64)::int8), 0)::text",
        f"FROM (SELECT {items}",
        f"FROM {source}",
        *([f"WHERE {' AND '.join(conditions)}"] if conditions else []),
        # The fence keeps each text from being computed for its length and once more for itself.
        "OFFSET 0) AS rivet_rows",
    ]
    return "\n".join(lines), tuple(left_out)


def column_sql(column: RawColumn, types: TypeCatalog, spec: ReadSpec) -> tuple[str, bool] | None:
    """Return the SQL of a column's canonical text and whether that is ASCII; `None` when it has none."""
    policy = spec.out_of_range or "fail"
    override = spec.overrides.get(column.name)
    plan = plan_column(column, types, out_of_range=policy, override=override, binary=True)
    natural = plan_column(column, types, out_of_range=policy, binary=True)
    value = f"{ALIAS}.{POSTGRES.quote(column.name)}"
    base = types.base(column.type_oid, column.typmod, column.dimensions)
    kind = plan.arrow
    padded = base.info.name == "bpchar" and not plan.expression
    if not has_canonical(kind):
        return None
    if override is not None and kind != natural.arrow and not pa.types.is_string(kind):
        return _overridden(plan, value)
    value = (plan.expression or "{}").replace("{}", value)
    if pa.types.is_list(kind):
        element = types.element(base)
        inner = _scalar("e", kind.value_type, spec, padded=element.info.name == "bpchar")
        text = _field("t", ascii_only=False)
        listed = f"SELECT {inner} AS t, o FROM unnest({value}) WITH ORDINALITY AS u(e, o) OFFSET 0"
        joined = f"SELECT coalesce(string_agg({text}, '' ORDER BY o), '') FROM ({listed}) AS l"
        return f"CASE WHEN {value} IS NOT NULL THEN ({joined}) END", False
    return _scalar(value, kind, spec, padded=padded), not pa.types.is_string(_storage(kind))


def _overridden(plan: ColumnPlan, value: str) -> tuple[str, bool] | None:
    """Return the text of a number that leaves as another type of number; what else an override makes is left out."""
    if plan.kind not in (TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.FLOAT):
        return None
    if pa.types.is_integer(plan.arrow) or pa.types.is_decimal(plan.arrow):
        return _decimal(f"({value})::numeric"), True
    if pa.types.is_floating(plan.arrow):
        return _float(f"({value})::{'float4' if pa.types.is_float32(plan.arrow) else 'float8'}::float8"), True
    return None


def _scalar(value: str, kind: pa.DataType, spec: ReadSpec, *, padded: bool) -> str:
    """Return the canonical text of SQL `value`, which leaves as `kind`. Out of range is NULL or says so, by the policy."""
    outside = "NULL" if spec.out_of_range == "null_counted" else "'out of range'"
    kind = _storage(kind)
    if pa.types.is_boolean(kind):
        return f"CASE {value} WHEN true THEN '1' WHEN false THEN '0' END"
    if pa.types.is_integer(kind):
        return f"({value})::text"
    if pa.types.is_floating(kind):
        return _float(f"({value})::float8")
    if pa.types.is_decimal(kind):
        return _decimal(f"nullif(({value})::numeric, 'NaN')" if outside == "NULL" else f"({value})::numeric")
    if pa.types.is_date32(kind):
        days = f"(({value}) - date '1970-01-01')::text"
        return f"CASE WHEN isfinite({value}) THEN {days} WHEN {value} IS NOT NULL THEN {outside} END"
    if pa.types.is_timestamp(kind):
        send, spelled = ("timestamptz_send", "timestamptz") if kind.tz else ("timestamp_send", "timestamp")
        micros = f"(('x' || encode({send}({value}), 'hex'))::bit(64)::int8 + {_EPOCH_MICROS})::text"
        inside = f"isfinite({value}) AND {value} < {spelled} '{LAST_TIMESTAMP}'"
        return f"CASE WHEN {inside} THEN {micros} WHEN {value} IS NOT NULL THEN {outside} END"
    if pa.types.is_time(kind):
        micros = f"('x' || encode(time_send({value}), 'hex'))::bit(64)::int8::text"
        return f"CASE WHEN {value} = time '24:00' THEN {outside} ELSE {micros} END"
    if pa.types.is_fixed_size_binary(kind):
        return f"encode(uuid_send({value}), 'hex')"
    if pa.types.is_binary(kind):
        return f"encode({value}, 'hex')"
    # A cast to text would cut the padding of char(n).
    return f"pg_catalog.textin(pg_catalog.bpcharout({value}))" if padded else f"({value})::text"


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _float(value: str) -> str:
    return f"CASE WHEN {value} = 'NaN' THEN '{NAN}' ELSE encode(float8send({value}), 'hex') END"


def _decimal(value: str) -> str:
    text = f"({value})::text"
    return f"CASE WHEN position('.' in {text}) > 0 THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def _field(text: str, *, ascii_only: bool) -> str:
    """Return `length:text`, or `-` for NULL. The length is in bytes of UTF-8, whatever encoding the database has."""
    length = f"length({text})" if ascii_only else f"octet_length(convert_to({text}, 'UTF8'))"
    return f"coalesce({length} || ':' || {text}, '-')"


def _concat(fields: Sequence[str]) -> str:
    while len(fields) > MOST_ARGUMENTS:
        fields = [_concat(fields[at : at + MOST_ARGUMENTS]) for at in range(0, len(fields), MOST_ARGUMENTS)]
    return f"concat({', '.join(fields)})" if fields else "''"
