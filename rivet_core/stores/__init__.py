"""Publishing files into a `Target`: whole or not at all, checked by size and checksum, never outside the target's root.

Public, for destination plugins: open a store over your target with `open_store` and see what it does with your filesystem.
"""

from __future__ import annotations

from rivet_core.stores.keys import join, safe_key, segment
from rivet_core.stores.store import Entry, Part, Store, Upload, Versioned, Written, open_store
from rivet_core.stores.stream import ReaderGoneError, claim_stdout

__all__ = [
    "Entry",
    "Part",
    "ReaderGoneError",
    "Store",
    "Upload",
    "Versioned",
    "Written",
    "claim_stdout",
    "join",
    "open_store",
    "safe_key",
    "segment",
]
