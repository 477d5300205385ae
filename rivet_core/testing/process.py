"""Private server processes: a directory of their own, a free port on the loopback, started when asked and always stopped."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
MAX_DIRECTORY_LENGTH = 60  # a Unix socket's path must stay under 108 bytes


class MissingServer(Exception):  # noqa: N818 - it is an answer, not a fault
    """A server that cannot be had here. `remedy` is the command that brings it."""

    def __init__(self, name: str, why: str, remedy: str) -> None:
        super().__init__(f"{name} is missing ({why}); to get it: {remedy}")
        self.name = name
        self.why = why
        self.remedy = remedy


class ServerFailed(Exception):  # noqa: N818
    """A private server did not start. The text ends with what it wrote."""


_claims: list[socket.socket] = []
_dice = random.SystemRandom()  # hypothesis seeds the ordinary one alike in every process


def free_port(offset: int = 0) -> int:
    """Return a port of the loopback that is free now, with `port + offset` free as well.

    Ports are drawn from below the range that the kernel hands out itself, so that no outgoing connection takes one between
    this call and the server's bind; and each is claimed for the life of this process, so that no other test process does.
    """
    for _ in range(1000):
        port = _dice.randrange(11000, 22000)
        if _claim(port) and _is_free(port) and (offset == 0 or (_claim(port + offset) and _is_free(port + offset))):
            return port
    raise ServerFailed("no free port between 11000 and 22000 on 127.0.0.1")


def _claim(port: int) -> bool:
    """Claim `port` among the test processes of this machine. The kernel lets go of the name when the process ends."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0rivet-test-port-{port}")  # a name, not a file: Linux's abstract namespace
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def short_directory(name: str) -> Path:
    """Make a new directory whose path is short enough for Unix sockets."""
    parent = tempfile.gettempdir()
    if len(parent) > MAX_DIRECTORY_LENGTH:
        parent = "/tmp"  # noqa: S108 - mkdtemp makes a private directory in it
    return Path(tempfile.mkdtemp(prefix=f"rvt-{name}-", dir=parent))


class ServerProcess:
    """One server command under a keeper, so that it ends with the test session whatever happens to that.

    `output` collects what the server writes. `stop_signal` is what the server takes for "end now, cleanly".
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        output: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.command = tuple(command)
        self.directory = directory
        self.output = output
        self.stop_signal = stop_signal
        self.environ = dict(os.environ if environ is None else environ)
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the server was started and has not ended."""
        return self._keeper is not None and self._keeper.poll() is None

    def start(self, ready: Callable[[], bool], *, patience: float = 60.0) -> None:
        """Start the command and wait until `ready()`; at most `patience` seconds."""
        keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
        with self.output.open("ab") as sink:
            self._keeper = subprocess.Popen(
                [*keeper, str(int(self.stop_signal)), str(self.directory), *self.command],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                cwd=self.directory,
                env=self.environ,
                start_new_session=True,  # Ctrl-C belongs to the tests; the keeper hears of their end
            )
        deadline = time.monotonic() + patience
        while not (ready() and self.running):
            if not self.running or time.monotonic() > deadline:
                self.stop()
                raise ServerFailed(f"{self.command[0]} did not start:\n{self.tail()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server cleanly and wait for its end. Stopping twice is fine."""
        keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with suppress(BrokenPipeError):  # it may have ended by itself
            os.write(keeper.stdin.fileno(), b"\n")
        keeper.wait()
        keeper.stdin.close()

    def remove(self) -> None:
        """Stop the server and remove its directory."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def tail(self, lines: int = 20) -> str:
        """Return the last lines the server wrote."""
        if not self.output.exists():
            return ""
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])


def accepts(port: int, host: str = LOOPBACK) -> bool:
    """Whether something listens on `port`."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
