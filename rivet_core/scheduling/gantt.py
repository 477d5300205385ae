"""A schedule as plain text: one line per source group and lane, so that idle capacity is visible at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rivet_core.facts import Job
from rivet_core.scheduling.bound import duration_text
from rivet_core.scheduling.simulate import Scheduled, SimulationResult

MIN_WIDTH = 40
MAX_LABEL = 24


def draw_gantt(result: SimulationResult, jobs: Sequence[Job], *, width: int = 100, max_lines: int = 40) -> str:
    """Return the schedule drawn `width` characters wide: a bar per export with its name where it fits, a line per lane.

    Lanes belong to a group; an export takes the first lane that is free when it starts. Heavy exports are drawn with `#`,
    others with `=`. Lanes beyond `max_lines` are counted, not drawn.
    """
    if not result.schedule or result.makespan_seconds <= 0:
        return "nothing to run"
    by_name = {job.name: job for job in jobs}
    lanes = _lanes(result.schedule, by_name)
    labels = [_cut(f"{group} {lane}", MAX_LABEL) for group, lane in lanes]
    margin = max(map(len, labels)) + 1
    room = max(MIN_WIDTH, width) - margin - 2
    scale = room / result.makespan_seconds
    lines = [
        f"{label:<{margin}}|{_line(runs, by_name, room, scale)}|"
        for label, runs in list(zip(labels, lanes.values(), strict=True))[:max_lines]
    ]
    if len(lanes) > max_lines:
        lines.append(f"{'':<{margin}} and {len(lanes) - max_lines} more lanes")
    end = duration_text(result.makespan_seconds)
    lines.append(f"{'':<{margin}} 0{end:>{max(0, room - 1)}}")
    return "\n".join(lines)


def _lanes(schedule: Sequence[Scheduled], by_name: Mapping[str, Job]) -> dict[tuple[str, int], list[Scheduled]]:
    """Return the exports of each (group, lane), lanes numbered from 1, groups in order of name."""
    groups: dict[str, list[list[Scheduled]]] = {}
    for run in sorted(schedule, key=lambda run: (run.start, run.order)):
        lanes = groups.setdefault(by_name[run.name].group, [])
        lane = next((lane for lane in lanes if lane[-1].end <= run.start), None)
        if lane is None:
            lanes.append([run])
        else:
            lane.append(run)
    return {(group, number): lane for group in sorted(groups) for number, lane in enumerate(groups[group], start=1)}


def _line(runs: Sequence[Scheduled], by_name: Mapping[str, Job], room: int, scale: float) -> str:
    cells = [" "] * room
    for run in runs:
        first = min(room - 1, int(run.start * scale))
        last = min(room, max(first + 1, int(run.end * scale)))
        size = last - first
        mark = "#" if by_name[run.name].heavy else "="
        bar = mark * size
        if size >= 4:
            text = _cut(run.name, size - 2)
            bar = mark + text + mark * (size - 1 - len(text))
        cells[first:last] = bar
    return "".join(cells)


def _cut(text: str, size: int) -> str:
    """Return `text` in at most `size` characters, printable ASCII only so that the columns stay straight."""
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in text)
    return plain if len(plain) <= size else plain[: max(0, size - 1)] + "~"
