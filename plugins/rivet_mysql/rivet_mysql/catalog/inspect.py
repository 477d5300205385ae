"""One inspection: the server, all tables together, and each query by itself."""

# Literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rivet_core.errors import SourceError
from rivet_core.facts import CatalogFacts, InspectItem, RelationKind, Role, TableFacts
from rivet_core.sql.querytext import derived_table
from rivet_mysql.catalog.estimate import Estimate, explain, with_estimate
from rivet_mysql.catalog.query import query_facts
from rivet_mysql.catalog.server import ServerSheet, account_name, server_sheet
from rivet_mysql.catalog.statements import SYSTEM, Key, Question, moment, read_columns, read_sheet, read_sizes
from rivet_mysql.catalog.tables import Context, table_facts
from rivet_mysql.connection import Link, Server, number, text
from rivet_mysql.dialect import MYSQL, split_name, written


def inspect(link: Link, server: Server, address: str, items: Sequence[InspectItem]) -> CatalogFacts:
    """Return the facts of `items`: eleven statements for the server and all tables. Where there are queries or views, one more
    (two without the right to InnoDB's statistics) for the tables below them, two for each view and three for each query.

    No items means every table and view outside the system databases, for `init`; one statement more.
    """
    begun, before = time.monotonic(), link.statements
    sheet = server_sheet(link, server, address)
    items = items or [InspectItem(name=name, table=name) for name in everything(link)]
    tables = [item for item in items if item.query is None]
    facts = {item.name: query_facts(link, item) for item in items if item.query is not None}
    facts.update(_tables(link, server, sheet, tables))
    facts.update(_estimated(link, server, sheet, facts, {item.name: item.query for item in items if item.query is not None}))
    return CatalogFacts(server=sheet.facts, tables=facts, statements=link.statements - before, seconds=time.monotonic() - begun)


def everything(link: Link) -> list[str]:
    """Return the name of every table and view outside the system databases, as the config writes it."""
    rows = link.rows(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'VIEW')"
        f" AND TABLE_SCHEMA NOT IN ({', '.join(MYSQL.string(name) for name in SYSTEM)}) ORDER BY 1, 2",
        doing="listing the tables",
    )
    return [written(text(schema), text(table)) for schema, table in rows]


def _tables(link: Link, server: Server, sheet: ServerSheet, items: Sequence[InspectItem]) -> dict[str, TableFacts]:
    keys: dict[str, Key] = {}
    facts = {}
    for item in items:
        key = locate(item.table or item.name, sheet.database)
        if isinstance(key, TableFacts):
            facts[item.name] = key
        else:
            keys[item.name] = key
    if not keys:
        return facts
    question = Question(link, server, list(keys.values()), account=sheet.account, folds_case=sheet.folds_case)
    answers = read_sheet(question, performance_schema=sheet.performance_schema)
    assert sheet.facts.observed_at is not None  # noqa: S101 - the server's own clock, just read
    context = Context(
        sheet=answers,
        observed_at=sheet.facts.observed_at,
        account=sheet.account,
        counters_since=sheet.facts.counters_since,
        replica=sheet.facts.role is Role.STANDBY,
    )
    for item in items:
        if item.name in keys:
            facts[item.name] = table_facts(context, item, question.fold(keys[item.name], sheet.folds_case))
    return facts


def _estimated(
    link: Link, server: Server, sheet: ServerSheet, facts: Mapping[str, TableFacts], queries: Mapping[str, str]
) -> dict[str, TableFacts]:
    """Return the queries and views with the optimizer's guess; without one where it cannot be had, which is no problem."""
    found: dict[str, TableFacts] = {}
    estimates: dict[str, Estimate] = {}
    for name, one in facts.items():
        if one.problem or one.kind not in (RelationKind.QUERY, RelationKind.VIEW):
            continue
        source = derived_table(MYSQL, queries[name]) if name in queries else MYSQL.qualified((one.schema, one.relation))
        try:
            estimates[name] = explain(link, server, source, f"explaining {name}", folds_case=sheet.folds_case)
        except SourceError as error:
            if error.error_class == "connection":
                raise
            found[name] = replace(one, notes=(*one.notes, f"no estimate: {error.message}"))
    keys = {key for estimate in estimates.values() for key in estimate.keys}
    if not estimates:
        return found
    question = Question(link, server, list(keys), account=sheet.account, folds_case=sheet.folds_case)
    sizes = read_sizes(question) if keys else {}
    assert sheet.facts.observed_at is not None  # noqa: S101 - the server's own clock, just read
    for name, estimate in estimates.items():
        kind = "query" if name in queries else "view"
        found[name] = with_estimate(facts[name], estimate, sizes, sheet.facts.observed_at, kind)
    return found


def locate(name: str, database: str) -> Key | TableFacts:
    """Return where a config name points, or the facts of one that points nowhere."""
    try:
        schema, table = split_name(name)
    except ValueError:
        return TableFacts(
            name=name,
            kind=RelationKind.MISSING,
            problem=f"{name!r} is not the name of a table",
            remedy="write `database.table`; put a name with a dot into backquotes",
        )
    if not schema and not database:
        return TableFacts(
            name=name,
            relation=table,
            kind=RelationKind.MISSING,
            problem=f"{name} names no database, and neither does the connection",
            remedy="write `database.table`, or put the database into the URL",
        )
    return (schema or database, table)


def look_up(link: Link, server: Server, table: str) -> TableFacts:
    """Return columns and indexes of one table or view, without statistics: what reading needs to know."""
    asked = link.rows(
        "SELECT DATABASE(), CURRENT_USER(), @@GLOBAL.lower_case_table_names, UTC_TIMESTAMP(6)", doing=f"looking up {table}"
    )[0]
    key = locate(table, text(asked[0]))
    if isinstance(key, TableFacts):
        return key
    folds = bool(number(asked[2]))
    question = Question(link, server, [key], account=account_name(text(asked[1])), folds_case=folds)
    now = moment(asked[3])
    assert now is not None  # noqa: S101 - the server's clock
    context = Context(
        sheet=read_columns(question), observed_at=now, account=question.account, counters_since=None, replica=False
    )
    return table_facts(context, InspectItem(name=table, table=table), question.fold(key, folds))
