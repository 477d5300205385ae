"""The table, core's rules and the pages under docs/reasons say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rivet_core.builtin.emitters import builtin_emitters
from rivet_core.builtin.rules import builtin_rules
from rivet_core.facts import ReasonKind
from rivet_core.planning.fold import CLAMP_CODE
from rivet_core.planning.pages import SECTIONS, facts_line, heading, index_page
from rivet_core.planning.taxonomy import CAPS, OVERRIDE_LIMIT, TAXONOMY, reason, schema_rows

PAGES = Path(__file__).parents[2] / "docs" / "reasons"

# Section 6 of the scoring design: code -> (dimension, default points); None for info, confidence, campaign and gate.
DESIGNED = {
    "RV001": ("risk", 10), "RV002": ("value", 40), "RV101": ("cost", 0), "RV102": ("cost", 0), "RV103": ("cost", 0),
    "RV104": ("cost", 6), "RV105": ("cost", 0), "RV106": None, "RV107": ("cost", 0), "RV109": ("cost", 0), "RV110": None,
    "RV111": None, "RV201": ("cost", 15), "RV202": ("cost", 12), "RV203": ("cost", 8), "RV204": ("cost", 5),
    "RV205": ("cost", 4), "RV206": ("cost", 3), "RV301": ("risk", -5), "RV302": ("risk", 8), "RV303": ("risk", 12),
    "RV304": ("risk", 10), "RV305": ("risk", 6), "RV306": ("risk", 8), "RV307": ("risk", 15), "RV308": ("risk", 4),
    "RV309": ("risk", 6), "RV310": None, "RV401": ("risk", 25), "RV402": ("risk", 15), "RV403": ("risk", 5),
    "RV404": ("risk", 10), "RV501": ("value", 0), "RV502": ("value", -20), "RV503": ("value", 4), "RV504": ("value", 20),
    "RV505": ("value", 6), "RV510": ("value", 30), "RV601": ("risk", 8), "RV602": ("risk", 5), "RV603": ("risk", 15),
    "RV604": ("cost", 0), "RV605": ("risk", 5), "RV606": ("risk", 5), "RV607": ("risk", 8), "RV701": None, "RV702": None,
    "RV703": None, "RV704": ("risk", 10), "RV705": ("risk", 15), "RV706": ("value", -10), "RV707": ("risk", 8),
    "RV708": ("risk", 8), "RV801": ("cost", 55), "RV802": None, "RV803": None, "RV804": None, "RV805": None, "RV806": None,
    "RV890": None, "RV901": None, "RV902": None,
}  # fmt: skip
DESIGNED_CAPS = {
    ("cost", "shape"): (-10, 20), ("cost", "pressure"): (0, 25), ("cost", "extra"): (0, 10), ("cost", "unfinished"): (0, 100),
    ("risk", "cursor"): (-5, 40), ("risk", "mutability"): (0, 30), ("risk", "history"): (0, 30), ("risk", "source"): (0, 30),
    ("risk", "config"): (0, 20), ("value", "freshness"): (-30, 40), ("value", "declared"): (-30, 40),
}  # fmt: skip


def test_the_table_holds_the_designed_codes_and_points() -> None:
    assert set(TAXONOMY) == {*DESIGNED, CLAMP_CODE}
    for code, expected in DESIGNED.items():
        entry = TAXONOMY[code]
        assert (None if entry.dimension is None else (str(entry.dimension), entry.points)) == expected, code


def test_the_caps_are_the_designed_ones() -> None:
    assert {(str(dimension), family): cap for (dimension, family), cap in CAPS.items()} == DESIGNED_CAPS


def test_every_weighted_code_has_a_capped_family_and_fits_an_override() -> None:
    for entry in TAXONOMY.values():
        if entry.kind is ReasonKind.MODIFIER:
            assert (entry.dimension, entry.family) in CAPS, entry.code
            assert abs(entry.points) <= OVERRIDE_LIMIT


def test_each_code_belongs_to_exactly_one_record() -> None:
    offered = [code for record in (*builtin_rules(), *builtin_emitters()) for code in record.codes]
    assert len(offered) == len(set(offered))
    by_core_itself = {"RV890", CLAMP_CODE}
    assert set(offered) | by_core_itself == set(TAXONOMY)


def test_codes_stand_in_order() -> None:
    assert list(TAXONOMY) == sorted(TAXONOMY)


@pytest.mark.parametrize("code", TAXONOMY)
def test_every_code_has_its_page(code: str) -> None:
    lines = (PAGES / f"{code}.md").read_text(encoding="utf-8").splitlines()
    entry = TAXONOMY[code]
    assert lines[0] == heading(entry)
    assert lines[2] == facts_line(entry)
    assert tuple(line.removeprefix("## ") for line in lines if line.startswith("## ")) == SECTIONS
    text = "\n".join(lines)
    assert all(len(part.strip()) >= 5 for part in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:])


def test_no_page_is_left_over() -> None:
    assert {path.stem for path in PAGES.glob("RV*.md")} == set(TAXONOMY)


def test_the_index_is_the_table() -> None:
    assert (PAGES / "README.md").read_text(encoding="utf-8") == index_page()


def test_a_reason_is_built_from_its_row() -> None:
    built = reason("RV606", "twice", second=True)
    assert (built.dimension, built.family, built.points, built.provider) == ("cost", "extra", 5, "core")
    listed = reason("RV304", "shown", points=10, info=True)
    assert (listed.dimension, listed.kind, listed.points) == (None, ReasonKind.INFO, 0)


def test_schema_rows_are_plain() -> None:
    rows = schema_rows()
    assert len(rows) == len(TAXONOMY)
    assert {type(value) for row in rows for value in row.values()} <= {str, int, dict, type(None)}
