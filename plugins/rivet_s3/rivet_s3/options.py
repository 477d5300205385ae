"""The keys under a destination of type `s3`: the Rust tool's, and what it lacks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, ValidationInfo, model_validator

from rivet_core.errors import ConfigError
from rivet_core.options import PluginOptions


class S3Options(PluginOptions):
    """Where to write, and as whom: two keys (by reference), a profile, nobody, or what the AWS chain of the machine finds."""

    bucket: str = Field(min_length=1, pattern=r"^[^/]+$")
    prefix: str = ""
    region: str | None = None
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/@]+/?$", description="of a compatible store")
    access_key_env: str | None = None
    secret_key_env: str | None = None
    session_token_env: str | None = None
    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    aws_profile: str | None = None
    allow_anonymous: bool = False
    addressing_style: Literal["auto", "path", "virtual"] | None = Field(None, description="default: path with an endpoint")
    conditional_writes: bool = Field(
        True, description="the store honours If-None-Match and If-Match; else a lock object is used"
    )

    _environ: Mapping[str, str] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_identity(self, info: ValidationInfo) -> Self:
        self._environ = (info.context or {}).get("environ")
        access = [key for key in ("access_key_env", "access_key_id") if getattr(self, key) is not None]
        secret = [key for key in ("secret_key_env", "secret_access_key") if getattr(self, key) is not None]
        token = [key for key in ("session_token_env", "session_token") if getattr(self, key) is not None]
        for several in (access, secret, token):
            if len(several) > 1:
                raise ValueError(f"{several[0]} and {several[1]} exclude each other: keep {several[0]}")
        if bool(access) != bool(secret) or (token and not access):
            raise ValueError("an access key and a secret key come together: set access_key_env and secret_key_env")
        ways = [
            way
            for way, on in (
                (" and ".join(access), access),
                ("aws_profile", self.aws_profile),
                ("allow_anonymous", self.allow_anonymous),
            )
            if on
        ]
        if len(ways) > 1:
            raise ValueError(f"{ways[0]} and {ways[1]} exclude each other: keep one")
        return self

    def credentials(self) -> dict[str, str]:
        """Return s3fs's `key`, `secret` and `token`, environment variables read now; empty when none are named.

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
