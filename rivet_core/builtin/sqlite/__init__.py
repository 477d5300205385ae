"""The SQLite source: read-only, standard library only, exact or refused.

Nothing is imported here, so that naming the source costs nothing; the record in `rivet_core.builtin` points at
`rivet_core.builtin.sqlite.options:SqliteOptions` and `rivet_core.builtin.sqlite.session:connect`.
"""
