"""What destinations over a bucket have in common: where in it exports go, who writes, and what stands for both once it is open.

For destination plugins: derive the options model from `BucketOptions` and return `bucket_target(...)` from `open`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr, ValidationInfo, field_validator, model_validator

from rivet_core.api import StoreCapabilities, Target
from rivet_core.errors import ConfigError
from rivet_core.options import PluginOptions

_ENDPOINT = r"^https?://[^/@]+/?$"


def _host_alone(endpoint: str) -> str:
    if not re.match(_ENDPOINT, endpoint):
        raise ValueError("must be http:// or https://, a host and a port, without a path and without credentials")
    return endpoint


Endpoint: TypeAlias = Annotated[str, AfterValidator(_host_alone), Field(json_schema_extra={"pattern": _ENDPOINT})]
"""The address of a store that speaks another's protocol."""


class BucketOptions(PluginOptions):
    """A place in a bucket, and two keys by reference: the names of environment variables, or values that hold a reference.

    `identities` names the keys of a subclass that say in another way who writes; only one way may be used.
    """

    identities: ClassVar[tuple[str, ...]] = ()

    bucket: str = Field(json_schema_extra={"minLength": 1, "pattern": "^[^/]+$"})
    prefix: str = ""
    access_key_env: str | None = None
    secret_key_env: str | None = None
    session_token_env: str | None = None
    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None

    _environ: Mapping[str, str] | None = PrivateAttr(default=None)

    @field_validator("bucket")
    @classmethod
    def _name_alone(cls, bucket: str) -> str:
        if not bucket or "/" in bucket:
            raise ValueError("must be the name of the bucket alone; what comes before and after it is not part of it")
        return bucket

    @field_validator("prefix")
    @classmethod
    def _below(cls, prefix: str) -> str:
        return refuse_upward(prefix)

    @model_validator(mode="after")
    def _one_identity(self, info: ValidationInfo) -> Self:
        self._environ = (info.context or {}).get("environ")
        access = self._set("access_key_env", "access_key_id")
        secret = self._set("secret_key_env", "secret_access_key")
        token = self._set("session_token_env", "session_token")
        for several in (access, secret, token):
            _refuse_several(several)
        if bool(access) != bool(secret) or (token and not access):
            raise ValueError("an access key and a secret key come together: set access_key_env and secret_key_env")
        _refuse_several([*access, *self._set(*self.identities)])
        return self

    def _set(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) not in (None, False)]

    def credentials(self) -> dict[str, str]:
        """Return `key`, `secret` and `token`, environment variables read now; empty when none are named.

        Raises `ConfigError` naming a variable that is not set, never what one holds.
        """
        found = {
            "key": self._secret(self.access_key_id, "access_key_env"),
            "secret": self._secret(self.secret_access_key, "secret_key_env"),
            "token": self._secret(self.session_token, "session_token_env"),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _secret(self, inline: SecretStr | None, key: str) -> str | None:
        if inline is not None:
            return inline.get_secret_value()
        name = getattr(self, key)
        if name is None:
            return None
        value = (os.environ if self._environ is None else self._environ).get(name)
        if not value:
            raise ConfigError(
                f"the environment variable {name} ({key}) is not set", hint=f"export {name}=... before the command"
            )
        return str(value)


def bucket_target(filesystem: Any, options: BucketOptions, *, protocol: str, conditional_put: bool) -> Target:
    """Return the target for a filesystem whose paths begin with the bucket; `protocol` is what readers write before `://`."""
    root = "/".join((options.bucket, *(part for part in options.prefix.split("/") if part)))
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=conditional_put, list_after_write=True)
    return Target(filesystem=filesystem, root=root, url_prefix=f"{protocol}://{root}", capabilities=capabilities)


def check_profile(name: str, known: Iterable[str], where: str) -> None:
    """Raise `ConfigError` naming the profiles that `where` has, when `name` is none of them."""
    profiles = sorted(known)
    if name not in profiles:
        raise ConfigError(
            f"there is no profile {name!r} in {where}",
            hint=f"it is one of: {', '.join(profiles)}" if profiles else f"{where} has no profiles",
            code="profile",
        )


def refuse_upward(path: str) -> str:
    """Return `path`. Raises `ValueError` where it leads up: a store has no directories, so `..` is a name that most refuse."""
    if ".." in path.split("/"):
        raise ValueError("must not hold `..`: write the path from the root of the store down")
    return path


def _refuse_several(ways: list[str]) -> None:
    if len(ways) > 1:
        raise ValueError(f"{ways[0]} and {ways[1]} exclude each other: keep one")
