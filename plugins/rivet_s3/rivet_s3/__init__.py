"""S3 and compatible stores as a destination. This module holds the hook only; everything else is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import DestinationSpec, hookimpl


@hookimpl
def rivet_destinations() -> Sequence[DestinationSpec]:
    """Offer the destination type `s3`."""
    return (
        DestinationSpec(
            name="s3",
            summary="Amazon S3, and stores that speak its protocol (MinIO, R2, Ceph, SeaweedFS)",
            options="rivet_s3.options:S3Options",
            open="rivet_s3.target:open_s3",
        ),
    )
