"""Where the extension could not be built, its tests are left out; where CI runs, it has to be there."""

from __future__ import annotations

import os
from importlib.util import find_spec

if not find_spec("rivet_pgcopy") and not os.environ.get("RIVET_REQUIRE_SERVICES"):
    collect_ignore_glob = ["test_*.py"]
