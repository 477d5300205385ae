"""Run the conformance kit over a plugin, installed or still a directory, and say in words what is wrong.

The kit runs in a process of its own: what a plugin does there, to the interpreter or to itself, stays there.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rivet_core.errors import ConfigError, PluginError
from rivet_core.hookspecs import ENTRY_POINT_GROUP
from rivet_core.planning.finding import Finding, Severity
from rivet_core.plugins import Status, load_plugins
from rivet_core.plugins.discovery import discover

SECONDS = 600.0
"""How long one run of tests may take."""
CHECK_SECONDS = 30.0
"""How long one check of the kit may take; all of it together takes a few seconds for a plugin that keeps the rules."""
_SPEAKS = ("test_every_point_is_explained", "test_its_reasons_are_worth_nothing_and_say_something")
"""Checks that only a plugin's own cases can make meaningful: they want at least one sample that makes it speak."""
_OWN_PLACE = {
    "rivet_sources": "SourceConformance",
    "rivet_destinations": "DestinationConformance",
    "rivet_renderers": "RendererConformance",
}
"""Hooks whose kit needs a server, a store or a plan that only the plugin's tests can bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked: the entry point, its module, and the directory when it is not necessarily installed."""

    plugin: str
    module: str
    root: Path | None = None
    dist: str = ""
    version: str = "0"


def find_subjects(target: str | None) -> list[Subject]:
    """Return what `rivet plugins check [PATH|NAME]` means: a directory, one plugin by name, or every installed one but core."""
    if target is not None and (Path(target).is_dir() or os.sep in target):
        return _in_directory(Path(target))
    found = [candidate for candidate in discover() if candidate.current]
    if target is None:
        found = [candidate for candidate in found if candidate.name != "core"]
    else:
        found = [candidate for candidate in found if target in (candidate.name, candidate.dist)]
    if not found and target is not None:
        raise ConfigError(
            f"no plugin is called {target}, and there is no such directory",
            hint="rivet plugins list shows the installed ones",
            code="unknown_plugin",
        )
    return [
        Subject(plugin=candidate.name, module=candidate.entry_point.module, dist=candidate.dist, version=candidate.version)
        for candidate in found
    ]


def _in_directory(root: Path) -> list[Subject]:
    file = root / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except FileNotFoundError:
        raise ConfigError(
            f"{root} holds no pyproject.toml", hint="rivet plugins new NAME makes one", code="no_project"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", hint="it must be valid TOML", code="no_project") from None
    groups = project.get("entry-points", {})
    entries = groups.get(ENTRY_POINT_GROUP, {})
    if not entries:
        others = ", ".join(sorted(groups)) or "none"
        raise PluginError(
            f"{file} has no entry point in the group {ENTRY_POINT_GROUP} (groups: {others})",
            hint=f'add [project.entry-points."{ENTRY_POINT_GROUP}"] with one line NAME = "package"',
            code="no_entry_point",
        )
    return [
        Subject(
            plugin=name,
            module=str(value).partition(":")[0],
            root=root.absolute(),
            dist=str(project.get("name", name)),
            version=str(project.get("version", "0")),
        )
        for name, value in entries.items()
    ]


def check_plugin(subject: Subject, say: Callable[[str], None]) -> list[Finding]:
    """Return one finding per check that failed, one for those that hold, and what could not be checked here.

    `say` hears what runs now. Raises `PluginError` when pytest, which the kit needs, is not installed.
    """
    if importlib.util.find_spec("pytest") is None:
        raise PluginError("the conformance kit needs pytest", hint="pip install 'rivet-core[testing]'", code="no_pytest")
    with tempfile.TemporaryDirectory(prefix="rivet-check-") as folder:
        place = Path(folder)
        paths = [folder]
        if subject.root is not None:
            _pretend_installed(subject, place)
            paths += [str(subject.root / "src"), str(subject.root)]
        kit = place / "test_kit.py"
        kit.write_text(Path(__file__).with_name("plugin_kit.txt").read_text(encoding="utf-8"), encoding="utf-8")
        say(f"plugin {subject.plugin}: the kit, at most {CHECK_SECONDS:g} s a check")
        findings = list(_run(subject, kit, place, paths, what="the kit", options=("-p", "rivet_core.testing.patience")))
        tests = subject.root / "tests" if subject.root is not None else None
        if tests is not None and tests.is_dir():
            say(f"plugin {subject.plugin}: its own tests, at most {SECONDS:g} s")
            findings += _run(subject, tests, place, paths, what="its own tests")
        elif tests is not None:
            findings.append(_info(subject, "it has no tests", "rivet plugins new shows what they look like"))
    if subject.root is None:
        findings += _unchecked(subject)
    return findings


def _pretend_installed(subject: Subject, place: Path) -> None:
    """Metadata as an installer would leave it, for this run only."""
    info = place / f"{subject.dist.replace('-', '_')}-{subject.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {subject.dist}\nVersion: {subject.version}\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{subject.plugin} = {subject.module}\n")


def _run(
    subject: Subject, tests: Path, place: Path, paths: list[str], *, what: str, options: tuple[str, ...] = ()
) -> Iterator[Finding]:
    report = place / f"{tests.name}.xml"
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--import-mode=importlib", "-o", "addopts="]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "RIVET_CHECK_SECONDS": f"{CHECK_SECONDS:g}",
        "RIVET_CHECKED_PLUGIN": subject.plugin,
        "RIVET_CHECKED_MODULE": subject.module,
    }
    try:
        done = subprocess.run(
            [*command, *options, f"--rootdir={tests.parent}", f"--junitxml={report}", str(tests)],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as stopped:
        # Its name is printed before a test runs, the rest of that line after it.
        printed: bytes = stopped.output or b""
        last = printed.decode(errors="replace").rpartition("\n")[2].strip()
        during = f", during {last}" if "::" in last else ""
        yield _wrong(
            subject, f"{what} did not end within {SECONDS:g} s{during}", "look for an endless loop or a server that hangs"
        )
        return
    if not report.exists():
        yield _wrong(subject, f"{what} could not start", (done.stderr or done.stdout).strip().splitlines()[-1:])
        return
    yield from _read(subject, report, what)


def _read(subject: Subject, report: Path, what: str) -> Iterator[Finding]:
    held = 0
    # Written by the pytest that ran just now.
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - see above
        trouble = next((child for child in case if child.tag in ("failure", "error")), None)
        name = case.get("name", "")
        if trouble is None:
            held += 1
        elif any(name.startswith(check) for check in _SPEAKS) and "speak" in (trouble.get("message") or ""):
            yield _info(subject, "no sample of the kit makes it speak", "its own tests must: give the kit `cases` or facts")
        else:
            yield _wrong(subject, f"{_words(name)}: {_first_line(trouble)}", f"{what}, {case.get('classname', '')}.{name}")
    if held:
        message = f"{held} {'check' if held == 1 else 'checks'} of {what} hold"
        yield Finding(severity=Severity.OK, subject=f"plugin {subject.plugin}", message=message)
    else:
        yield _wrong(subject, f"{what} proved nothing", "no check passed")


def _words(name: str) -> str:
    """Return a check's name as the sentence it is: `test_it_is_pure` -> `it is pure`."""
    return name.partition("[")[0].removeprefix("test_").replace("_", " ")


def _first_line(trouble: ET.Element) -> str:
    text = (trouble.get("message") or trouble.text or "it failed").strip()
    lines = text.removeprefix("AssertionError: ").removeprefix("Failed: ").splitlines()
    # Of a trace that a check quotes, the line that says what was raised.
    return next((line for line in lines if line and not line.startswith((" ", "Traceback"))), lines[0])


def _unchecked(subject: Subject) -> Iterator[Finding]:
    plugin = next((item for item in load_plugins(environ={}).plugins if item.name == subject.plugin), None)
    if plugin is None or plugin.status is not Status.OK:
        return
    for hook, kit in _OWN_PLACE.items():
        for record in plugin.hooks.get(hook, ()):
            yield _info(
                subject,
                f"{record.name} ({hook}) needs a place of its own to be tried in",
                f"its tests subclass rivet_core.testing.{kit}; rivet plugins check PATH runs them",
            )


def _info(subject: Subject, message: str, hint: str) -> Finding:
    return Finding(severity=Severity.INFO, subject=f"plugin {subject.plugin}", message=message, hint=hint)


def _wrong(subject: Subject, message: str, evidence: str | list[str]) -> Finding:
    shown = evidence if isinstance(evidence, str) else " ".join(evidence)
    return Finding(severity=Severity.ERROR, subject=f"plugin {subject.plugin}", message=message, evidence=shown)
