"""varve in Python: ``xarray.open_dataset(..., engine="varve")``, a Zarr store, and varve's commands as functions."""

from __future__ import annotations

__version__ = "0.1.0"
