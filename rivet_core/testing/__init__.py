"""For tests of Rivet and of its plugins: private servers, the real command line as a process, a conformance kit.

Install `rivet-core[testing]`; pytest finds the fixtures through its entry point. Nothing here starts or opens anything
before a test asks for it.
"""

from __future__ import annotations
