from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time

import pytest


@pytest.fixture
def talker():
    """A server that sends 100,000 bytes to whoever connects, then waits for the end."""

    class Talk(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.request.sendall(b"x" * 100_000)
                self.request.recv(1)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(talker, fault_proxy):
    return fault_proxy(*talker)


def receive(proxy, want=100_000, timeout=5.0):
    with socket.create_connection((proxy.host, proxy.port), timeout=timeout) as client:
        got = b""
        while len(got) < want and (data := client.recv(1 << 16)):
            got += data
        return len(got)


def read(client, want):
    while want > 0:
        want -= len(client.recv(want))


def test_without_a_fault_everything_passes(proxy):
    assert receive(proxy) == 100_000


def test_cut_ends_the_connection_after_so_many_bytes(proxy):
    proxy.cut(after=12_345)
    assert receive(proxy) == 12_345


def test_reset_is_seen_as_one(proxy):
    proxy.reset(after=10)
    with pytest.raises(ConnectionResetError):
        receive(proxy)


def test_a_stalled_connection_stays_open_and_goes_on_when_healed(proxy):
    proxy.stall(after=50_000)
    with socket.create_connection((proxy.host, proxy.port), timeout=0.3) as client:
        read(client, 50_000)
        with pytest.raises(TimeoutError):
            client.recv(1)
        proxy.heal()
        client.settimeout(5)
        read(client, 50_000)


def test_throttle_slows_down(proxy):
    proxy.throttle(200_000)
    began = time.monotonic()
    assert receive(proxy) == 100_000
    assert time.monotonic() - began > 0.4


def test_refuse_ends_new_connections_at_once_until_healed(proxy):
    proxy.refuse()
    with pytest.raises(ConnectionResetError):
        receive(proxy)
    proxy.heal()
    assert receive(proxy) == 100_000
    assert proxy.connections == 2


def test_drop_resets_what_is_open(proxy):
    with socket.create_connection((proxy.host, proxy.port), timeout=5) as client:
        read(client, 100_000)
        proxy.drop()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_nobody_behind_it_is_a_reset(fault_proxy):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        proxy = fault_proxy(*unused.getsockname())
        with pytest.raises(ConnectionResetError):
            receive(proxy)
