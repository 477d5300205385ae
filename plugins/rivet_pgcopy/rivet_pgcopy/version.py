"""The version, where the build can read it without importing what it has not built yet."""

__version__ = "0.1.0"
