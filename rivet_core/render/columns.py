"""Rows of text in aligned columns, by display width, for terminals and logs alike."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def align(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), gap: str = "  ") -> list[str]:
    """Return one line per row, columns padded to their widest cell; columns in `right` are flush right."""
    if not rows:
        return []
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            pad = " " * (widths[column] - cell_len(cell))
            cells.append(pad + cell if column in right else cell + pad)
        lines.append(gap.join(cells).rstrip())
    return lines


def clip(text: str, width: int) -> str:
    """Return `text` cut to `width` cells, the cut marked with an ellipsis."""
    if width < 1 or cell_len(text) <= width:
        return text
    kept = ""
    for character in text:
        if cell_len(kept + character) > width - 1:
            break
        kept += character
    return kept.rstrip() + "…"
