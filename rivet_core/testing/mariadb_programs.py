"""Finds a MariaDB server to run, or gets one: Debian's package, installed as root, unpacked privately by anybody else."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rivet_core.testing.process import MissingServer

PACKAGE = "mariadb-server-core"
REMEDY = f"apt-get install {PACKAGE}"
PATIENCE_SECONDS = 300

_OUTSIDE_PATH = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/libexec", "/opt/homebrew/bin")


@dataclass(frozen=True, slots=True)
class MariaPrograms:
    """Where a server's program and its data files are, and the environment it needs."""

    server: Path
    share: Path
    environ: Mapping[str, str] = field(default_factory=dict)


def find_programs() -> MariaPrograms:
    """Return a MariaDB that can run here, or raise `MissingServer`. Gets the package when apt is there."""
    found = _installed() or _unpacked()
    if found is None:
        with _alone():
            found = _installed() or _unpacked() or _get()
    return found


def _installed() -> MariaPrograms | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), *_OUTSIDE_PATH))
    if server := shutil.which("mariadbd", path=path):
        program = Path(server).resolve()
        for share in (program.parents[1] / "share/mysql", program.parents[1] / "share/mariadb", program.parents[1] / "share"):
            if (share / "mysql_system_tables.sql").exists():
                return MariaPrograms(server=program, share=share)
    return None


def _home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rivet-test-servers" / "mariadb"


def _unpacked() -> MariaPrograms | None:
    root = _home() / "root"
    server = root / "usr/sbin/mariadbd"
    if not server.exists():
        return None
    libraries = os.pathsep.join(str(path) for path in (*root.glob("usr/lib/*-linux-gnu*"), *root.glob("lib/*-linux-gnu*")))
    environ = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    return MariaPrograms(server=server, share=root / "usr/share/mysql", environ=environ)


def _get() -> MariaPrograms:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingServer("MariaDB", "no mariadbd on PATH, and no apt to get one", "install mariadbd and put it on PATH")
    if os.geteuid() == 0:
        install = ["apt-get", "install", "-y", "--no-install-recommends", PACKAGE]
        if not _apt(install) and not (_apt(["apt-get", "update"]) and _apt(install)):
            raise MissingServer("MariaDB", "apt-get could not install it", REMEDY)
        found = _installed()
    else:
        _unpack()
        found = _unpacked()
    if found is None:
        raise MissingServer("MariaDB", f"the package {PACKAGE} holds no server that can run here", REMEDY)
    return found


def _unpack() -> None:
    home = _home()
    shutil.rmtree(home, ignore_errors=True)
    downloads, lists = home / "downloads", home / "lists"
    downloads.mkdir(parents=True)
    options: list[str] = []
    if not _apt(["apt-get", "download", PACKAGE], cwd=downloads):
        # The machine's own package lists are missing or old: private ones need no rights.
        (lists / "partial").mkdir(parents=True)
        options = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={home}", "-o", "Debug::NoLocking=1"]
        if not _apt(["apt-get", *options, "update"]) or not _apt(["apt-get", *options, "download", PACKAGE], cwd=downloads):
            raise MissingServer("MariaDB", "apt-get could not download it", f"sudo {REMEDY}")
    needed = [name for name in _dependencies(options) if name != PACKAGE]
    if needed and not _apt(["apt-get", *options, "download", *needed], cwd=downloads):
        raise MissingServer("MariaDB", "apt-get could not download what it needs", f"sudo {REMEDY}")
    unpacked = home / "unpacking"
    for package in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True, capture_output=True)
    unpacked.rename(home / "root")  # last, so that a half unpacked server is never found
    shutil.rmtree(downloads)
    shutil.rmtree(lists, ignore_errors=True)


def _dependencies(options: list[str]) -> list[str]:
    """Return the packages that installing the server would bring to this machine."""
    command = ["apt-get", *options, "-s", "install", "--no-install-recommends", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("Inst ")]


def _apt(command: list[str], cwd: Path | None = None) -> bool:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, check=False, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock, so that of several test processes one gets the package and the others find it."""
    home = _home()
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / "mariadb.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
