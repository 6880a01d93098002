"""Reads references with the clients that people use, and compares every element.

    read.py REF.json|REF.parquet EXPECTED.json fsspec|virtualizarr
"""
import json
import os
import sys
import warnings

import fsspec
import numpy as np
import xarray as xr
import zarr
from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
ref, expected, readers = sys.argv[1:]
PARQUET = os.path.isdir(ref)
LOCAL = {"remote_protocol": "file", "target_protocol": "file"}
with open(os.path.join(ref, ".zmetadata") if PARQUET else ref, encoding="utf-8") as f:
    DOCS = json.load(f)["metadata" if PARQUET else "refs"]
V3 = "zarr.json" in DOCS

want = {}
for entry in json.load(open(expected)):
    if "Texts" in entry:
        want[entry["Name"]] = np.array(entry["Texts"], object).reshape(entry["Shape"])
    else:
        want[entry["Name"]] = np.fromfile(entry["File"], entry["DType"]).reshape(entry["Shape"])
groups = sorted({name.rpartition("/")[0] for name in want})


def same(name, got, how):
    """As xarray gives them: a mask makes floats of integers, so numbers count, not types."""
    wanted = want[name]
    assert got.shape == wanted.shape, (how, name, got.shape)
    if wanted.dtype == object:
        assert [str(x) for x in got.ravel().tolist()] == wanted.ravel().tolist(), (how, name, got)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=f"{how}: {name}")
        assert got.dtype.newbyteorder("=") == wanted.dtype, (how, name, got.dtype)


def through(how, opened):
    seen = 0
    for group in groups:
        ds = opened(group)
        for name in want:
            if name.rpartition("/")[0] == group:
                same(name, ds[name.rpartition("/")[2]].values, how)
                seen += 1
    assert seen == len(want), how
    done.append(how)


done = []


def fsspec_readers():
    zarr_engine = {"filename_or_obj": "reference://", "engine": "zarr", "chunks": None}
    for options in (LOCAL, {}):
        if options or not (PARQUET and not V3 and len(groups) > 1):  # fsspec fails on nested v2 groups now and then
            for consolidated in (False, None) if V3 or options else (False,):
                through(f"xarray zarr {options and 'remote_protocol'} consolidated={consolidated}", lambda g: xr.open_dataset(
                    **zarr_engine, storage_options={"fo": ref, **options}, consolidated=consolidated, zarr_format=3 if V3 else 2, group=g or None))
    if not V3:
        through("xarray kerchunk", lambda g: xr.open_dataset(ref, engine="kerchunk", storage_options=LOCAL, chunks=None, group=g or None))
        through("xarray kerchunk dask", lambda g: xr.open_dataset(ref, engine="kerchunk", storage_options=LOCAL, chunks={}, group=g or None))
    if PARQUET:
        for engine in ("fastparquet", "pyarrow"):
            fs = ReferenceFileSystem(LazyReferenceMapper(ref, fsspec.filesystem("file"), engine=engine), remote_protocol="file")
            store = zarr.storage.FsspecStore(fsspec.implementations.asyn_wrapper.AsyncFileSystemWrapper(fs) if not fs.async_impl else fs, read_only=True)
            through(engine, lambda g: xr.open_dataset(store, engine="zarr", chunks=None, consolidated=False, zarr_format=3 if V3 else 2, group=g or None))


def virtualizarr():
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser, KerchunkParquetParser
    parser = KerchunkParquetParser if PARQUET else KerchunkJSONParser
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    store = parser()(ref if PARQUET else "file://" + ref, registry=registry)
    ds = xr.open_zarr(store, consolidated=False, zarr_format=3, chunks=None, mask_and_scale=False)
    through("VirtualiZarr", lambda g: ds)


{"fsspec": fsspec_readers, "virtualizarr": virtualizarr}[readers]()
print(f"{len(want)} arrays of format {3 if V3 else 2}:", *done, sep="\n  ")
