"""What the reason pages under `docs/reasons/` take from the table, so that page and table cannot drift apart."""

from __future__ import annotations

from rivet_core.planning.taxonomy import CAPS, TAXONOMY, TAXONOMY_VERSION, Entry

SECTIONS = ("What it says", "Why it matters", "How it is computed", "False positives", "Remedy", "Example")
"""The sections of every page, in order."""


def heading(entry: Entry) -> str:
    """Return the first line of a page."""
    return f"# {entry.code}: {entry.title}"


def facts_line(entry: Entry) -> str:
    """Return the line under the heading: where the code counts and what it is worth."""
    if entry.dimension is None:
        where = f"{entry.scope} · {entry.kind}"
    else:
        cap = CAPS.get((entry.dimension, entry.family))
        limits = "" if cap is None else f" ({cap[0]} to {cap[1]})"
        where = f"{entry.dimension} · {entry.kind} · family {entry.family}{limits}"
    return f"`{where} · {points_text(entry)}`"


def points_text(entry: Entry) -> str:
    """Return the points of a code in words: its formula, else its constant."""
    if entry.formula:
        return f"points {entry.formula}"
    if entry.also is not None:
        return f"points {entry.points:+d}, and {entry.also[2]:+d} on {entry.also[0]}"
    return f"points {entry.points:+d}" if entry.points else "points 0"


def index_page() -> str:
    """Return the text of `docs/reasons/README.md`."""
    rows = "\n".join(
        f"| [{entry.code}]({entry.code}.md) | {entry.title} | {entry.dimension or entry.scope} | {entry.kind} "
        f"| {points_text(entry).removeprefix('points ')} | {entry.trigger} |"
        for entry in TAXONOMY.values()
    )
    caps = "\n".join(f"| {dimension} | {family} | {low} | {high} |" for (dimension, family), (low, high) in CAPS.items())
    return f"""# Reason codes

Every score of a plan is the sum of its reasons; each reason has a code and a page. This index is made from the table in
`rivet_core/planning/taxonomy.py` (version {TAXONOMY_VERSION}); `rivet schema reasons` prints the same table.

Points can be changed per code (`planning.rules: {{RV201: {{points: 25}}}}`, within 40 either way, or `off`), and a reason can
be muted for one export (`planning.suppress`) with why and until when. A muted reason stays listed with 0 points. Plugins use
codes of their own, `X-<vendor>-nnn`.

| code | title | counts for | kind | points | when |
| --- | --- | --- | --- | --- | --- |
{rows}

## Caps

What a family of reasons can add to its dimension. Whatever a cap cuts off is listed as [RV891](RV891.md), so plain sums stay
equal to the scores. One plugin moves a dimension by at most 10, all plugins together by at most 20.

| dimension | family | lowest | highest |
| --- | --- | --- | --- |
{caps}
"""
