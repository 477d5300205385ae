"""The conformance kit: one class of checks per kind of thing a plugin offers. Subclass it in your tests, name what is yours."""

from __future__ import annotations
