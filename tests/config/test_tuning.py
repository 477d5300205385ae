from __future__ import annotations

from collections.abc import Callable

import pytest

from rivet_core.config import CampaignConfig
from rivet_core.facts import Tuning

Load = Callable[..., CampaignConfig]
MIB = 1 << 20


def tuning_of(load: Load, source: str, defaults: str, export: str) -> Tuning:
    head = f"source: {{type: sqlite, {source}}}\ndestination: {{type: local}}\ndefaults: {{{defaults}}}\n"
    return load(f"{head}exports: [{{name: e, table: t, {export}}}]\n").exports[0].tuning


def test_the_profiles_are_those_of_the_manual(load: Load) -> None:
    assert tuning_of(load, "", "", "") == Tuning()
    assert tuning_of(load, "", "", "tuning: {profile: safe}") == Tuning(
        profile="safe",
        page_seconds=0.25,
        pause_share=0.5,
        statement_timeout_seconds=120,
        lock_timeout_seconds=10,
        batch_bytes=16 * MIB,
    )
    assert tuning_of(load, "", "", "tuning: {profile: fast}") == Tuning(
        profile="fast", page_seconds=5, pause_share=0, statement_timeout_seconds=0, lock_timeout_seconds=0, batch_bytes=64 * MIB
    )


@pytest.mark.parametrize(
    ("source", "defaults", "export", "expected"),
    [
        ("tuning: {profile: safe}", "", "", "safe"),
        ("tuning: {profile: safe}", "tuning: {profile: fast}", "", "fast"),
        ("tuning: {profile: safe}", "tuning: {profile: fast}", "tuning: {profile: balanced}", "balanced"),
        ("environment: local", "", "", "fast"),
        ("environment: local, tuning: {profile: safe}", "", "", "safe"),
        ("environment: local", "", "tuning: {profile: safe}", "safe"),
        ("environment: replica", "", "", "balanced"),
        ("environment: production", "", "", "balanced"),
        ("tuning: {profile: safe}", "", "tuning: {profile: null}", "balanced"),
    ],
)
def test_the_nearest_profile_decides(load: Load, source: str, defaults: str, export: str, expected: str) -> None:
    assert tuning_of(load, source, defaults, export).profile == expected


def test_explicit_keys_win_over_any_profile_and_the_nearest_over_the_others(load: Load) -> None:
    found = tuning_of(
        load,
        "tuning: {statement_timeout_s: 60, lock_timeout_s: 5, batch_size: 1000, throttle_ms: 50}",
        "tuning: {lock_timeout_s: 6, max_retries: 4}",
        "tuning: {profile: fast, throttle_ms: 250, batch_size_memory_mb: 8, max_batch_memory_mb: 4, retry_backoff_ms: 500}",
    )
    assert found == Tuning(
        profile="fast",
        page_seconds=5,
        pause_share=0,
        statement_timeout_seconds=60,
        lock_timeout_seconds=6,
        batch_bytes=4 * MIB,
        batch_rows=1000,
        pause_seconds=0.25,
        max_retries=4,
        retry_backoff_seconds=0.5,
    )


def test_attempts_count_the_first_one(load: Load) -> None:
    assert tuning_of(load, "", "", "chunk_max_attempts: 3, tuning: {max_retries: 9}").max_retries == 2


def test_null_undoes_a_farther_key(load: Load) -> None:
    assert tuning_of(load, "tuning: {batch_size: 5}", "", "tuning: {batch_size: null}").batch_rows is None
