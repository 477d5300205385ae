"""Checks of a plugin as a whole: it is admitted, costs nothing to list, and leans on public modules only."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from rivet_core.plugins import Registry, Status
from rivet_core.testing.conformance.base import Conformance

HEAVY = ("pyarrow", "sqlalchemy", "pydantic", "fsspec", "pandas", "numpy", "duckdb", "connectorx", "psycopg", "pymysql", "s3fs")
"""What a plugin must not import before it is used: `rivet --help` and `rivet plugins list` load every plugin."""

IMPORT_SECONDS = 10.0
"""How long core waits for a plugin to load."""

PUBLIC = ("api", "facts", "errors", "options", "sql", "stores", "testing")
"""The modules of rivet_core that plugins may import; all others may change at any time."""


class PluginConformance(Conformance):
    """Set `plugin` to the name of the entry point and `module` to what it names."""

    CHECKS: ClassVar[int] = 5
    plugin: ClassVar[str] = ""
    module: ClassVar[str] = ""

    def test_it_is_admitted(self, registry: Registry) -> None:
        """Core takes it: every hook is known, takes no arguments and returns the right records, no name is taken twice."""
        found = [plugin for plugin in registry.plugins if plugin.name == self.plugin]
        assert found, f"no installed distribution has an entry point {self.plugin!r} in the group of plugins"
        assert found[0].status is Status.OK, f"{found[0].status}: {found[0].detail}"
        assert any(found[0].hooks.values()), "none of its hooks returns a record"

    def test_its_import_is_light(self) -> None:
        """A fresh interpreter that loads it imports none of the heavy modules."""
        # It may print what it likes: the answer is the last line.
        code = f"import {self.module}, sys, json; print(); print(json.dumps(sorted(sys.modules)))"
        try:
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=IMPORT_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise AssertionError(f"importing {self.module} took more than {IMPORT_SECONDS:g} s") from None
        words = done.stderr.strip().splitlines()[-1:] or [f"it ended the process with exit code {done.returncode}"]
        assert not done.returncode, f"{self.module} cannot be imported: {words[0]}"
        loaded = set(json.loads(done.stdout.splitlines()[-1])) & set(HEAVY)
        assert not loaded, f"importing {self.module} imports {', '.join(sorted(loaded))}: make it a lazy reference"

    def test_its_references_resolve(self, registry: Registry) -> None:
        """Whatever a record names lazily is there, and is what it is named for: an options model, or what can be called."""
        from rivet_core.options import PluginOptions
        from rivet_core.testing.conformance.references import references

        for plugin in registry.plugins:
            for records in plugin.hooks.values() if plugin.name == self.plugin else ():
                for record in records:
                    for reference in references(record):
                        found = registry.resolve(reference)
                        assert callable(found), f"{record.name}: {reference} is a {type(found).__name__}, not a function"
                    options = getattr(record, "options", None)
                    model = PluginOptions if options is None else registry.resolve(options)
                    forbids = getattr(model, "model_config", {}).get("extra") == "forbid"
                    assert forbids, f"{record.name}: its options {options} are no subclass of rivet_core.options.PluginOptions"

    def test_it_imports_public_modules_only(self) -> None:
        """Of rivet_core it uses what is promised to stay; what is part of rivet_core changes with it."""
        if self.module.partition(".")[0] == "rivet_core":
            return
        wrong = [f"{path.name}: {name}" for path in self._files() for name in _imports(path) if not _is_public(name)]
        assert not wrong, f"not public: {', '.join(wrong)}; public are {', '.join('rivet_core.' + name for name in PUBLIC)}"

    def _files(self) -> list[Path]:
        spec = importlib.util.find_spec(self.module)
        assert spec is not None, f"{self.module} is not importable"
        assert spec.origin is not None
        origin = Path(spec.origin)
        return sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]


def _imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found += [f"{node.module}.{alias.name}" if node.module == "rivet_core" else node.module for alias in node.names]
    return [name for name in dict.fromkeys(found) if name.partition(".")[0] == "rivet_core"]


def _is_public(name: str) -> bool:
    parts = name.split(".")
    return len(parts) == 1 or parts[1] in (*PUBLIC, "__version__")
