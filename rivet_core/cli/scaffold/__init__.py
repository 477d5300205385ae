"""What `rivet plugins new` writes: a package with one hook, its docs, and tests that are green from the start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from rivet_core.api import API_VERSION
from rivet_core.errors import ConfigError

TEMPLATES = Path(__file__).parent

SUMMARIES = {
    "rule": "Adds points to tables by their name",
    "classifier": "Knows columns that a loader numbers",
    "emitter": "Names the exports that take long",
    "policy": "Starts the shortest export first",
    "renderer": "Prints a plan as a Markdown list",
    "destination": "Writes below a directory",
    "source": "Reads a table that lives in memory",
}
"""Kind -> what the scaffold does before anybody changes it."""

USES = {
    "rule": "It is active as soon as it is installed: `rivet plan`, then `rivet explain EXPORT`. Its options stand in the\n"
    "config: `plugins: {options: {$plugin: {prefix: $prefix, points: 5}}}`.",
    "classifier": "It is active as soon as it is installed: `rivet check` shows its verdicts.",
    "emitter": "It is active as soon as it is installed: `rivet plan` shows its reasons.",
    "policy": "Use it by name: `rivet simulate --policy $plugin`, `rivet apply --policy $plugin`.",
    "renderer": "Use it by name: `rivet plan --format $plugin`.",
    "destination": "Use it by name: `destination: {type: $plugin, path: ./out}`.",
    "source": "Use it by name: `source: {type: $plugin}`, with an export of `table: numbers`.",
}
KINDS = tuple(SUMMARIES)
WITH_CASES = ("rule", "classifier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names one plugin needs: entry point, distribution, package, vendor of its reason codes, module of the work."""

    plugin: str
    dist: str
    package: str
    vendor: str
    module: str


def names_of(name: str, kind: str) -> Names:
    """Return the names for `rivet plugins new NAME`. Raises `ConfigError` for a name that no package can have."""
    plugin = name.lower().removeprefix("rivet-").removeprefix("rivet_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", plugin) or len(plugin) > 50:
        raise ConfigError(
            f"{name} cannot be the name of a plugin",
            hint="letters and digits with dashes between them, such as acme-audit",
            code="usage",
        )
    package = f"rivet_{plugin.replace('-', '_')}"
    module = {"source": "session", "destination": "target"}.get(kind, kind)
    return Names(
        plugin=plugin,
        dist=f"rivet-{plugin.replace('_', '-')}",
        package=package,
        vendor=re.sub(r"[^a-z0-9]", "", plugin),
        module=module,
    )


def scaffold(name: str, kind: str, folder: Path | None = None) -> list[Path]:
    """Write the package and return its files. Raises `ConfigError` when something is in the way."""
    if kind not in KINDS:
        raise ConfigError(f"there is no kind {kind}", hint=f"the kinds are {', '.join(KINDS)}", code="usage")
    names = names_of(name, kind)
    root = folder if folder is not None else Path(names.dist)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise ConfigError(f"{root} is already there and not empty", hint="choose another place with -o", code="exists")
    values = {
        "plugin": names.plugin,
        "dist": names.dist,
        "package": names.package,
        "vendor": names.vendor,
        "module": names.module,
        "kind": kind,
        "api": str(API_VERSION),
        "prefix": f"{re.split('[-_]', names.plugin)[-1]}_",
        "summary": SUMMARIES[kind],
    }
    values["use"] = Template(USES[kind]).substitute(values)
    files = {
        "pyproject.toml": "pyproject",
        "README.md": "readme",
        f"{names.package}/__init__.py": f"{kind}_hooks",
        f"{names.package}/{names.module}.py": f"{kind}_module",
        "tests/test_plugin.py": "plugin_tests",
        f"tests/test_{names.module}.py": f"{kind}_tests",
    }
    if kind in WITH_CASES:
        files["tests/cases.yaml"] = f"{kind}_cases"
    texts = {path: _filled(template, values) for path, template in files.items()} | {f"{names.package}/py.typed": ""}
    try:
        for path, text in texts.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {root}: {error.strerror}", hint="choose another place with -o") from None
    return [root / path for path in sorted(texts)]


def _filled(template: str, values: dict[str, str]) -> str:
    return Template((TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(values)
