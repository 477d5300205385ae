"""`rivet plan --split`: an export that alone is the lower bound becomes several schedule entries; without it, the advice."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import Mode
from rivet_core.planning.campaign import Campaign
from rivet_core.planning.judged import Judged
from rivet_core.scheduling.bound import duration_text
from rivet_core.scheduling.shares import SplitIn
from rivet_core.scheduling.splitting import Split, choose_splits


def splits_of(campaign: Campaign, judged: Sequence[Judged]) -> tuple[Split, ...]:
    """Return the splits that would bring the campaign's bound down: of chunked exports, whose units are fixed in the plan.

    What starts last, alone on its group, is left whole.
    """
    units = {item.name: len(item.facts.units) for item in judged if item.name not in campaign.suspects and _free(item)}
    return choose_splits(campaign.jobs, campaign.capacities, units)


def shares_of(splits: Sequence[Split], judged: Sequence[Judged]) -> dict[str, SplitIn]:
    """Return how the exports are split, as `assemble` takes it."""
    units = {item.name: len(item.facts.units) for item in judged}
    return {split.name: SplitIn(units=units[split.name], shares=split.shares) for split in splits}


def split_hints(splits: Sequence[Split], campaign: Campaign, judged: Sequence[Judged], *, done: bool) -> tuple[str, ...]:
    """Say what was split or could be, and what it gains; where the bound is one export that has no units, say what it needs."""
    hints = []
    binding = campaign.bound.binding
    for split in splits:
        gain = f"lower bound {duration_text(split.before_seconds)} to {duration_text(split.after_seconds)}"
        if done:
            hints.append(f"the units of {split.name} are {split.shares} entries of the schedule: {gain}")
        else:
            what = "the longest of the chain that is the lower bound" if binding.kind == "chain" else "alone the lower bound"
            hints.append(f"{split.name} is {what}; rivet plan --split makes {split.shares} entries of its units: {gain}")
    whole = next((item for item in judged if item.name == binding.name), None)
    if binding.kind == "longest" and not splits and whole is not None and whole.facts.spec.mode is Mode.FULL:
        advised = next((item for item in campaign.what_ifs if item.kind == "split"), None)
        if advised is not None and advised.lower_bound_seconds < 0.9 * campaign.bound.seconds:
            hints.append(
                f"{binding.name} is alone the lower bound; with mode: chunked, rivet plan --split makes entries of its units "
                f"({advised.change}: {duration_text(advised.lower_bound_seconds)})"
            )
    return tuple(hints)


def _free(item: Judged) -> bool:
    """Whether its units may be read by several: a shared snapshot is one connection more, so it is left to the config."""
    spec = item.facts.spec
    return spec.mode is Mode.CHUNKED and spec.snapshot != "consistent" and spec.parallel_safe is not False
