"""What every SQL source shares: quoting, options, statements for units, cursors, tiles, marks, secrets and retry classes.

Public for plugin authors. Import from the modules (`from rivet_core.sql.dialect import Dialect`); nothing is imported here,
so that a plugin pays only for what it uses.
"""
