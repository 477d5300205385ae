"""A new config as text: YAML that people read first, with the reason for every choice beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rivet_core.facts import GroupCapacity, Mode, ServerFacts, TableFacts
from rivet_core.facts.plural import several
from rivet_core.planning.propose import Proposal
from rivet_core.render.quantities import size

WRAP = 110
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(text: str) -> str:
    """Return `text` as a YAML scalar that means exactly it, for any version of YAML, quoted only where it must be.

    A `${` becomes `$${`: what the catalog calls a table is never a reference.
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(_escaped(char) for char in text.replace("${", "$${"))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable() and char not in "\ufeff":
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def comment(text: str, indent: str = "") -> list[str]:
    """Return `text` as comment lines; whatever a name holds, no line of it can become YAML."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    lines: list[str] = []
    line = ""
    for word in shown.split():
        if line and len(indent) + len(line) + len(word) > WRAP:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    return [f"{indent}# {part}" for part in (*lines, line) if part]


def config_text(
    proposals: Sequence[Proposal],
    left: Sequence[tuple[TableFacts, str]],
    *,
    source: str,
    kind: str,
    options: Mapping[str, str],
    group: str,
    capacity: GroupCapacity,
    server: ServerFacts,
    command: str,
) -> str:
    """Return the whole file. `options` are the keys that say where the source is: a reference, never a secret."""
    keys = ", ".join(f"{key}: {scalar(value)}" for key, value in {"type": kind, **options, "source_group": group}.items())
    lines = [
        *comment(f"Written by `{command}` from {server.engine} {server.version}."),
        "#",
        "#   rivet check     how each export is read, and what becomes of every column",
        "#   rivet plan      what to run first, what to delay, what not to run together, and why",
        "#   rivet run       plan and apply; files land below ./out",
        "",
        "sources:",
        f"  {scalar(source)}: {{{keys}}}",
        "",
        "source_groups:",
        f"  {scalar(group)}:",
        f"    max_connections: {capacity.max_connections}    # assumed: at most 4, and half of the connections that were free",
        f"    max_heavy: {capacity.max_heavy}          # of the heavy exports so many at a time",
        "",
        "destination: {type: local, path: ./out}",
        "",
        "exports:",
    ]
    for proposal in proposals:
        lines += _export(proposal, source)
    if left:
        lines += ["# Left out:"]
        for table, reason in left:
            lines += comment(f"  {table.name}: {reason}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _export(proposal: Proposal, source: str) -> list[str]:
    spec = proposal.spec
    lines = [
        f"  - name: {scalar(spec.name)}",
        f"    source: {scalar(source)}",
        f"    table: {scalar(proposal.table.name)}    {''.join(comment(_measure(proposal)))}",
        f"    mode: {spec.mode}",
    ]
    lines[-1:] = [*comment(proposal.why, "    "), *comment(proposal.alternative, "    "), lines[-1]]
    if spec.mode is Mode.INCREMENTAL and spec.cursor_column:
        lines.append(f"    cursor_column: {scalar(spec.cursor_column)}")
        lines.append("    # lookback: 10m    # read again this far behind the cursor, for rows that are committed late")
    if spec.mode is Mode.CHUNKED and spec.chunk_column:
        lines.append(f"    chunk_column: {scalar(spec.chunk_column)}")
    if spec.columns:
        lines += comment(f"left out, not readable or without an exact type: {', '.join(proposal.left_out)}", "    ")
        lines.append("    columns:")
        lines += [f"      - {scalar(name)}" for name in spec.columns]
    return [*lines, ""]


def _measure(proposal: Proposal) -> str:
    judgement = proposal.judgement
    words = []
    if judgement.estimated_rows is not None:
        words.append(f"about {several(judgement.estimated_rows, 'row')}")
    if judgement.estimated_bytes is not None:
        words.append(size(judgement.estimated_bytes))
    return ", ".join(words) or "size unknown"
