"""The C extension: built once for every Python from 3.11 on (limited API)."""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent
SOURCES = sorted(str(path.relative_to(HERE)) for path in HERE.glob("src/*.c"))
HEADERS = sorted(str(path.relative_to(HERE)) for path in HERE.glob("src/*.h"))

setup(
    ext_modules=[
        Extension(
            "rivet_pgcopy._decoder",
            sources=SOURCES,
            depends=HEADERS,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
