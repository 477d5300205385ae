"""An HTTP proxy in front of an S3-compatible store that answers chosen requests the way overloaded stores do."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from rivet_core.testing.process import LOOPBACK

Answer: TypeAlias = Literal["slow_down", "internal_error", "denied", "lose", "reset"]
"""`slow_down` is 503, `internal_error` 500 and `denied` 403, the store not asked; `lose` does the work and never answers;
`reset` neither."""

_STATUS = {"slow_down": (503, "SlowDown"), "internal_error": (500, "InternalError"), "denied": (403, "AccessDenied")}
_DROPPED = frozenset({"connection", "transfer-encoding", "content-length"})


@dataclass
class Fault:
    """What happens to the next `times` requests of one operation; `number` narrows UploadPart to one part."""

    operation: str
    answer: Answer
    times: int = 1
    number: int | None = None
    ending: str = ""


@dataclass
class S3Proxy:
    """Listens on a free port of the loopback and passes requests to `endpoint`, signatures untouched.

    `requests` holds every operation in order: `PutObject`, `UploadPart`, `CompleteMultipartUpload`, ...; `scopes` the region
    that each was signed for, empty for a request without a signature.
    """

    endpoint: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)

    def fail(self, operation: str, answer: Answer, *, times: int = 1, number: int | None = None, ending: str = "") -> None:
        """Answer the next `times` requests of `operation`, whose key ends with `ending`, by a fault."""
        with self._lock:
            self.faults.append(Fault(operation, answer, times, number, ending))

    @property
    def url(self) -> str:
        """The endpoint that clients are given."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def take(self, operation: str, number: int | None, path: str) -> Answer | None:
        """Note a request and return the fault that it meets."""
        with self._lock:
            self.requests.append(operation)
            for fault in self.faults:
                wanted = fault.operation == operation and fault.number in (None, number) and path.endswith(fault.ending)
                if wanted and fault.times > 0:
                    fault.times -= 1
                    return fault.answer
        return None

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((LOOPBACK, 0), type("Handler", (_Handler,), {"proxy": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="s3-proxy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: S3Proxy
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = int(query["partNumber"][0]) if "partNumber" in query else None
        scope = self.headers.get("Authorization", "").partition("Credential=")[2].split("/")
        self.proxy.scopes.append(scope[2] if len(scope) > 2 else "")
        answer = self.proxy.take(_operation(self.command, query), number, url.path)
        if answer in _STATUS:
            self._refuse(*_STATUS[answer])
            return
        if answer == "reset":
            self._hang_up()
            return
        reply, data = self._ask(body)
        if answer == "lose":
            self._hang_up()
            return
        self.send_response_only(reply.status, reply.reason)
        for name, value in reply.getheaders():
            if name.lower() not in _DROPPED:
                self.send_header(name, value)
        length = reply.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815 - the names http.server calls

    def _ask(self, body: bytes) -> tuple[Any, bytes]:
        upstream = http.client.HTTPConnection(urlsplit(self.proxy.endpoint).netloc, timeout=60)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                # The Host is what the client signed, so it stays.
                if name.lower() not in ("connection", "expect"):
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            reply = upstream.getresponse()
            return reply, reply.read()
        finally:
            upstream.close()

    def _refuse(self, status: int, code: str) -> None:
        data = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>a fault of the test</Message></Error>'.encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _hang_up(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def handle(self) -> None:
        """Serve a connection; a client that goes away is not worth a trace."""
        try:
            super().handle()
        except (ConnectionError, ValueError, OSError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name http.server has
        """Say nothing."""


def _operation(method: str, query: dict[str, list[str]]) -> str:
    if "uploadId" in query:
        part = "UploadPart" if "partNumber" in query else "Upload"
        named = {"PUT": part, "POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload"}
        return named.get(method, "ListParts")
    if "uploads" in query:
        return "CreateMultipartUpload" if method == "POST" else "ListMultipartUploads"
    if "list-type" in query or "prefix" in query:
        return "ListObjects"
    return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}.get(method, method)
