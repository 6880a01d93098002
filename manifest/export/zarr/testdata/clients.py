"""Reads arrays with one client: clients.py CLIENT STORES.json

STORES.json has a list of {"name", "group", "format", "values", "dtype"}. The array is GROUP/a, its values are in a file.
Prints "version VERSION", then for each store its number and "reads", "wrong", or "refuses" and a reason. A client that
crashes leaves the rest to the next run, which starts at the store after it.
"""
import json
import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
client, stores, first = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])


def by_zarr(group, format):
    return zarr.open_array(os.path.join(group, "a"), mode="r", zarr_format=format)[...]


def by_xarray(group, format):
    with xarray.open_zarr(group, chunks=None, decode_cf=False, zarr_format=format) as ds:
        return ds["a"].values


def by_tensorstore(group, format):
    store = {"driver": "file", "path": os.path.join(group, "a")}
    return tensorstore.open({"driver": "zarr3" if format == 3 else "zarr2", "kvstore": store}, open=True).result().read().result()


def by_gdal(group, format):
    with rasterio.open(f'ZARR:"{group}":/a') as raster:
        return raster.read()[0]


def by_netcdf(group, format):
    with netCDF4.Dataset(f"file://{group}#mode=zarr,file") as ds:
        ds.set_auto_maskandscale(False)
        return ds["a"][...]


if client in ("zarr-python", "zarrs", "xarray"):
    import zarr

    zarr.config.set({"array.rectilinear_chunks": True})
if client == "zarr-python":
    read, version = by_zarr, zarr.__version__
elif client == "zarrs":
    import zarrs

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    read, version = by_zarr, zarrs.__version__
elif client == "xarray":
    import xarray

    read, version = by_xarray, xarray.__version__
elif client == "TensorStore":
    from importlib.metadata import version as of

    import tensorstore

    read, version = by_tensorstore, of("tensorstore")
elif client == "GDAL":
    import rasterio

    read, version = by_gdal, rasterio.__gdal_version__
else:
    import netCDF4

    read, version = by_netcdf, netCDF4.__netcdf4libversion__
print("version", version, flush=True)
for number, store in enumerate(stores[first:], first):
    if store["dtype"] == "text":
        want = np.array(json.load(open(store["values"])), dtype=object).reshape(4, 6)
    else:
        want = np.fromfile(store["values"], dtype=np.dtype(store["dtype"])).reshape(4, 6)
    try:
        got = np.asarray(read(store["group"], store["format"]))
    except Exception as problem:  # any refusal is a result
        print(number, "refuses", repr(problem).replace("\n", " ")[:300], flush=True)
        continue
    if want.dtype.kind == "V" or want.dtype.kind == "S" and got.shape == (*want.shape, want.dtype.itemsize):
        same = got.tobytes() == want.tobytes()  # some clients return bytes along a dimension of their own
    elif want.dtype.kind == "S" and got.dtype == object:
        same = (got == want.astype(str)).all()
    else:
        same = got.shape == want.shape and (got == want).all()
    print(number, "reads" if same else "wrong", repr(got).replace("\n", " ")[:300], flush=True)
