"""Numbers on the command line and in the config that are no numbers, or larger than anything they are for."""

from __future__ import annotations

import pytest

from tests.cli.shop import ORDERS, Shop

HUGE = "99999999999999999999999"


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


@pytest.mark.parametrize("command", [("journal",), ("metrics",), ("metrics", "-e", "orders"), ("state", "runs")])
@pytest.mark.parametrize("limit", [HUGE, "0", "-1", "1000001", "nan"])
def test_limits(cli, shop, command, limit):
    said = cli(*command, f"--limit={limit}")
    assert said.code == 2, said
    assert "--limit" in said.err
    assert "hint: " in said.err
    assert cli(*command, "--limit=1000000").code == 0


@pytest.mark.parametrize("option", ["--stall-after", "--lock-wait"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300", "1e400", "-1", "soon"])
def test_durations(cli, shop, option, value):
    for command in ("run", "apply"):
        said = cli(command, f"{option}={value}")
        assert said.code == 2, said
        assert option in said.err
        assert "hint: " in said.err
    assert not (shop.root / ".rivet").exists()


@pytest.mark.parametrize("key", ["statement_timeout_s", "lock_timeout_s", "page_seconds"])
def test_timeouts_end_where_servers_do(cli, shop, key):
    shop.config({**ORDERS, "tuning": {key: 2_147_484}})
    said = cli("plan")
    assert said.code == 2
    assert f"tuning.{key}" in said.err
    shop.config({**ORDERS, "tuning": {key: 2_147_483}})
    assert cli("plan").code == 0


@pytest.mark.parametrize("waves", ["0", "-1", "1001", HUGE, "9" * 5000, "\u0664", "1.5", "many", ""])
def test_waves_end_where_the_key_does(cli, shop, waves):
    said = cli("plan", f"--waves={waves}")
    if waves == "\u0664":
        assert said.code == 0, "a digit is a digit"
        return
    assert said.code == 2, said
    assert "from 1 to 1000, or auto" in said.err
    assert len(said.err) < 400
    assert cli("plan", "--waves=1000").code == 0
