"""varve in Python: ``xarray.open_dataset(..., engine="varve")``, a Zarr store, and the commands of varve as functions."""

import importlib
from typing import TYPE_CHECKING, Any

from varve_zarr import commands, errors, maintenance
from varve_zarr.commands import *
from varve_zarr.errors import *
from varve_zarr.maintenance import *
from varve_zarr.parsers import register_parser
from varve_zarr.report import Manifest, Report

if TYPE_CHECKING:
    from varve_zarr.store import Store
    from varve_zarr.virtual import open_virtual

_LATE = {"Store": "store", "open_virtual": "virtual"}

__version__ = "0.1.0"

__all__ = ["Manifest", "Report", "Store", "__version__", "open_virtual", "register_parser"]
__all__ += commands.__all__
__all__ += errors.__all__
__all__ += maintenance.__all__


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])


def __getattr__(name: str) -> Any:
    """Import some names on first use: those that need xarray, or zarr-python, which are slow to import."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"varve_zarr.{_LATE[name]}"), name)
