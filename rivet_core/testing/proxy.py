"""A TCP proxy that does to a connection what networks do: cut it, reset it, stall it, slow it down, refuse it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Self

from rivet_core.testing.process import LOOPBACK

CHUNK = 64 << 10


class FaultProxy:
    """Listens on a free port of the loopback and passes bytes to `host:port` and back, until told otherwise.

    Each fault holds until `heal`, and counts what the server sends from the moment it is set:
    `cut(after)` ends the connection after so many bytes, `reset(after)` the same with a TCP reset, `stall(after)` keeps it
    open and passes nothing more, `throttle(bytes_per_second)` passes slowly, `refuse()` closes new connections at once.
    """

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self.heal()
        self.host = LOOPBACK
        self.port = 0
        self.connections = 0
        """How many connections were accepted so far, refused ones included."""

    def heal(self) -> None:
        """Pass everything from now on. Connections already ended stay ended."""
        self._fault, self._left, self._rate, self._refuse = "", 0, 0.0, False

    def cut(self, after: int = 0) -> None:
        """End connections, cleanly as TCP goes, once `after` more bytes have come from the server."""
        self._fault, self._left = "cut", after

    def reset(self, after: int = 0) -> None:
        """Reset connections once `after` more bytes have come from the server."""
        self._fault, self._left = "reset", after

    def stall(self, after: int = 0) -> None:
        """Pass nothing more once `after` more bytes have come from the server; connections stay open."""
        self._fault, self._left = "stall", after

    def throttle(self, bytes_per_second: float) -> None:
        """Pass at most so much from the server."""
        self._rate = bytes_per_second

    def refuse(self) -> None:
        """Close new connections at once; those that are open go on."""
        self._refuse = True

    def drop(self) -> None:
        """Reset every open connection now."""
        self._call(self._drop())

    def __enter__(self) -> Self:
        self._thread.start()
        server = self._call(asyncio.start_server(self._serve, LOOPBACK, 0))
        self.port = server.sockets[0].getsockname()[1]
        self._server = server
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._listen_no_more())
        self.drop()
        self._call(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen_no_more(self) -> None:
        self._server.close()

    async def _end_tasks(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _drop(self) -> None:
        for writer in tuple(self._writers):
            self._end(writer, reset=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._refuse:
            return self._end(writer, reset=True)
        try:
            up_reader, up_writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            return self._end(writer, reset=True)
        ends = {writer, up_writer}
        self._writers |= ends
        try:
            up = asyncio.create_task(self._pass(reader, up_writer, faulty=False))
            down = asyncio.create_task(self._pass(up_reader, writer, faulty=True))
            _, rest = await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()
        finally:
            self._writers -= ends
            for end in ends:
                self._end(end, reset=self._fault == "reset")
        return None

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, faulty: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(self._portion()):
                async for piece in self._spoil(data) if faulty else _whole(data):
                    writer.write(piece)
                    await writer.drain()
                if faulty and self._fault in ("cut", "reset") and self._left <= 0:
                    return

    def _portion(self) -> int:
        return max(1, min(CHUNK, int(self._rate / 20))) if self._rate else CHUNK

    async def _spoil(self, data: bytes) -> AsyncIterator[bytes]:
        if self._rate:
            await asyncio.sleep(len(data) / self._rate)
        if not self._fault:
            yield data
            return
        passed, self._left = max(0, self._left), self._left - len(data)
        if data[:passed]:
            yield data[:passed]
        while self._fault == "stall" and self._left < 0:
            await asyncio.sleep(0.02)
        if not self._fault:  # healed while it stalled: nothing is lost
            yield data[passed:]

    @staticmethod
    def _end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
        raw = writer.get_extra_info("socket")
        if reset and raw is not None and raw.fileno() >= 0:
            # Lingering for no time makes close() send a reset.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data
