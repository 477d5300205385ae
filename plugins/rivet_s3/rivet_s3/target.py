"""From options to an open target: an s3fs filesystem with one retry layer, rivet's own."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError
from botocore.session import Session
from s3fs import S3FileSystem

from rivet_core.api import StoreCapabilities, Target
from rivet_core.errors import DestinationError
from rivet_s3.options import S3Options

CONNECT_SECONDS = 10
READ_SECONDS = 60
POOL = 32


def open_s3(options: S3Options) -> Target:
    """Open the bucket of `options`; nothing is sent yet. Raises `ConfigError` and `DestinationError` for what is missing."""
    credentials = options.credentials()
    if options.aws_profile:
        _check_profile(options.aws_profile)
    filesystem = S3FileSystem(
        **credentials,
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
    root = "/".join((options.bucket, *(part for part in options.prefix.split("/") if part)))
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=options.conditional_writes, list_after_write=True)
    return Target(filesystem=filesystem, root=root, url_prefix=f"s3://{root}", capabilities=capabilities)


def _config(options: S3Options) -> dict[str, Any]:
    style = options.addressing_style or ("path" if options.endpoint else "auto")
    config: dict[str, Any] = {
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "max_pool_connections": POOL,
        "s3": {"addressing_style": style},
    }
    if options.endpoint:
        # Many compatible stores do not know the checksum trailers that newer clients add by themselves.
        config |= {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    return config


def _check_profile(name: str) -> None:
    try:
        known = Session().available_profiles
    except BotoCoreError as error:
        raise DestinationError(f"the AWS configuration cannot be read: {error}", hint="check ~/.aws/config") from None
    if name not in known:
        raise DestinationError(
            f"there is no AWS profile {name!r}",
            hint=f"aws_profile is one of: {', '.join(sorted(known)) or 'none, ~/.aws/config has no profiles'}",
            error_class="permission",
        )
