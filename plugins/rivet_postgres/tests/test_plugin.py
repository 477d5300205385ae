"""The package as the loader sees it: hooks only, nothing heavy before it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import rivet_postgres
from rivet_core.api import SourceSession, SourceSpec
from rivet_postgres.names import parse_name, written


def test_the_hook_returns_one_source_whose_references_resolve():
    (spec,) = rivet_postgres.rivet_sources()
    assert isinstance(spec, SourceSpec)
    assert spec.name == "postgres"
    for reference in (spec.options, spec.connect):
        module, _, name = reference.partition(":")
        assert hasattr(importlib.import_module(module), name)


def test_listing_it_imports_nothing_heavy():
    code = (
        "import sys, rivet_postgres; rivet_postgres.rivet_sources(); "
        "print([m for m in ('pyarrow', 'pydantic', 'psycopg', 'adbc_driver_manager', 'sqlalchemy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout.strip() == "[]"


def test_the_session_is_a_source_session(source):
    assert isinstance(source.session, SourceSession)


def test_names_read_back_as_written():
    for schema, relation in (("public", "t"), ("a.b", 'q"t'), ("S", "я t"), ("x", "a%b")):
        name = parse_name(written(schema, relation))
        assert (name.schema, name.relation) == (schema, relation)
