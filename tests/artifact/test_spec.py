"""A spec survives the plan file: what is stored is what runs."""

from __future__ import annotations

import json

from rivet_core.artifact.spec import spec_from_json, spec_to_json
from rivet_core.facts import DestinationRef, ExportSpec, Mode, NullCursor, Tier, Tuning, ValueSpec


def test_every_key_survives_the_round_trip() -> None:
    spec = ExportSpec(
        name="orders",
        source="shop",
        source_group="replica",
        mode=Mode.INCREMENTAL,
        table="public.orders",
        columns=("id", "Ünïcode"),
        overrides={"id": "text"},
        cursor_column="updated_at",
        cursor_fallback_column="created_at",
        null_cursor=NullCursor.SKIP,
        destination=DestinationRef(type="s3", options={"bucket": "b", "tls": {"mode": "require"}}),
        value=ValueSpec(tier=Tier.HIGH, freshness_seconds=3600.0, deadline="06:00+02:00", consumers=("a", "b")),
        tuning=Tuning(profile="safe", batch_bytes=1),
        depends_on=("customers",),
        partition_by=("country",),
        meta_columns={"loaded_at": True},
        wave=3,
        parallel_safe=False,
    )
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec


def test_what_the_plan_adds_is_left_out() -> None:
    data = spec_to_json(ExportSpec(name="a", source="s", table="t"))
    assert spec_from_json({**data, "observed_columns": []}).name == "a"
