"""What a campaign opens, once: each source, each destination, all tried before the first export starts (M01)."""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rivet_core.api import SourceSession
from rivet_core.artifact import Plan
from rivet_core.errors import RivetError
from rivet_core.facts import InspectItem, Json
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins import Registry, plugin_fault, quietly
from rivet_core.running.budget import ConnectionBudget, Reservation
from rivet_core.running.credentials import with_secrets
from rivet_core.running.gates import check_keys, check_source, observed
from rivet_core.running.pressure import Pressure
from rivet_core.running.stop import Stop
from rivet_core.running.task import ExportTask
from rivet_core.running.together import together
from rivet_core.running.watchdog import Acts
from rivet_core.stores import Store, open_store

PROBE_WAIT_SECONDS = 0.2

Cause = tuple[str, str]
"""What several exports share and may fail by together: `("source", name)` or `("destination", its options)`."""


class Connections:
    """The open sources and destinations of one campaign. Sessions are shared by all workers."""

    def __init__(
        self,
        plan: Plan,
        registry: Registry,
        budget: ConnectionBudget,
        stop: Stop,
        acts: Acts,
        pressure: Pressure,
        *,
        base: Path,
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._budget = budget
        self._stop = stop
        self._acts = acts
        self._pressure = pressure
        self._base = base
        self._sessions: dict[str, SourceSession] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, str] = {}
        self._stores: dict[str, Store] = {}
        self._lock = threading.Lock()

    def open(self, tasks: Sequence[ExportTask]) -> dict[Cause, RivetError]:
        """Open and try what the tasks need, at once but for sources that share a group; return what failed, by cause."""
        groups: dict[str, dict[str, list[ExportTask]]] = {}
        home: dict[str, str] = {}  # A source whose exports are of several groups is opened once, in the first of them.
        for task in tasks:
            group = home.setdefault(task.source, task.group)
            groups.setdefault(group, {}).setdefault(task.source, []).append(task)
        calls: dict[Cause, Callable[[], dict[Cause, RivetError]]] = {
            ("group", name): partial(self._try_sources, sources) for name, sources in groups.items()
        }
        for task in tasks:
            calls.setdefault(("destination", destination_key(task)), partial(self._try_destination, task))
        return {cause: error for failed in together(calls).values() for cause, error in failed.items()}

    def _try_sources(self, sources: Mapping[str, Sequence[ExportTask]]) -> dict[Cause, RivetError]:
        failed: dict[Cause, RivetError] = {}
        for name, members in sources.items():
            fault = partial(plugin_fault, self._plan.sources[name].type)
            with self._acts.doing(f"source {name}", "is being opened"):
                error = _caught(partial(self._open_source, name, members), fault)
            if error is not None:
                failed["source", name] = error
        return failed

    def _try_destination(self, task: ExportTask) -> dict[Cause, RivetError]:
        kind, key = task.spec.destination.type, destination_key(task)
        with self._acts.doing(f"destination {kind}", "is being opened"):
            error = _caught(partial(self._open_destination, key, task), partial(plugin_fault, kind, destination=True))
        return {} if error is None else {("destination", key): error}

    def drifted(self, tasks: Iterable[ExportTask]) -> dict[str, RivetError]:
        """Look each source's planned tables up once and return the exports whose columns changed since the plan (PA6)."""
        groups: dict[str, dict[str, list[ExportTask]]] = {}
        for task in tasks:
            if task.source in self._sessions and observed(task) and task.spec.table:
                groups.setdefault(task.group, {}).setdefault(task.source, []).append(task)
        calls = {name: partial(self._drifted_of, sources) for name, sources in groups.items()}
        return {name: error for failed in together(calls).values() for name, error in failed.items()}

    def _drifted_of(self, sources: Mapping[str, Sequence[ExportTask]]) -> dict[str, RivetError]:
        found = [self._look(source, members) for source, members in sources.items()]
        return {name: error for failed in found for name, error in failed.items()}

    def _look(self, source: str, members: Sequence[ExportTask]) -> dict[str, RivetError]:
        items = {task.spec.table: InspectItem(name=task.spec.table or "", table=task.spec.table) for task in members}
        try:
            with self._probing(source, members) as may:
                if not may:
                    return {}
                catalog = self._sessions[source].inspect(tuple(items.values()))
        except RivetError:
            return {}  # What can be read decides, not what can be looked up.
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            # A plugin's bug marks that plugin's exports, and ends no campaign.
            found = plugin_fault(self._plan.sources[source].type, error)
            return {task.name: found for task in members}
        failed: dict[str, RivetError] = {}
        for task in members:
            facts = catalog.tables.get(task.spec.table or "")
            columns = [(column.name, column.source_type) for column in facts.columns] if facts else []
            try:
                check_source(task, columns)
                if facts:
                    check_keys(task, facts)
            except RivetError as error:
                failed[task.name] = error
        return failed

    def session(self, task: ExportTask) -> SourceSession:
        """Return the open source of an export."""
        return self._sessions[task.source]

    def place(self, task: ExportTask) -> str:
        """Return which database the source of an export is, as far as its config says; empty when nobody could look."""
        return self._places.get(task.source, "")

    def store(self, task: ExportTask) -> Store:
        """Return the open destination of an export."""
        return self._stores[destination_key(task)]

    def cancel(self) -> None:
        """Cancel every running statement at its server."""
        for session in list(self._sessions.values()):
            quietly(session.cancel)

    def close(self) -> None:
        """Close every source."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            quietly(session.close)

    def _open_source(self, name: str, tasks: Sequence[ExportTask]) -> None:
        planned = self._plan.sources[name]
        options: Mapping[str, Json] = with_secrets(planned.options, self._plan.config)
        session = self._registry.open_source(planned.type, options, base=self._base)
        self._sessions[name] = session
        self._groups[name] = tuple(dict.fromkeys(task.group for task in tasks))
        self._budget.join(name, session)
        with self._probing(name, tasks) as may:
            facts = session.probe() if may else None
        self._places[name] = f"{facts.engine} {facts.address} {facts.database}" if facts is not None else ""
        self._pressure.join(name, self._groups[name], session, facts)

    @contextlib.contextmanager
    def lend(self, source: str) -> Iterator[bool]:
        """Hold one connection of a group that reads from the source, if one is free now; yields whether."""
        name = f"probe:{source}:{uuid.uuid4().hex}"
        tried = (self._budget.reserve(name, group, source, 1) for group in self._groups[source])
        found = next((one for one in tried if isinstance(one, Reservation)), None)
        try:
            yield found is not None
        finally:
            if found is not None:
                self._budget.give_back(found)

    @contextlib.contextmanager
    def _probing(self, source: str, tasks: Sequence[ExportTask]) -> Iterator[bool]:
        """Hold one connection of the source's group. Yields false when other runs have all of them and all of the exports:
        the source is then alive, and nothing of it will be read here.
        """
        found = self._first_connection(source, tasks)
        if found is None:
            yield False
            return
        try:
            yield True
        finally:
            self._budget.give_back(found)

    def _first_connection(self, source: str, tasks: Sequence[ExportTask]) -> Reservation | None:
        name = f"probe:{source}:{uuid.uuid4().hex}"
        with self._acts.doing(f"source {source}", "asks for a connection") as act:
            while True:
                found = self._budget.reserve(name, tasks[0].group, source, 1)
                if isinstance(found, Reservation):
                    return found
                if self._budget.all_held(task.name for task in tasks):
                    return None
                act.now(f"waits for {found.name}, held by {found.holder}")
                self._stop.event.wait(PROBE_WAIT_SECONDS)
                self._stop.check()

    def _open_destination(self, key: str, task: ExportTask) -> None:
        options = with_secrets(task.options, self._plan.config)
        store = open_store(self._registry.open_destination(task.spec.destination.type, options, base=self._base))
        store.check()
        self._stores[key] = store


def destination_key(task: ExportTask) -> str:
    """Return what is equal for exports that share a destination."""
    return json.dumps([task.spec.destination.type, dict(task.options)], sort_keys=True, ensure_ascii=False)


def _caught(action: Callable[[], None], fault: Callable[[BaseException], RivetError]) -> RivetError | None:
    try:
        action()
    except RivetError as error:
        return error
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        # A plugin's bug is that plugin's cause, not the end of the campaign.
        return fault(error)
    return None
