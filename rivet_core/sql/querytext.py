"""A user's query as text: where its statement ends, and how it becomes a derived table without being touched."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rivet_core.errors import ConfigError
from rivet_core.sql.dialect import Dialect

ALIAS = "rivet_row"
"""What a statement of ours calls the relation it reads."""
_DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$")


def derived_table(dialect: Dialect, query: str, alias: str = ALIAS) -> str:
    """Return `query` as a derived table, on its own lines so that a trailing comment ends where it should.

    Percent signs, colons and braces stay as they are; only terminating semicolons go. Raises `ConfigError` for an empty
    query and for more than one statement.
    """
    return f"(\n{statement(dialect, query)}\n) AS {dialect.quote(alias)}"


def statement(dialect: Dialect, query: str) -> str:
    """Return the one statement in `query` without its terminating semicolons; comments stay."""
    marks = [(kind, at) for kind, at in _significant(dialect, query)]
    if not any(kind == "text" for kind, _ in marks):
        raise ConfigError("the query is empty", hint="write a SELECT under `query:` or name a `table:`")
    last_text = max(at for kind, at in marks if kind == "text")
    ends = [at for kind, at in marks if kind == "end"]
    if any(at < last_text for at in ends):
        raise ConfigError("the query holds more than one statement", hint="keep one SELECT per export")
    result = query
    for at in reversed(ends):
        result = result[:at] + result[at + 1 :]
    return result


def _significant(dialect: Dialect, query: str) -> Iterator[tuple[str, int]]:
    """Yield `("text", position)` for what counts and `("end", position)` for each semicolon outside strings and comments."""
    at = 0
    while at < len(query):
        char = query[at]
        if any(query.startswith(mark, at) for mark in dialect.line_comments):
            end = query.find("\n", at)
            at = len(query) if end < 0 else end + 1
        elif query.startswith("/*", at):
            at = _after_block_comment(query, at, nested=dialect.dollar_quotes)
        elif char in "'\"`":
            yield "text", at
            at = _after_quoted(dialect, query, at)
            yield "text", at - 1
        elif dialect.dollar_quotes and char == "$" and (tag := _DOLLAR.match(query, at)):
            yield "text", at
            end = query.find(tag.group(), tag.end())
            at = len(query) if end < 0 else end + len(tag.group())
            yield "text", at - 1
        else:
            if char == ";":
                yield "end", at
            elif not char.isspace():
                yield "text", at
            at += 1


def _after_block_comment(query: str, at: int, *, nested: bool) -> int:
    depth = 0
    while at < len(query):
        if query.startswith("/*", at) and (nested or depth == 0):
            depth, at = depth + 1, at + 2
        elif query.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                return at
        else:
            at += 1
    return at


def _after_quoted(dialect: Dialect, query: str, at: int) -> int:
    mark = query[at]
    prefixed = at > 0 and query[at - 1] in "eE" and (at < 2 or not (query[at - 2].isalnum() or query[at - 2] == "_"))
    escapes = mark != "`" and (dialect.backslash_escapes or (dialect.dollar_quotes and mark == "'" and prefixed))
    at += 1
    while at < len(query):
        if escapes and query[at] == "\\":
            at += 2
        elif query[at] == mark:
            # A doubled mark stands for itself; seen as two strings side by side it ends at the same place.
            return at + 1
        else:
            at += 1
    return at
