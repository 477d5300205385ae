"""A config written to disk and loaded, from a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from rivet_core.config import CampaignConfig, load_config
from rivet_core.errors import ConfigError

Load = Callable[..., CampaignConfig]
Refuse = Callable[..., ConfigError]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def run(text: str | bytes, environ: Mapping[str, str] | None = None) -> CampaignConfig:
        path = tmp_path / "rivet.yaml"
        path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return load_config(path, environ or {})

    return run


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """Load what must be refused; return the error, whose message loses the directory."""

    def run(text: str | bytes, environ: Mapping[str, str] | None = None) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            load(text, environ)
        error = caught.value
        assert error.exit_code == 2
        assert "\n" not in error.message + error.hint
        error.message = error.message[error.message.index("rivet.yaml") :]
        return error

    return run


@pytest.fixture
def one(load: Load) -> Load:
    """Load a config of one export from the lines of that export."""

    def run(lines: str, environ: Mapping[str, str] | None = None, *, top: str = "") -> CampaignConfig:
        body = "".join(f"    {line}\n" for line in dedent(lines).strip("\n").splitlines())
        head = "source: {type: sqlite, path: x.db}\ndestination: {type: local, path: out}\n"
        return load(f"{head}{dedent(top)}exports:\n  - name: e\n{body}", environ)

    return run
