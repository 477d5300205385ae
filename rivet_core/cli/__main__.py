"""`python -m rivet_core.cli` is `rivet`."""

from __future__ import annotations

from rivet_core.cli import main

if __name__ == "__main__":
    main()
