"""Makes an archive (make DIR), and holds what varve reads of it against xarray (check DIR).

check reads cases.json: {"name", "array", "isel", "sel", "decode", "file", "stat"} each."""

import functools
import json
import sys

try:
    import netCDF4
    import numpy as np
    import xarray as xr
except ImportError as e:
    print("skip:", e)
    sys.exit()

CALENDARS = ["standard", "noleap", "360_day"]


def make(folder):
    rng = np.random.default_rng(7)
    for calendar in CALENDARS:
        for month in range(3):
            with netCDF4.Dataset(f"{folder}/{calendar}_{month}.nc", "w") as f:
                days = np.arange(20 + 10 * month, 30 + 10 * month) + 0.25
                f.createDimension("time", None), f.createDimension("nv", 2), f.createDimension("station", 3)
                f.createDimension("lat", 6), f.createDimension("lon", 5)
                t = f.createVariable("time", "f8", ("time",))
                t.units, t.calendar, t.bounds = "days since 2010-01-01", calendar, "time_bnds"
                t[:] = days
                f.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.stack([days - 0.25, days + 0.75], 1)
                lat = f.createVariable("lat", "f4", ("lat",))
                lat.units, lat[:] = "degrees_north", [50.1, 30.3, 10.1, -10.1, -30.3, -50.1]
                f.createVariable("lon", "f8", ("lon",))[:] = np.arange(5) * 72.0
                s = f.createVariable("station", str, ("station",))
                s[:] = np.array(["Bergen", "Oslo", "Tromsø"], object)
                v = f.createVariable("packed", "i2", ("time", "lat", "lon"), zlib=True, chunksizes=(4, 6, 5), fill_value=-999)
                v.set_auto_maskandscale(False)
                v.scale_factor, v.add_offset, v.units, v.coordinates = 0.01, 273.15, "K", "cell"
                data = rng.integers(-300, 300, (10, 6, 5)).astype("i2")
                data[rng.random(data.shape) < 0.2] = -999
                v[:] = data
                v = f.createVariable("floats", "f4", ("time", "lat", "lon"), fill_value=1e20)
                data = rng.normal(size=(10, 6, 5)).astype("f4")
                data[rng.random(data.shape) < 0.1] = np.nan
                data[rng.random(data.shape) < 0.1] = 1e20
                v[:] = np.ma.masked_invalid(data) if month else data
                f.createVariable("large", "i8", ("time",))[:] = 2**60 + np.arange(10) + 10 * month
                f.createVariable("small", "u1", ("time",))[:] = np.arange(10) + 10 * month
                f.createVariable("at", "f8", ("time", "station"))[:] = rng.normal(size=(10, 3))
                f.createVariable("cell", "f8", ("lat", "lon"))[:] = np.arange(30).reshape(6, 5)
                f.title = "interop"


@functools.cache
def whole(folder, calendar, decode):
    options = {} if decode else {"mask_and_scale": False, "decode_times": False}
    parts = [xr.load_dataset(f"{folder}/{calendar}_{i}.nc", **options) for i in range(3)]
    return xr.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override")


def select(ds, case):
    for term in filter(None, case["isel"].split(",")):
        dim, what = term.split("=")
        parts = [int(p) if p else None for p in what.split(":")]
        ds = ds.isel({dim: slice(*parts) if len(parts) > 1 else parts[0]})
    for dim, what in case["sel"].items():
        ds = ds.sel({dim: slice(*what) if isinstance(what, list) else what})
    return ds


def squeezed(got, want, what):
    """In calendars of its own xarray makes a list of one of a time that is named in full."""
    exactly(np.squeeze(got), np.squeeze(want), what)


def exactly(got, want, what):
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-6, err_msg=what)
    else:
        assert (got == want).all(), f"{what}: {got} is not {want}"


def check(folder):
    done = 0
    for case in json.load(open(f"{folder}/cases.json")):
        what = json.dumps(case)
        decoded = select(whole(folder, case["calendar"], True), case)
        raw = whole(folder, case["calendar"], False)
        if case["sel"]:  # labels are found among the decoded
            raw = raw.isel({d: indexes(folder, d, case) for d in case["sel"]})
        raw = select(raw, case | {"sel": {}})
        want = decoded if case["decode"] else raw
        same = exactly if case["calendar"] == "standard" else squeezed
        if "stat" in case:
            values = decoded[case["array"]].values if case["decode"] or case["array"] == "floats" else raw[case["array"]].values
            if case["array"] == "packed" and not case["decode"]:
                values = values[values != -999]
            exact = values.dtype.kind in "iu"
            found = values if exact else values[~np.isnan(values)]
            stat = case["stat"]
            assert stat["valid"] == found.size, f"{what}: valid {found.size}"
            if found.size:
                for key, f in {"min": np.min, "max": np.max, "sum": np.sum, "mean": np.mean}.items():
                    value = sum(int(x) for x in found.flat) if exact and key == "sum" else f(found) if key in ("min", "max") else f(found, dtype="f8")
                    ok = stat[key] == int(value) if exact and key != "mean" else np.isclose(stat[key], value, rtol=1e-9)
                    assert ok, f"{what}: {key} is {value}"
        elif case["file"].endswith(".npy"):
            same(np.load(case["file"]), want[case["array"]].values, what)
        else:
            with netCDF4.Dataset(case["file"]) as f:
                assert f.data_model.startswith("NETCDF3"), f.data_model
            got = xr.open_dataset(case["file"])
            same(got[case["array"]].values, decoded[case["array"]].values, what)
            stored = xr.open_dataset(case["file"], mask_and_scale=False, decode_times=False)
            same(stored[case["array"]].values, raw[case["array"]].values, what)
            kinds = {"U": "O"}  # texts are what xarray makes of characters
            found, wanted = stored[case["array"]].dtype, raw[case["array"]].dtype
            assert found == wanted or kinds.get(found.kind, "O") == kinds.get(wanted.kind, "O") == "O" and wanted.kind in "UO", what
            for name in raw[case["array"]].coords:
                if name == "cell" and case["array"] != "packed":
                    continue  # xarray gives it to all, but only one names it
                same(stored[name].values, raw[name].values, f"{what}: {name}")
                assert name in got.coords, f"{what}: {name} is no coordinate"
            for name, value in raw[case["array"]].attrs.items():
                assert np.array_equal(stored[case["array"]].attrs[name], value), f"{what}: {name}"
            assert stored.attrs["title"] == "interop"
            if "time" in raw[case["array"]].coords:
                same(stored["time_bnds"].values, raw["time_bnds"].values, what)
        done += 1
    print(done, "right")


def indexes(folder, dim, case):
    """Which indices of a dimension sel took."""
    ds = whole(folder, case["calendar"], True)
    numbers = ds.assign_coords(number=(dim, np.arange(ds.sizes[dim])))
    what = case["sel"][dim]
    return numbers.sel({dim: slice(*what) if isinstance(what, list) else what})["number"].values


def several(folder):
    """Holds several.nc, which has several variables, against xarray."""
    want = whole(folder, "standard", True).sel(lat=slice(40, -20), time="2010-02")
    got = xr.open_dataset(f"{folder}/several.nc")
    names = ["packed", "floats", "large", "at"]
    for name in names + ["time", "lat", "lon", "station", "cell", "time_bnds"]:
        exactly(got[name].values, want[name].values, name)
    for name in names:
        assert got[name].dims == want[name].dims and got[name].attrs == want[name].attrs, name
    assert set(got.coords) == set(want.coords), set(got.coords)
    assert got.attrs["title"] == "interop"
    print(len(names), "variables")


{"make": make, "check": check, "several": several}[sys.argv[1]](sys.argv[2])
