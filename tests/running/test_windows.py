"""M12: more work than the window holds, window after window; with rank order nobody is always last."""

from __future__ import annotations

import os
import signal

from rivet_core.running.apply import ApplyOptions, apply_plan
from rivet_core.running.outcome import DONE

EXPORTS, WINDOW, WINDOWS = 10, 6, 5


def test_m12_ten_exports_in_windows_of_six(shop):
    shop.config(
        *({"name": f"e{number}", "table": "customers"} for number in range(EXPORTS)),
        planning={"workers": 1, "policy": "priority"},
    )
    times = dict.fromkeys((f"e{number}" for number in range(EXPORTS)), 0)
    left_over: list[str] = []
    for _ in range(WINDOWS):
        done = []

        def sink(event, done=done):
            if event.kind == "export_finished":
                done.append(event.export)
                if len(done) == WINDOW:
                    os.kill(os.getpid(), signal.SIGINT)

        plan = shop.plan()
        assert list(plan.campaign.ordered_exports[: len(left_over)]) == left_over, "the plan lists the stalest first"
        outcome = apply_plan(plan, shop.registry, ApplyOptions(), sink)
        for export in outcome.exports:
            times[export.name] += export.status == DONE
        left_over = [name for name in plan.campaign.ordered_exports if name not in done]
        assert WINDOW <= len(done) <= WINDOW + 1  # one may just have begun
    assert set(times.values()) <= {3, 4}, times
