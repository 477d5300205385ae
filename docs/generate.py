"""Write the pages that are generated from the code, or check that they still match it (`--check`, used by `make check`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent


def cli_page() -> str:
    """Return the reference of every command with its arguments and options, from the typer application."""
    from typer.main import get_command

    from rivet_core.cli.app import app

    lines = ["# Commands", "", "Generated from the code by `docs/generate.py`.", ""]
    _describe(get_command(app), "rivet", lines)
    return "\n".join(lines).rstrip() + "\n"


def _describe(command: object, path: str, lines: list[str]) -> None:
    help_text = (getattr(command, "help", "") or "").strip()
    parameters = [item for item in getattr(command, "params", []) if getattr(item, "name", "") != "help"]
    lines += [f"## `{path}`", "", *(line.strip() for line in help_text.splitlines()), ""]
    shown = [item for item in parameters if not item.name.endswith("_completion")]
    if shown:
        lines += ["| argument or option | what it does |", "| --- | --- |"]
        for item in shown:
            names = "`" + "`, `".join(item.opts) + "`" if item.param_type_name == "option" else f"`{item.name.upper()}`"
            text = (getattr(item, "help", "") or "").replace("|", "\\|")
            lines.append(f"| {names} | {text} |")
        lines.append("")
    for name, child in sorted(getattr(command, "commands", {}).items()):
        _describe(child, f"{path} {name}", lines)


def config_page() -> str:
    """Return the reference of every config key."""
    from rivet_core.config.reference import config_reference

    return config_reference()


def reasons_page() -> str:
    """Return the table of all reason codes."""
    from rivet_core.planning.pages import index_page

    return index_page()


def config_schema_page() -> str:
    """Return the JSON Schema of the config without any plugin's keys, for editors."""
    from rivet_core.config import config_schema

    return json.dumps(config_schema(), indent=1, ensure_ascii=False) + "\n"


def plan_schema_page() -> str:
    """Return the JSON Schema of the plan file."""
    from rivet_core.artifact.schema import plan_schema

    return json.dumps(plan_schema(), indent=1, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli_page,
    "reference/config.md": config_page,
    "reference/config.schema.json": config_schema_page,
    "reference/plan.schema.json": plan_schema_page,
    "reasons/README.md": reasons_page,
}


def main() -> int:
    """Write every page, or with `--check` name those that differ; return the exit code."""
    check = "--check" in sys.argv[1:]
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'differs from the code' if check else 'written'}: docs/{name}")  # noqa: T201
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
