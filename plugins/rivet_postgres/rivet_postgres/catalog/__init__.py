"""Catalog facts: the statements, and how their rows become facts."""
