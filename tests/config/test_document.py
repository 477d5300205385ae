"""YAML as rivet reads it: lines, duplicates, anchors, what is refused."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.config.document import Document, read_document
from rivet_core.config.nodes import plain_data
from rivet_core.errors import ConfigError


def read(tmp_path: Path, text: str | bytes) -> Document:
    path = tmp_path / "rivet.yaml"
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return read_document(path)


def test_every_key_and_value_keeps_its_line(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n")
    assert document.find(("a",))[1] == 1
    assert document.find(("b",))[1] == 2
    assert document.find(("b", 1, "d"))[1] == 5
    assert document.find(("b", 1, "missing"))[1] == 4
    assert document.place(("b", 1, "d")).endswith("rivet.yaml:5: b[1].d: ")


def test_words_of_yaml_1_1_stay_text(tmp_path: Path) -> None:
    document = read(tmp_path, "a: [on, no, y, 12:30:00, 0123, 2027-01-01, 1_000, true, ~, 'true', \"1\"]\n")
    expected = ["on", "no", "y", "12:30:00", "0123", "2027-01-01", "1_000", True, None, "true", "1"]
    assert plain_data(document.root) == {"a": expected}


def test_keys_are_text(tmp_path: Path) -> None:
    assert plain_data(read(tmp_path, "on: 1\n1: 2\ntrue: 3\n~: 4\n").root) == {"on": 1, "1": 2, "true": 3, "~": 4}


def test_aliases_are_copies(tmp_path: Path) -> None:
    data = plain_data(read(tmp_path, "c: &c [a, b]\nx: {columns: *c}\ny: {columns: *c}\n").root)
    assert isinstance(data, dict)
    data["x"]["columns"].append("c")  # type: ignore[index, call-overload, union-attr]
    assert data["y"] == {"columns": ["a", "b"]}
    assert data["c"] == ["a", "b"]


def test_merges_yield_to_explicit_keys_wherever_they_stand(tmp_path: Path) -> None:
    text = """\
    one: &one {a: 1, b: 1, c: 1}
    two: &two {b: 2, d: 2}
    before: {<<: *one, a: mine}
    after: {a: mine, <<: *one}
    both: {<<: [*two, *one], c: mine}
    chain: &chain {<<: *one, e: 3}
    far: {<<: *chain}
    """
    data = plain_data(read(tmp_path, text).root)
    assert isinstance(data, dict)
    assert data["before"] == data["after"] == {"a": "mine", "b": 1, "c": 1}
    assert data["both"] == {"c": "mine", "b": 2, "d": 2, "a": 1}
    assert data["far"] == {"e": 3, "a": 1, "b": 1, "c": 1}


def test_a_quoted_merge_key_is_a_key(tmp_path: Path) -> None:
    assert plain_data(read(tmp_path, '"<<": x\n').root) == {"<<": "x"}


def test_standard_tags_say_the_type(tmp_path: Path) -> None:
    data = plain_data(read(tmp_path, "a: !!str 12\nb: !!int '12'\nc: !!float 1\nd: ! on\ne: !!seq [1]\nf: !!map {}\n").root)
    assert data == {"a": "12", "b": 12, "c": 1.0, "d": "on", "e": [1], "f": {}}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert plain_data(read(tmp_path, b"\xef\xbb\xbfa: 1\n").root) == {"a": 1}


REFUSED: list[tuple[str, str | bytes, int, str]] = [
    ("empty", "", 1, "empty"),
    ("blank", "\n  \n", 1, "empty"),
    ("comments", "# nothing\n", 1, "only comments"),
    ("scalar", "hello\n", 1, "not a mapping"),
    ("list", "- a\n", 1, "not a mapping"),
    ("null", "---\n...\n", 2, "not a mapping"),
    ("latin-1", "a: 1\nb: é\n".encode("latin-1"), 2, "not UTF-8"),
    ("utf-16", "a: 1\n".encode("utf-16"), 1, "UTF-16"),
    ("two documents", "a: 1\n---\nb: 2\n", 2, "second document"),
    ("duplicate", "a: 1\nb: 2\na: 3\n", 3, "duplicate key `a` (first on line 1)"),
    ("duplicate in flow", "a: {b: 1,\n b: 2}\n", 2, "duplicate key `b` (first on line 1)"),
    ("duplicate by quotes", "a: 1\n'a': 2\n", 2, "duplicate key `a` (first on line 1)"),
    ("duplicate merge", "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", 4, "duplicate key `<<`"),
    ("merge of a list", "a: &a [1]\nb: {<<: [*a]}\n", 2, "merges only mappings"),
    ("merge of a scalar", "b: {<<: x}\n", 1, "merges only mappings"),
    ("unknown alias", "a: 1\nb: *nope\n", 2, "nope"),
    ("recursive", "a: &a\n  b: *a\n", 2, "inside its own anchor"),
    ("complex key", "? [a]\n: 1\n", 1, "not plain text"),
    ("brace key", "a: {{b}: 1}\n", 1, "not plain text"),
    ("custom tag", "a: 1\nb: !secret x\n", 2, "!secret"),
    ("python tag", "b: !!python/object/apply:os.system [ls]\n", 1, "python"),
    ("timestamp tag", "b: !!timestamp 2020-01-01\n", 1, "timestamp"),
    ("wrong tag", "b: !!int x\n", 1, "int"),
    ("tab", "a:\n\tb: 1\n", 2, "YAML syntax"),
    ("unclosed", "a: [1, 2\nb: 3\n", 2, "YAML syntax"),
    ("bad indent", "a: 1\n  b: 2\n", 2, "YAML syntax"),
    ("unquoted token", "a: 1\nprefix: {partition}/x\n", 2, "YAML syntax"),
    ("control character", b"a: 1\nb: \x07\n", 2, "YAML syntax"),
    ("deep", "a: " + "[" * 100 + "]" * 100 + "\n", 1, "nested deeper"),
    ("very deep", "a: " + "[" * 20000 + "\n", 1, ""),
]


@pytest.mark.parametrize(("name", "text", "line", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_with_file_line_and_hint(tmp_path: Path, name: str, text: str | bytes, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert caught.value.message.startswith(f"{tmp_path / 'rivet.yaml'}:{line}: ")
    assert words in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_missing_file_and_directory(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "no.yaml", "no such config file"),
        (tmp_path, "is a directory"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(ConfigError, match=words) as caught:
            read_document(path)
        assert caught.value.hint


def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "rivet.yaml"
    path.symlink_to("rivet.yaml")
    with pytest.raises(ConfigError, match="cannot be read: too many levels") as caught:
        read_document(path)
    assert caught.value.hint


@pytest.mark.parametrize("shape", ["[{}]", "{{a: {}}}"])
def test_alias_bombs_end_at_once(tmp_path: Path, shape: str) -> None:
    wide = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    wide += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    deep = "b0: &b0 [x]\n" + "".join(f"b{n}: &b{n} {shape.format(f'*b{n - 1}')}\n" for n in range(1, 3000))
    for text in (wide, deep):
        begun = time.monotonic()
        with pytest.raises(ConfigError, match=r"aliases expand to more than|nested deeper"):
            read(tmp_path, text)
        assert time.monotonic() - begun < 2


# A value that any YAML writer can write and that means the same in YAML 1.1 and 1.2 once it is quoted.
values = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.dictionaries(st.from_regex(r"k[a-z]{0,4}", fullmatch=True), values, min_size=1, max_size=4))
def test_what_a_writer_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: dict[str, object]) -> None:
    path = tmp_path_factory.mktemp("y") / "rivet.yaml"
    path.write_text(
        yaml.safe_dump(value, default_style='"', allow_unicode=True) if _all_text(value) else yaml.safe_dump(value),
        encoding="utf-8",
    )
    assert plain_data(read_document(path).root) == value


def _all_text(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_all_text, value.values()))
    return all(map(_all_text, value)) if isinstance(value, list) else isinstance(value, str)
