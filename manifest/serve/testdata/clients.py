"""clients.py RECTILINEAR REGULAR FOLDER: reads two served archives with every client of Zarr that Python has.

The first is of all files of the folder, cut as these are; the second of the first of them alone, which is
regular. Prints a line a client and view: its name, and "ok" or what is wrong. "skip: ..." alone is for a
Python without the clients.
"""

import contextlib
import glob
import sys
import warnings

try:
    import aiohttp  # noqa: F401, what zarr-python reads over HTTP with
    import dask  # noqa: F401
    import fsspec  # noqa: F401
    import netCDF4  # noqa: F401
    import numpy as np
    import xarray as xr
    import zarr
    import zarrs  # noqa: F401
except ImportError as e:
    print("skip:", e)
    sys.exit()

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
rectilinear, regular, folder = sys.argv[1:]
files = sorted(glob.glob(glob.escape(folder) + "/*.nc"))
truth = {
    rectilinear: xr.concat([xr.open_dataset(f, engine="netcdf4").load() for f in files], "time", data_vars="minimal"),
    regular: xr.open_dataset(files[0], engine="netcdf4").load(),
}


@contextlib.contextmanager
def reported(name):
    try:
        yield
        print(name, "ok", flush=True)
    except Exception as e:  # of any client
        print(name, type(e).__name__, str(e).replace("\n", " ")[:300], flush=True)


def check(got, want):
    for name, w in want.variables.items():
        g = got[name]
        if not np.array_equal(np.asarray(g), w.values, equal_nan=np.issubdtype(w.dtype, np.floating)):
            raise ValueError(f"{name}: other values")


def groups(url):
    """The views that hold everything, by name and format."""
    yield "", 3
    yield "/regular", 3
    if url == regular:
        yield "/v2", 2


for title, url in ("rectilinear", rectilinear), ("regular", regular):
    stored = [xr.open_dataset(f, decode_cf=False)["t2m"].values for f in files]
    raw = np.concatenate(stored if url == rectilinear else stored[:1])
    for view, form in groups(url):
        at = f"{title}{view}"
        for consolidated in True, False:
            how = "" if consolidated else " unconsolidated"
            with reported(f"zarr-python {at}{how}"):
                group = zarr.open_group(url + view, mode="r", zarr_format=form, use_consolidated=consolidated)
                for part in ..., np.s_[5:70:3, 1, 2:]:
                    if not np.array_equal(group["t2m"][part], raw[part], equal_nan=True):
                        raise ValueError(f"other values in {part}")
            for chunks in (None, {}) if consolidated else ():
                with reported(f"xarray{' dask' if chunks is not None else ''} {at}{how}"):
                    with xr.open_zarr(url + view, zarr_format=form, consolidated=consolidated, chunks=chunks) as ds:
                        check(ds, truth[url])
        with reported(f"zarrs {at}"), zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
            group = zarr.open_group(url + view, mode="r", zarr_format=form)
            if not np.array_equal(group["t2m"][...], raw, equal_nan=True):
                raise ValueError("other values")
