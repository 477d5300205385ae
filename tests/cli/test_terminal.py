"""A terminal that is closed under a run: nothing goes on behind it, and what it says goes nowhere. nohup keeps it going."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time

import pytest
import yaml

from tests.cli.shop import CUSTOMERS, Shop

COUNT = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {}) SELECT count(*) AS n FROM c"


def start(shop: Shop, terminal: int, *, ignored: bool) -> subprocess.Popen[bytes]:
    def own_terminal() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        if ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    return subprocess.Popen(
        [sys.executable, "-m", "rivet_core.cli", "run"],
        cwd=shop.root,
        stdin=terminal,
        stdout=subprocess.DEVNULL if ignored else terminal,
        stderr=subprocess.DEVNULL if ignored else terminal,
        start_new_session=True,
        preexec_fn=own_terminal,
    )


@pytest.mark.parametrize("ignored", [False, True], ids=["closed", "nohup"])
def test_a_terminal_that_is_closed_ends_the_run(cli, tmp_path, ignored):
    shop = Shop(tmp_path)
    rows = 3_000_000 if ignored else 10**12
    shop.config({"name": "slow", "query": COUNT.format(rows)}, CUSTOMERS)
    text = yaml.safe_load((shop.root / "rivet.yaml").read_text())
    (shop.root / "rivet.yaml").write_text(yaml.safe_dump({**text, "planning": {"workers": 1, "policy": "fifo"}}))
    ours, terminal = os.openpty()
    process = start(shop, terminal, ignored=ignored)
    os.close(terminal)
    try:
        until = time.monotonic() + 30
        while not any(run["status"] == "running" for run in runs(cli)):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        os.close(ours)
        time.sleep(0.02)
        process.send_signal(signal.SIGHUP)  # as the shell does besides the kernel
        code = process.wait(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert code == (0 if ignored else 143)
    assert [run["status"] for run in runs(cli)] == ["succeeded" if ignored else "killed"]


def runs(cli):
    found = cli("state", "runs", "-e", "slow", "--json").data["exports"]
    return found[0]["runs"]
