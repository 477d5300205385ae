"""Documentation that is held to the code: one heading per hook with its exact signature, one page per reason code."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from rivet_core import hookspecs

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("hook", sorted(hookspecs.HOOK_RECORDS))
def test_every_hook_has_a_heading_with_its_exact_signature(hook: str) -> None:
    signature = inspect.signature(getattr(hookspecs, hook))
    returned = str(signature.return_annotation)
    assert f"## `{hook}() -> {returned}`" in (DOCS / "hooks.md").read_text()


@pytest.mark.parametrize("hook", sorted(hookspecs.HOOK_RECORDS))
def test_every_hook_is_named_in_a_test(hook: str) -> None:
    tests = Path(__file__).parent
    assert any(hook in path.read_text() for path in tests.rglob("test_*.py") if path.name != "test_docs.py") or (
        "HOOK_RECORDS" in (tests / "plugins" / "test_load.py").read_text()
    )


def test_generated_pages_match_the_code() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True, check=False, cwd=DOCS.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_reason_code_has_a_page_and_every_page_a_code() -> None:
    from rivet_core.planning.taxonomy import TAXONOMY

    pages = {path.stem for path in (DOCS / "reasons").glob("*.md")} - {"README"}
    assert pages == set(TAXONOMY)
