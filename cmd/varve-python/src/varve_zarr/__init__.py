"""varve in Python: ``xarray.open_dataset(..., engine="varve")``, a Zarr store, and varve's commands as functions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from varve_zarr.errors import (
    Cancelled,
    Corrupt,
    EngineError,
    ManifestDamaged,
    NotAllowed,
    NotFound,
    Refused,
    SourceChanged,
    Unsupported,
    Usage,
    VarveError,
)

if TYPE_CHECKING:
    from varve_zarr.commands import (
        append,
        build,
        check,
        demo,
        export_icechunk,
        export_kerchunk,
        export_table,
        export_zarr,
        history,
        scan,
        verify,
    )
    from varve_zarr.report import Manifest, Report
    from varve_zarr.store import Store

__version__ = "0.1.0"

# Modules are imported on first use, because xarray loads this package in every program that opens a file of any format.
# The names of __all__ that are not here or above are in the module commands.
_MODULES = {"Manifest": "report", "Report": "report", "Store": "store"}

__all__ = [
    "Cancelled",
    "Corrupt",
    "EngineError",
    "Manifest",
    "ManifestDamaged",
    "NotAllowed",
    "NotFound",
    "Refused",
    "Report",
    "SourceChanged",
    "Store",
    "Unsupported",
    "Usage",
    "VarveError",
    "__version__",
    "append",
    "build",
    "check",
    "demo",
    "export_icechunk",
    "export_kerchunk",
    "export_table",
    "export_zarr",
    "history",
    "scan",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"varve_zarr.{_MODULES.get(name, 'commands')}"), name)
