"""varve in Python: ``xarray.open_dataset(..., engine="varve")``, a Zarr store, and the commands of varve as functions."""

from typing import TYPE_CHECKING, Any

from varve_zarr import commands, errors
from varve_zarr.commands import *
from varve_zarr.errors import *
from varve_zarr.report import Manifest, Report

if TYPE_CHECKING:
    from varve_zarr.store import Store

__version__ = "0.1.0"

__all__ = ["Manifest", "Report", "Store", "__version__"]
__all__ += commands.__all__
__all__ += errors.__all__


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])


def __getattr__(name: str) -> Any:
    """Import the store on first use, because it needs zarr-python, which is optional and slow to import."""
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from varve_zarr.store import Store

    return Store
