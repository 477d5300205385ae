from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rivet_core.testing.process import ServerFailed, ServerProcess, accepts, free_port, short_directory

LISTEN = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"


def listener(port):
    directory = short_directory("t")
    return ServerProcess([sys.executable, "-c", LISTEN, str(port)], directory=directory, output=directory / "out")


def gone(port, seconds=10.0):
    deadline = time.monotonic() + seconds
    while accepts(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not accepts(port)


def test_it_starts_stops_and_starts_again():
    port = free_port()
    server = listener(port)
    for _ in range(2):
        server.start(lambda: accepts(port))
        assert server.running
        server.stop()
        assert not accepts(port)
    server.remove()
    assert not server.directory.exists()


def test_one_that_cannot_start_says_what_it_wrote():
    directory = short_directory("t")
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    server = ServerProcess(command, directory=directory, output=directory / "out")
    with pytest.raises(ServerFailed, match="no such thing"):
        server.start(lambda: False)
    server.remove()


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_server_and_no_directory_is_left_when_the_session_is_killed(kill):
    port = free_port()
    session = (
        "import sys, time; sys.path[:0] = sys.argv[2:]\n"
        "from tests.testing.test_process import listener, accepts\n"
        "port = int(sys.argv[1]); server = listener(port); server.start(lambda: accepts(port))\n"
        "print(server.directory, flush=True); time.sleep(60)"
    )
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", session, str(port), root], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    directory = Path(process.stdout.readline().strip())
    assert accepts(port)
    assert directory.is_dir()
    os.kill(process.pid, kill)
    process.wait()
    process.stdout.close()
    assert gone(port)
    deadline = time.monotonic() + 5
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not directory.exists()


def test_no_port_is_given_twice():
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == 200


def test_a_free_port_is_free_twice_when_asked():
    port = free_port(offset=10_000)
    assert not accepts(port)
    assert not accepts(port + 10_000)
