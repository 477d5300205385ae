"""What the caller of `build_plan` may choose besides the config."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Choices of one `rivet plan`. `None` means: as the config says.

    `exports` limits the campaign to these names. `waves` is the asked number of waves, `auto_waves` asks for as many as cost
    nothing. `as_of` is the clock that all ages are computed against. `config_order` builds the campaign that `apply CONFIG`
    runs: hand-set waves as they stand, none set means one wave in config order. `pool` leaves the barriers out. `split` makes
    several entries of the schedule of an export that alone is the lower bound. `refresh` asks the sources whatever the state
    keeps of their catalogs, as everything does that runs at once.
    """

    exports: tuple[str, ...] = ()
    workers: int | None = None
    waves: int | None = None
    auto_waves: bool = False
    policy: str | None = None
    as_of: datetime | None = None
    config_order: bool = False
    pool: bool = False
    split: bool = False
    refresh: bool = True
