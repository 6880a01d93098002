"""Reads all arrays of a server's core view with TensorStore and GDAL, and compares them with what zarr-python reads.

    python core.py ADDRESS

Prints the paths of the arrays that are equal.
"""
import sys

import numpy as np
import rasterio
import tensorstore
import zarr

address = sys.argv[1]
zarr.config.set({"array.rectilinear_chunks": True})
equal = []
for name, array in sorted(zarr.open_group(address, mode="r").arrays()):
    want = array[...]
    store = {"driver": "http", "base_url": f"{address}/core/{name}/"}
    got = tensorstore.open({"driver": "zarr3", "kvstore": store}, open=True).result().read().result()
    np.testing.assert_array_equal(got, want)
    with rasterio.open(f'ZARR:"/vsicurl/{address}/core":/{name}') as raster:
        bands = raster.read()
    np.testing.assert_array_equal(bands.ravel(), want.ravel())  # GDAL gives an array of one dimension a second one
    equal.append("/" + name)
print(*equal)
