"""`rivet plan --split`: an export that alone is the lower bound is read over several connections; without it, the advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet_core.facts import Mode
from rivet_core.planning.campaign import Campaign, Judged
from rivet_core.scheduling.bound import duration_text
from rivet_core.scheduling.splitting import Split, choose_splits


def splits_of(campaign: Campaign, judged: Sequence[Judged]) -> tuple[Split, ...]:
    """Return the splits that would bring the campaign's bound down: of chunked exports, whose units are fixed in the plan."""
    units = {item.name: len(item.facts.units) for item in judged if item.facts.spec.mode is Mode.CHUNKED and _free(item)}
    return choose_splits(campaign.jobs, campaign.capacities, units)


def split_exports(judged: Sequence[Judged], splits: Sequence[Split]) -> list[Judged]:
    """Return the exports with `parallel` set, so that units, connections and time follow from the spec as for any other."""
    parts = {split.name: split.parts for split in splits}
    return [_split(item, parts[item.name]) if item.name in parts else item for item in judged]


def split_hints(splits: Sequence[Split], campaign: Campaign, judged: Sequence[Judged], *, done: bool) -> tuple[str, ...]:
    """Say what was split or could be, and what it gains; where the bound is one export that has no units, say what it needs."""
    hints = []
    for split in splits:
        gain = f"lower bound {duration_text(split.before_seconds)} to {duration_text(split.after_seconds)}"
        if done:
            hints.append(f"{split.name} is read in {split.parts} parts at once: {gain}")
        else:
            hints.append(f"{split.name} alone is the lower bound; rivet plan --split reads it in {split.parts} parts: {gain}")
    binding = campaign.bound.binding
    whole = next((item for item in judged if item.name == binding.name), None)
    if binding.kind == "longest" and not splits and whole is not None and whole.facts.spec.mode is Mode.FULL:
        advised = next((item for item in campaign.what_ifs if item.kind == "split"), None)
        if advised is not None and advised.lower_bound_seconds < 0.9 * campaign.bound.seconds:
            hints.append(
                f"{binding.name} alone is the lower bound; with mode: chunked, rivet plan --split can read it in parts "
                f"({advised.change}: {duration_text(advised.lower_bound_seconds)})"
            )
    return tuple(hints)


def _free(item: Judged) -> bool:
    """Whether parts may be read at once: a shared snapshot is one connection more, so it is left to the config."""
    return item.facts.spec.snapshot != "consistent" and item.facts.spec.parallel_safe is not False


def _split(item: Judged, parts: int) -> Judged:
    share = item.connections / parts
    found = item.prediction
    return replace(
        item,
        facts=replace(item.facts, spec=replace(item.facts.spec, parallel=parts)),
        prediction=replace(found, p10=found.p10 * share, p50=found.p50 * share, p90=found.p90 * share),
        connections=parts,
    )
