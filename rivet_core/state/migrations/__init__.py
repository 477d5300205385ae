"""Migrations of the state database, run by alembic.

One module in `versions/` per schema version: revision "0002" makes schema 2 of schema 1. With a change of the models, raise
`SCHEMA_VERSION` and add the module; `tests/state/test_migrations.py` compares what the migrations make with the models.
"""
