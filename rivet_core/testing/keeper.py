"""Holds one server process and outlives whoever started it: run as a script, never imported.

`python keeper.py STOP_SIGNAL DIRECTORY COMMAND...` starts the command and listens on standard input. A line means "stop the
server"; the end of the input means that the test session is gone, however it ended (kill -9 included), so the server is
stopped and its directory removed. No private server is left behind.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys

PATIENCE_SECONDS = 20


def keep(stop_signal: int, directory: str, command: list[str]) -> int:
    """Run `command` until told to stop, until the caller is gone, or until it ends by itself."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    abandoned = False
    while server.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], 0.5)
        if readable:
            abandoned = not os.read(sys.stdin.fileno(), 1)
            server.send_signal(stop_signal)
            break
    try:
        server.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if abandoned:
        shutil.rmtree(directory, ignore_errors=True)
    return server.returncode


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
