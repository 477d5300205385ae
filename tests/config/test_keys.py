"""Keys set in the text of a config: every byte that need not change stays, whatever YAML the file is written in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.config.document import read_document
from rivet_core.config.keys import set_export_keys
from rivet_core.config.nodes import plain_data
from rivet_core.errors import ConfigError


def edit(tmp_path: Path, text: str | bytes, wanted: dict[int, dict[str, int | bool]]) -> bytes:
    path = tmp_path / "rivet.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return set_export_keys(read_document(path), wanted)


CASES = {
    "a comment behind the name stays on its line": (
        "exports:\n  - name: a   # the a\n    # its table\n    table: t\n",
        "exports:\n  - name: a   # the a\n    wave: 2\n    # its table\n    table: t\n",
    ),
    "the name last, and no line end": ("exports:\n- table: t\n  name: a", "exports:\n- table: t\n  name: a\n  wave: 2"),
    "lines end as they do": (
        "exports:\r\n  - name: a\r\n    table: t\r\n",
        "exports:\r\n  - name: a\r\n    wave: 2\r\n    table: t\r\n",
    ),
    "old line ends": ("exports:\r- name: a\r  table: t\r", "exports:\r- name: a\r  wave: 2\r  table: t\r"),
    "a byte order mark": ("\ufeffexports:\n- name: a\n  table: t\n", "\ufeffexports:\n- name: a\n  wave: 2\n  table: t\n"),
    "flow style": ("exports: [{name: a, table: t}]\n", "exports: [{name: a, wave: 2, table: t}]\n"),
    "flow style over lines": (
        "exports: [\n  { table: t,\n    name: a  # here\n  },\n]\n",
        "exports: [\n  { table: t,\n    name: a, wave: 2  # here\n  },\n]\n",
    ),
    "JSON stays JSON": ('{"exports":[{"name":"a","table":"t"}]}', '{"exports":[{"name":"a", "wave": 2,"table":"t"}]}'),
    "quoted keys": ("exports:\n- 'name': 'a'\n  \"table\": t\n", "exports:\n- 'name': 'a'\n  wave: 2\n  \"table\": t\n"),
    "a name over two lines": (
        "exports:\n- name: 'a\n    b'\n  table: t\n",
        "exports:\n- name: 'a\n    b'\n  wave: 2\n  table: t\n",
    ),
    "a folded name": (
        "exports:\n- name: >-\n    a\n  table: t\n",
        "exports:\n- wave: 2\n  name: >-\n    a\n  table: t\n",
    ),
    "question marks": (
        "exports:\n- ? name\n  : a\n  ? table\n  : t\n",
        "exports:\n- ? name\n  : a\n  wave: 2\n  ? table\n  : t\n",
    ),
    "an anchor on the export": (
        "exports:\n- &a\n  name: a\n  table: t\n",
        "exports:\n- &a\n  name: a\n  wave: 2\n  table: t\n",
    ),
    "an anchor on the name's key": (
        "exports:\n- &k name: a\n  table: t\n",
        "exports:\n- &k name: a\n  wave: 2\n  table: t\n",
    ),
    "the exports by an alias": (
        "x-all: &all\n- name: a\n  table: t\nexports: *all\n",
        "x-all: &all\n- name: a\n  wave: 2\n  table: t\nexports: *all\n",
    ),
    "an export by an alias": (
        "x-a: &a {name: a, table: t}\nexports: [*a]\n",
        "x-a: &a {name: a, wave: 2, table: t}\nexports: [*a]\n",
    ),
    "the exports by a merge": (
        "x-all: &all {exports: [{name: a, table: t}]}\n<<: *all\n",
        "x-all: &all {exports: [{name: a, wave: 2, table: t}]}\n<<: *all\n",
    ),
    "the name by a merge": (
        "x-a: &a {name: a}\nexports:\n- <<: *a\n  table: t\n- {<<: *a, name: b, table: t}\n",
        "x-a: &a {name: a}\nexports:\n- wave: 2\n  <<: *a\n  table: t\n- {<<: *a, name: b, table: t}\n",
    ),
    "the name by a merge, in flow style": (
        "x-a: &a {name: a}\nexports: [{<<: *a, table: t}]\n",
        "x-a: &a {name: a}\nexports: [{wave: 2, <<: *a, table: t}]\n",
    ),
    "a value that is there": (
        "exports:\n- {name: a, wave:  7 , table: t}  # seven\n",
        "exports:\n- {name: a, wave:  2 , table: t}  # seven\n",
    ),
    "a null that is there": ("exports:\n- name: a\n  wave: ~ # none\n", "exports:\n- name: a\n  wave: 2 # none\n"),
    "a value by an alias": (
        "x-w: &w 7\nexports:\n- name: a\n  wave: *w\n  chunk_count: *w\n",
        "x-w: &w 7\nexports:\n- name: a\n  wave: 2\n  chunk_count: *w\n",
    ),
    "an anchored value moves to the first that needs it": (
        "exports:\n- name: a\n  wave: &w 7\n  chunk_count: *w\n  parallel: *w\n",
        "exports:\n- name: a\n  wave: 2\n  chunk_count: &w 7\n  parallel: *w\n",
    ),
    "a merged value": (
        "x-b: &b {wave: 7}\nexports:\n- name: a\n  <<: *b\n",
        "x-b: &b {wave: 7}\nexports:\n- name: a\n  wave: 2\n  <<: *b\n",
    ),
    "who merges the export keeps what it had": (
        "exports:\n- &a\n  name: a\n  table: t\n- <<: *a\n  name: b\n",
        "exports:\n- &a\n  name: a\n  wave: 2\n  table: t\n- <<: *a\n  name: b\n  wave: null\n",
    ),
    "letters of any plane": (
        "# 𝄞 é\nexports:\n- {name: '𝄞', table: 'ü'} # 𝄞\n",
        "# 𝄞 é\nexports:\n- {name: '𝄞', wave: 2, table: 'ü'} # 𝄞\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_only_the_wave_changes(tmp_path: Path, case: str) -> None:
    before, after = CASES[case]
    assert edit(tmp_path, before, {0: {"wave": 2}}).decode() == after


def test_several_keys_of_one_export_stand_in_their_order(tmp_path: Path) -> None:
    keys: dict[str, int | bool] = {"wave": 3, "parallel_safe": False}
    assert edit(tmp_path, "exports:\n- name: a\n  table: t\n", {0: keys}) == (
        b"exports:\n- name: a\n  wave: 3\n  parallel_safe: false\n  table: t\n"
    )
    assert edit(tmp_path, "exports: [{name: a}]", {0: keys}) == b"exports: [{name: a, wave: 3, parallel_safe: false}]"


def test_what_cannot_be_edited_alone_is_refused_with_the_values(tmp_path: Path) -> None:
    # The defaults share the mapping of the export's merge: a wave in it would be one of theirs.
    text = "defaults: &d {format: csv}\nexports:\n- *d\n"
    with pytest.raises(ConfigError) as caught:
        edit(tmp_path, text, {0: {"wave": 2}})
    assert "without changing more than wave" in caught.value.message
    assert "wave: 2" in caught.value.hint


WANTED, REPLACED = 9000, 8000
INSERTED = re.compile(r"""(?:\r\n|\n) *wave: 9\d{3}|wave: 9\d{3}(?:\r\n|\n) *|wave: 9\d{3}, |, ["']?wave["']?: 9\d{3}""")

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=8)
comments = st.one_of(st.just(""), words.map(lambda word: "  # " + word))


@st.composite
def an_export(draw: st.DrawFn, index: int) -> list[str]:
    """The lines of one export as an entry of a block list: any style, any quotes, comments, anchors, a wave or none."""
    name = f"e{index}"
    shown = draw(st.sampled_from([name, f"'{name}'", f'"{name}"', f"&n{index} {name}", f"!!str {name}"]))
    quote = draw(st.sampled_from(["", "", "'", '"']))
    fields = [(f"{quote}name{quote}", shown), (f"{quote}table{quote}", json.dumps(draw(words), ensure_ascii=False))]
    if index:
        fields += draw(st.sampled_from([[], [("<<", "*first")], [("<<", "[*base, *first]")]]))
    fields += draw(st.sampled_from([[], [("wave", str(REPLACED + index))], [("wave", f"&w{index} {REPLACED + index}")]]))
    if "&w" in fields[-1][1]:
        fields += draw(st.sampled_from([[], [("chunk_count", f"*w{index}")]]))
    tail = [item for item in fields if item[0] == "chunk_count"]
    fields = draw(st.permutations([item for item in fields if item not in tail])) + tail
    anchor = draw(st.sampled_from(["&first ", "&first"])) if not index else ""
    style = draw(st.sampled_from(["block", "block", "flow", "wide", "explicit"]))
    note = draw(comments)
    if style == "flow":
        return [
            "- " + anchor.strip() + " {" + draw(st.sampled_from(["", " "])) + ", ".join(map(": ".join, fields)) + "}" + note
        ]
    if style == "wide":
        rows = [f"    {key}: {value}" + ("" if last else ",") + note for last, (key, value) in _marked(fields)]
        return ["- " + anchor.strip() + " {" + note, *rows, "  }"]
    rows = []
    for key, value in fields:
        rows += [f"  {key}: {value}{note}"] if style == "block" else [f"  ? {key}", f"  : {value}{note}"]
        rows += draw(st.sampled_from([[], [""], ["  # a line of its own"], ["# at the margin"]]))
    return ["- " + anchor.strip() + note if anchor else "-" + note, *rows]


def _marked(fields: list[tuple[str, str]]) -> list[tuple[bool, tuple[str, str]]]:
    return [(place == len(fields) - 1, field) for place, field in enumerate(fields)]


@st.composite
def hard_configs(draw: st.DrawFn) -> tuple[str, int]:
    count = draw(st.integers(1, 4))
    pad = draw(st.sampled_from(["", "  ", "      "]))
    rows = ["x-base: &base {format: csv}" + draw(comments)]
    aliased = draw(st.booleans())
    rows.append("x-all: &all" if aliased else "exports:" + draw(comments))
    rows += [pad + line if line else line for index in range(count) for line in draw(an_export(index))]
    rows += ["exports: *all"] if aliased else []
    rows += draw(st.sampled_from([[], ["planning: {workers: 2}"], ["...", ""]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    end = draw(st.sampled_from(["", newline]))
    return draw(st.sampled_from(["", "\ufeff"])) + newline.join(rows) + end, count


@settings(max_examples=400)
@given(hard_configs())
def test_hard_yaml_means_the_same_but_for_the_waves(tmp_path_factory: pytest.TempPathFactory, config: tuple[str, int]) -> None:
    text, count = config
    path = tmp_path_factory.mktemp("keys") / "rivet.yaml"
    path.write_bytes(text.encode())
    before = read_document(path)
    own = {
        index for index in range(count) if re.search(rf"wave: .*\b{REPLACED + index}\b|wave\s+: .*{REPLACED + index}\b", text)
    }
    wanted = {index: {"wave": (REPLACED + 100 if index in own else WANTED) + index} for index in range(count)}
    new = set_export_keys(before, wanted)
    path.write_bytes(new)
    expected = plain_data(before.root)
    assert isinstance(expected, dict)
    exports = expected["exports"]
    assert isinstance(exports, list)
    for index, export in enumerate(exports):
        assert isinstance(export, dict)
        export["wave"] = wanted[index]["wave"]
    found = plain_data(read_document(path).root)
    assert isinstance(found, dict)
    assert found["exports"] == exports
    assert {key: value for key, value in found.items() if not key.startswith("x-")} == {
        key: value for key, value in expected.items() if not key.startswith("x-")
    }
    # What was not there before taken out, what was there put back: the same bytes.
    restored = INSERTED.sub("", new.decode())
    for index in own:
        moved = re.search(rf"chunk_count(?:\s+)?: &w{index} \d+", restored)
        if moved:
            restored = restored.replace(f"&w{index} {REPLACED + index}", f"*w{index}")
        anchor = f"&w{index} " if f"&w{index} " in text else ""
        restored = restored.replace(str(REPLACED + 100 + index), f"{anchor}{REPLACED + index}")
    assert restored == text
