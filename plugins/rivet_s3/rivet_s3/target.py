"""From options to an open target: an s3fs filesystem with one retry layer, rivet's own."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError
from botocore.session import Session
from s3fs import S3FileSystem

from rivet_core.api import Target
from rivet_core.errors import ConfigError
from rivet_core.stores.bucket import bucket_target, check_profile
from rivet_s3.options import S3Options


def open_s3(options: S3Options) -> Target:
    """Open the bucket of `options`; nothing is sent yet. Raises `ConfigError` for a variable or profile that is missing."""
    if options.aws_profile:
        try:
            check_profile(options.aws_profile, Session().available_profiles, "~/.aws/config")
        except BotoCoreError as error:
            raise ConfigError(f"the AWS configuration cannot be read: {error}", hint="check ~/.aws/config") from None
    filesystem = S3FileSystem(
        **options.credentials(),
        anon=options.allow_anonymous,
        endpoint_url=options.endpoint,
        client_kwargs={"region_name": options.region} if options.region else {},
        config_kwargs=_config(options),
        use_listings_cache=False,
        # Instances are cached by their arguments: another export's credentials must not be found there.
        skip_instance_cache=True,
        **({"profile": options.aws_profile} if options.aws_profile else {}),
    )
    filesystem.retries = 1  # s3fs would multiply botocore's attempts, and both would multiply ours
    return bucket_target(filesystem, options, protocol="s3", conditional_put=options.conditional_writes)


def _config(options: S3Options) -> dict[str, Any]:
    config: dict[str, Any] = {
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "connect_timeout": 10,
        "read_timeout": 60,
        "max_pool_connections": 32,
        "s3": {"addressing_style": options.addressing_style or ("path" if options.endpoint else "auto")},
    }
    if options.endpoint:
        # Many compatible stores do not know the checksum trailers that newer clients add by themselves.
        config |= {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    return config
