"""zarr-python's and xarray's side of the interop test.

    peer.py COPY...      all copies hold the same values and attributes, through zarr and xarray
"""

import sys
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
first = None
for name in sys.argv[1:]:
    for kwargs in ({}, {"consolidated": False}):
        ds = xr.open_dataset(name, engine="zarr", chunks=None, **kwargs).load()
        first = first if first is not None else ds
        xr.testing.assert_identical(ds, first)
    root = zarr.open_group(name, mode="r")
    for path, a in root.members(max_depth=None):
        if isinstance(a, zarr.Array):
            assert a[...].shape == a.shape
    print(name.rsplit("/", 1)[-1], root["t2m"].metadata.zarr_format, root["t2m"].write_chunk_sizes[0], root["t2m"].read_chunk_sizes[0][:3])
assert first.t2m.shape[0] == 90 and np.isfinite(first.t2m.values).all()
