"""G03: a password is in no file, log, state, error text or process list, in no form, however it came in and whatever fails."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project

PASSWORD = "s3cr/et+p@ss w:rd%7Qx"
USER = "g03_reader"


def forms(secret: str) -> Iterator[tuple[str, bytes]]:
    """Yield every way in which the secret could stand somewhere."""
    yield "raw", secret.encode()
    yield "url-encoded", quote(secret, safe="").encode()
    yield "url-encoded but for slashes", quote(secret).encode()
    yield "form-encoded", quote_plus(secret).encode()
    yield "json", json.dumps(secret)[1:-1].encode()
    yield "hex", secret.encode().hex().encode()
    for shift in range(3):  # base64 of a text that has the secret at any place
        text = base64.b64encode(b"x" * shift + secret.encode())
        yield f"base64, shifted by {shift}", text[4 if shift else 0 :].rstrip(b"=")[:-2]


def assert_hidden(where: str, data: bytes) -> None:
    for name, form in forms(PASSWORD):
        assert form not in data, f"the password stands in {where}, {name}"


def watched(project: Project, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command; meanwhile look at the command line of every process."""
    process = project.start(*arguments)
    seen: set[str] = set()
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.add(path.read_bytes().decode(errors="replace"))
            except OSError:
                continue  # it has ended
        time.sleep(0.1)
    out, err = process.communicate()
    assert any(arguments[0] in line for line in seen), "the look at the processes found our own"
    assert_hidden("the process list", "\n".join(seen).encode())
    assert_hidden(f"what rivet {' '.join(arguments)} printed", (out + err).encode())
    assert "Traceback" not in err
    return subprocess.CompletedProcess(arguments, process.returncode, out.encode(), err.encode())


def assert_no_file_has_it(project: Project) -> int:
    """Read every file below the project but the config, which may hold it where the user put it there."""
    looked_at = 0
    for path in project.path.rglob("*"):
        if path.is_file() and path.name != "rivet.yaml":
            assert_hidden(str(path.relative_to(project.path)), path.read_bytes())
            looked_at += 1
    return looked_at


@pytest.fixture
def shop(postgres: PostgresDatabase, rivet: Project) -> Iterator[tuple[PostgresDatabase, Project]]:
    """A table that only the user with the password may read."""
    with postgres.connect(admin=True) as connection:
        connection.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
        connection.execute("INSERT INTO orders SELECT g, 'n' || g FROM generate_series(1, 50) g")
        connection.execute(f"GRANT SELECT ON orders TO {USER}")
    yield postgres, rivet
    with postgres.connect(admin=True) as connection:
        connection.execute(f"DROP OWNED BY {USER}; DROP ROLE {USER}")


def source(
    form: str, postgres: PostgresDatabase, project: Project, *, port: int | None = None, user: str = USER
) -> dict[str, Any]:
    """Return the source's keys in one of the forms in which users write them."""
    url = postgres.url_with(user=user, password=PASSWORD, port=port)
    fields = {"host": postgres.host, "port": port or postgres.port, "user": user, "database": postgres.name}
    words = {**{key: value for key, value in fields.items() if key != "database"}, "dbname": postgres.name}
    keywords = " ".join(f"{key}='{value}'" for key, value in {**words, "password": PASSWORD}.items())
    project.environ.update({"SHOP_URL": url, "SHOP_PASSWORD": PASSWORD, "SHOP_DSN": keywords})
    return {
        "url": {"url": url},
        "url_env": {"url_env": "SHOP_URL"},
        "fields": {**fields, "password": PASSWORD},
        "password_env": {**fields, "password_env": "SHOP_PASSWORD"},
        "keywords": {"url": keywords},
        "keywords in a variable": {"url_env": "SHOP_DSN"},
    }[form]


def config(project: Project, keys: dict[str, Any]) -> None:
    project.config(
        json.dumps(
            {
                "source": {"type": "postgres", **keys},
                "destination": {"type": "local", "path": "out"},
                "exports": [{"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "id"}],
            }
        )
    )


@pytest.mark.parametrize("form", ["url", "password_env"])
def test_g03_a_good_run_keeps_it_to_itself(shop, form):
    postgres, project = shop
    config(project, source(form, postgres, project))
    assert watched(project, "plan", "-v", "-o", "plan.json").returncode == 0
    done = watched(project, "apply", "plan.json", "-v", "--summary-output", "summary.json")
    assert done.returncode == 0, done.stderr
    assert assert_no_file_has_it(project) >= 5, "plan, state, summary, part, manifest"


@pytest.mark.parametrize(
    ("form", "fault"),
    [("url", "refused"), ("fields", "refused"), ("url_env", "unreachable"), ("password_env", "unreachable")],
)
def test_g03_a_failure_does_not_tell(shop, form, fault):
    postgres, project = shop
    port = 9 if fault == "unreachable" else None
    config(project, source(form, postgres, project, port=port, user=USER if fault == "unreachable" else "nobody_of_this_name"))
    assert watched(project, "run", "-v", "--events").returncode != 0
    assert_no_file_has_it(project)


@pytest.mark.parametrize("form", ["keywords", "keywords in a variable"])
def test_g03_the_keyword_form_is_taken_or_refused_without_showing_it(shop, form):
    postgres, project = shop
    config(project, source(form, postgres, project))
    watched(project, "run", "-v", "--json")
    assert_no_file_has_it(project)


@pytest.mark.s3
@pytest.mark.parametrize("form", ["secret_key_env", "secret_access_key"])
def test_g03_a_store_that_refuses_the_secret_says_what_to_do_and_not_what_it_was(s3, rivet, form):
    with closing(sqlite3.connect(rivet.path / "shop.db")) as connection:
        connection.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY); INSERT INTO orders VALUES (1), (2);")
    rivet.environ["LAKE_SECRET"] = PASSWORD
    lake = {"type": "s3", "bucket": s3.name, "endpoint": s3.endpoint, "region": s3.region, "access_key_id": s3.access_key}
    secret = "LAKE_SECRET" if form == "secret_key_env" else "${env:LAKE_SECRET}"
    rivet.config(
        json.dumps(
            {
                "source": {"type": "sqlite", "path": "shop.db"},
                "destination": {**lake, form: secret},
                "exports": [{"name": "orders", "table": "orders"}],
            }
        )
    )
    refused = watched(rivet, "run", "-v", "--events")
    assert refused.returncode == 1
    assert b"permission denied" in refused.stdout + refused.stderr
    assert b"set the credentials the destination names" in refused.stdout + refused.stderr
    assert watched(rivet, "doctor", "-v").returncode != 0
    assert watched(rivet, "plan", "-o", "plan.json").returncode == 0
    assert assert_no_file_has_it(rivet) >= 2, "the plan and the state"
    assert s3.keys() == []
