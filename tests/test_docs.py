"""Documentation that is held to the code: one heading per hook with its exact signature, one page per reason code."""

from __future__ import annotations

import inspect
import re
import shutil
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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning, a missing page or a link that leads nowhere fails the build."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, str(DOCS / "build.py"), "-o", str(folder)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_site_has_a_page_for_every_text(site: Path) -> None:
    texts = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    pages = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404"), Path("search")}
    assert {Path(str(page).replace("index", "README")) for page in pages} == texts
    assert not list(site.rglob("*.py"))


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?)"', text), page


@pytest.mark.parametrize("wrong", ["[a](gone.md)", "[a](plan.md#no-such-heading)", "[a](../README.md)"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, wrong: str) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("__pycache__"))
    with (docs / "modes.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{wrong}\n")
    command = [sys.executable, str(docs / "build.py"), "-o", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "modes.md" in done.stderr
    assert "Traceback" not in done.stderr
