"""The keys under a destination of type `s3`: the Rust tool's, and what it lacks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rivet_core.stores.bucket import BucketOptions, Endpoint


class S3Options(BucketOptions):
    """Where to write, and as whom: two keys (by reference), a profile, nobody, or what the AWS chain of the machine finds."""

    identities = ("aws_profile", "allow_anonymous")

    region: str | None = None
    endpoint: Endpoint | None = Field(default=None, description="of a compatible store")
    aws_profile: str | None = None
    allow_anonymous: bool = False
    addressing_style: Literal["auto", "path", "virtual"] | None = Field(None, description="default: path with an endpoint")
    conditional_writes: bool = Field(
        True, description="the store honours If-None-Match and If-Match; else a lock object is used"
    )
