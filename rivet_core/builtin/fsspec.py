"""The `fsspec` destination: any URL that fsspec or a package registered with it can open, with weaker guarantees.

Core knows nothing of the store behind it, so it declares the least: no conditional put. Two writers that share no state
database are kept apart by a lock object, which narrows the race and cannot close it.
"""

from __future__ import annotations

import re
from typing import Any

from fsspec.core import url_to_fs
from pydantic import Field, SecretStr, field_validator

from rivet_core.api import StoreCapabilities, Target
from rivet_core.errors import ConfigError, DestinationError
from rivet_core.options import PluginOptions
from rivet_core.stores.bucket import refuse_upward

_URL = r"^[A-Za-z][A-Za-z0-9+.-]*(::[^/]+)*://"


class FsspecOptions(PluginOptions):
    """`url` is the root, `path` what lies below it and may hold tokens, `storage` what the filesystem's package is given."""

    url: str = Field(description="root, such as `gs://bucket` or `sftp://host/dir`", json_schema_extra={"pattern": _URL})
    path: str = Field("", description="directory below the root; may hold tokens")
    # What a filesystem calls its secrets is its own affair, so every text counts as one: none enters a plan.
    storage: dict[str, SecretStr | bool | int | float | list[Any] | dict[str, Any] | None] = Field(
        default_factory=dict, description="options of the filesystem, secrets as references"
    )

    @field_validator("url")
    @classmethod
    def _has_protocol(cls, url: str) -> str:
        if not re.match(_URL, url):
            raise ValueError("must begin with a protocol, such as gs://bucket or sftp://host/dir")
        return url

    @field_validator("path")
    @classmethod
    def _below(cls, path: str) -> str:
        return refuse_upward(path)

    def given(self) -> dict[str, Any]:
        """Return `storage` as the filesystem takes it."""
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in self.storage.items()
        }


def open_fsspec(options: FsspecOptions) -> Target:
    """Open the URL. Raises `ConfigError` for one that nothing installed can open, or that has a destination type of its own."""
    protocol = options.url.partition("://")[0]
    if protocol in ("file", "local"):
        raise ConfigError("local paths have a destination type of their own", hint="write {type: local, path: ...}")
    try:
        fresh = {"use_listings_cache": False, "skip_instance_cache": protocol != "memory"}
        filesystem, root = url_to_fs(options.url, **{**fresh, **options.given()})
    except (ImportError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith("Protocol not known"):
            raise _refused(protocol, error) from None
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(
            f"nothing that is installed opens {protocol}:// ({reason})",
            hint="install the fsspec package of this protocol, such as gcsfs, adlfs or paramiko",
            code="fsspec_protocol",
        ) from None
    except Exception as error:  # noqa: BLE001 - packages raise what they like; the text may hold a secret
        raise _refused(protocol, error) from None
    below = "" if options.path in ("", ".") else options.path.strip("/")
    root = "/".join(part for part in (root.rstrip("/"), below) if part) or "/"
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    return Target(
        filesystem=filesystem, root=root, url_prefix=str(filesystem.unstrip_protocol(root)), capabilities=capabilities
    )


def _refused(protocol: str, error: Exception) -> DestinationError:
    return DestinationError(
        f"cannot open {protocol}://: {type(error).__name__}",
        hint="check host and credentials in the destination's `url` and `storage`",
        error_class="connection",
    )
