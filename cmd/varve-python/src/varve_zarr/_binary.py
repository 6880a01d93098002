"""Finds the varve binary."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from varve_zarr.errors import EngineError

NAME = "varve.exe" if sys.platform == "win32" else "varve"


def find() -> str:
    """Return the path of the binary: from ``VARVE_BINARY``, installed with this package, or on the PATH."""
    return _find(os.environ.get("VARVE_BINARY"), os.environ.get("PATH"))


@functools.cache
def _find(chosen: str | None, path: str | None) -> str:
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise EngineError(f"VARVE_BINARY={chosen}: no such program; set it to the path of the varve binary, or unset it")
        return chosen
    for place in _places():
        if os.access(place, os.X_OK):
            return str(place)
    found = shutil.which(NAME, path=path)
    if not found:
        raise EngineError(
            "varve binary not found beside this package or on the PATH: install the wheel for this platform"
            " (pip install --force-reinstall varve-zarr), or set VARVE_BINARY to the path of the binary"
        )
    return found


def _places() -> Iterator[Path]:
    """Yield the paths where pip installs the binary: in an environment, with ``--user``, and with ``--target``."""
    yield Path(sysconfig.get_path("scripts")) / NAME
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))) / NAME
    package = Path(__file__).resolve().parent
    yield package.parent / "bin" / NAME
    yield package.parent.parent.parent.parent / ("Scripts" if sys.platform == "win32" else "bin") / NAME
