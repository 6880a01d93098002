"""Makes random archives, and compares virtual files with what varve read.

    check.py make DIR SEED    writes files of an archive
    check.py check LIST       compares the files of a list with the values beside them
"""

import contextlib
import json
import os
import sys

import h5py
import netCDF4
import numpy as np


def make(folder, seed):
    random = np.random.default_rng(seed)
    files, lat, lon = int(random.integers(1, 5)), int(random.integers(1, 9)), int(random.integers(1, 12))
    chunk = [int(random.integers(1, 4)), int(random.integers(1, lat + 1)), int(random.integers(1, lon + 1))]
    kinds = random.choice(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"], 4)
    options = [
        dict(zlib=True, shuffle=bool(random.integers(2)), fletcher32=bool(random.integers(2)), complevel=int(random.integers(1, 10))),
        dict(fletcher32=True),
        dict(),
        dict(compression="zstd"),
    ]
    endians = random.choice(["little", "big"], 4)
    fills = random.integers(0, 100, 4)
    equal = random.integers(3) > 0  # otherwise files have other numbers of days
    begin = 0
    for number in range(files):
        days = 6 if equal else int(random.integers(1, 8))
        with netCDF4.Dataset(os.path.join(folder, f"f{number}.nc"), "w") as f:
            f.title = "räandom"
            f.setncattr("numbers", np.array([1.5, 2.5], "f4"))
            f.setncattr_string("words", ["one", "", "drei ü"])
            f.createDimension("time", None if random.integers(2) else days)
            f.createDimension("lat", lat)
            f.createDimension("lon", lon)
            f.createDimension("nv", 2)
            time = f.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(begin, begin + days)
            f.createVariable("bnds", "f8", ("time", "nv"))[:] = np.arange(2 * days).reshape(days, 2)
            f.createVariable("lat", "f4", ("lat",))[:] = np.arange(lat)
            f.createVariable("lon", "f4", ("lon",))[:] = np.arange(lon)
            f.createVariable("crs", "i4")[:] = 7
            words = f.createVariable("word", str, ("time",))
            words[:] = np.array(["wörd %d" % (begin + i) if i else "" for i in range(days)], object)
            f.createVariable("name", "S1", ("time", "nv"))[:] = np.full((days, 2), b"x", "S1")
            below = f.createGroup("below")
            below.note = "a group"
            for i, kind in enumerate(kinds):
                at = below if i == 3 else f
                v = at.createVariable(f"v{i}", kind, ("time", "lat", "lon"), chunksizes=[min(chunk[0], days)] + chunk[1:] if i != 2 else None,
                                      endian=str(endians[i]), fill_value=int(fills[i]), **options[i])
                v.units = "K"
                v.valid_min = np.array(3, kind)
                v.set_auto_maskandscale(False)
                values = random.integers(0, 100, (days, lat, lon)).astype(kind)
                if random.integers(2):
                    v[:] = values
                else:
                    v[: days // 2] = values[: days // 2]
                    if days // 2 == 0:
                        v[0, 0, 0] = values[0, 0, 0]
        begin += days


def check_array(want, one, h5, nc):
    path = want["path"]
    folder, name = path.rsplit("/", 1)
    data = None
    if h5 is not None:
        group = h5[folder or "/"]
        data = group[name if name in group and isinstance(group[name], h5py.Dataset) and not is_bare(group[name]) else "_nc4_non_coord_" + name]
    variable = (nc[folder] if folder else nc).variables[name]
    variable.set_auto_maskandscale(False)
    if variable.dtype is not str and variable.dtype.kind != "S":
        variable.set_always_mask(False)
    variable.set_auto_chartostring(False)
    dims = list(variable.dimensions)
    assert dims[: len(want["dims"])] == want["dims"], (path, dims, want["dims"])
    b = variable[...]
    a = b if data is None else data[()]
    if "texts" in want and data is None:
        texts = [bytes(row).rstrip(b"\0").decode() for row in np.asarray(b).reshape(-1, b.shape[-1]).astype("S1").view("u1")]
        assert texts == want["texts"], (path, texts[:5], want["texts"][:5])
        return
    if "texts" in want:
        a = [t.decode() for t in np.ravel(a)]
        b = list(np.ravel(b))
        assert a == want["texts"], (path, a[:5], want["texts"][:5])
        assert b == want["texts"], (path, b[:5], want["texts"][:5])
        return
    truth = np.fromfile(os.path.join(one, want["file"]), want["dtype"]).reshape(want["shape"])
    if truth.dtype.kind == "S" and truth.dtype.itemsize > 1:
        truth = truth.view("S1").reshape(truth.shape + (truth.dtype.itemsize,))
    for got in (a, b):
        got = np.asarray(got)
        assert got.shape == truth.shape, (path, got.shape, truth.shape)
        if truth.dtype.kind != "S":
            got = got.astype(got.dtype.newbyteorder("<"))
            assert got.dtype == truth.dtype, (path, got.dtype, truth.dtype)
        if got.tobytes() != truth.tobytes():
            np.testing.assert_array_equal(got, truth, err_msg=path)
    for key, value in want["attributes"].items():
        if key in variable.ncattrs() and not isinstance(value, (dict, list)) and key != "_FillValue":
            got = variable.getncattr(key)
            same = got == value or str(got).lower() == str(value).lower() or np.allclose(np.float64(got), np.float64(value), equal_nan=True)
            assert same, (path, key, got, value)


def is_bare(data):
    return bytes(data.attrs.get("NAME", b"")).startswith(b"This is a netCDF dimension")


def groups(nc):
    yield nc
    for below in nc.groups.values():
        yield from groups(below)


def check(listing):
    arrays = files = 0
    for one in open(listing).read().split("\n"):
        if not one:
            continue
        want = json.load(open(os.path.join(one, "truth.json")))
        name = os.path.join(one, "virtual.nc")
        is_hdf5 = open(name, "rb").read(4) == b"\x89HDF"
        with h5py.File(name) if is_hdf5 else contextlib.nullcontext() as h5, netCDF4.Dataset(os.path.join(one, "virtual.nc")) as nc:
            names = {f"{g.path.rstrip('/')}/{n}" for g in groups(nc) for n in g.variables}
            assert names == {a["path"] for a in want["arrays"] or []}, (want["source"], names)
            for array in want["arrays"] or []:
                try:
                    check_array(array, one, h5, nc)
                except Exception as err:
                    raise SystemExit(f"{one} ({want['source']}) {array['path']}: {type(err).__name__}: {err}")
                arrays += 1
        files += 1
    print(f"{files} files and {arrays} arrays are equal")


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    check(sys.argv[2])
