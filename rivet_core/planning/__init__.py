"""Planning: facts in, a sealed plan out. Pure but for `inspect`, which asks the sources and changes nothing."""

from __future__ import annotations
