"""Build the site from the pages of docs/ into site/. A warning, or a link that leads nowhere, is a failure."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException

DOCS = Path(__file__).parent
NAV: list[dict[str, Any]] = [
    {"Start": "README.md"},
    {"Getting started": "getting-started.md"},
    {"Tutorial": "tutorial.md"},
    {"Using it": ["modes.md", "types.md", "guarantees.md", "plan.md", "output.md", "policies.md", "scheduling.md"]},
    {"Looking after it": ["orchestrators.md", "reconcile.md"]},
    {"Reference": ["reference/cli.md", "reference/config.md", "hooks.md"]},
    {"Background": ["security.md", "comparison.md", "benchmarks.md", "deviations.md"]},
]


def navigation() -> list[dict[str, Any]]:
    """Return the menu, the reasons by code at its end."""
    reasons = sorted(path.name for path in (DOCS / "reasons").glob("*.md") if path.name != "README.md")
    return [*NAV, {"Reasons": ["reasons/README.md", *(f"reasons/{name}" for name in reasons)]}]


def settings(site: Path) -> dict[str, Any]:
    """Return mkdocs' settings: nothing is loaded from elsewhere, everything that can be checked is."""
    return {
        "site_name": "Rivet",
        "docs_dir": str(DOCS),
        "site_dir": str(site),
        "use_directory_urls": False,
        "strict": True,
        "theme": {"name": "mkdocs", "highlightjs": False, "analytics": {"gtag": None}},
        "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code", "toc"],
        "exclude_docs": "*.py\n__pycache__/\n",
        "nav": navigation(),
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"},
        },
    }


def main() -> int:
    """Build, and return 1 with everything that was wrong when anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=DOCS.parent / "site", help="where the site goes")
    site = parser.parse_args().output.absolute()
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    config = MkDocsConfig(config_file_path=str(DOCS.parent / "mkdocs.yml"))
    config.load_dict(settings(site))
    errors, warnings = config.validate()
    try:
        if errors or warnings:
            raise MkDocsException("; ".join(f"{key}: {text}" for key, text in (*errors, *warnings)))
        build(config)
    except (MkDocsException, SystemExit) as error:
        print(f"docs: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(f"docs: {site}")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
