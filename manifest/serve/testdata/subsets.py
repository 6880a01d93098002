"""subsets.py ADDRESS WHOLE: compares subsets of a served archive with selections of a netCDF-4 file of the same content.

Prints a line for each difference, and "ok N subsets".
"""

import io
import json
import sys
import urllib.request
import warnings

try:
    import netCDF4  # noqa: F401, the engine of xarray
    import numpy as np
    import pandas as pd
    import xarray as xr
except ImportError as e:
    print("skip:", e)
    sys.exit()

warnings.simplefilter("ignore")
address, name = sys.argv[1:]
whole = xr.open_dataset(name)


def fetch(query):
    with urllib.request.urlopen(address + query) as r:
        return r.read()


done = 0


def check(query, same):
    global done
    done += 1
    if not same:
        print("different:", query)


def equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a.astype("f8"), b.astype("f8"), equal_nan=True)


month = whole.sel(time="2010-02", lat=slice(45, 55), lon=7)

query = "/t2m?as=csv&time=2010-02&lat=45:55&lon=7&decode=true"
table = pd.read_csv(io.BytesIO(fetch(query)))
times = pd.to_datetime(table.time, format="ISO8601")
check(query, list(table.columns) == ["time", "lat", "lon", "t2m"] and len(table) == month.t2m.size)
check(query, np.allclose(table.t2m, month.t2m.values.ravel(), rtol=1e-6))
check(query, (times.values.reshape(3, 3)[:, 0] == month.time.values).all() and set(table.lon) == {7})

query = "/?as=csv&vars=v_i2,v_f4&time=2010-01-01/2010-01-31&isel.lat=::2"
table = pd.read_csv(io.BytesIO(fetch(query)))
some = whole.sel(time="2010-01").isel(lat=slice(None, None, 2))
raw = xr.open_dataset(name, mask_and_scale=False).sel(time="2010-01").isel(lat=slice(None, None, 2))
check(query, list(table.columns) == ["time", "lat", "v_i2", "v_f4"] and equal(table.v_i2, raw.v_i2.values.ravel()))
check(query, np.allclose(table.v_f4, some.v_f4.values.ravel(), rtol=1e-6))

query = "/demo?as=json&vars=t2m,v_f8,station&time=2010-02&lat=45:55&lon=7&decode=true"
d = xr.Dataset.from_dict(json.loads(fetch(query)))
check(query, d.t2m.dims == ("time", "lat") and np.allclose(d.t2m, month.t2m, rtol=1e-6) and equal(d.v_f8, month.v_f8))
check(query, d.station.values.tolist() == month.station.values.tolist() and d.t2m.attrs["units"] == "K" and float(d.lon) == 7)
check(query, (d.time.values.astype("M8[ns]") == month.time.values).all() and equal(d.lat, month.lat))

query = "/t2m?as=npy&isel.time=[5,0]&isel.lon=::-1"
check(query, equal(np.load(io.BytesIO(fetch(query))), xr.open_dataset(name, mask_and_scale=False).t2m[[5, 0], :, ::-1]))

query = "/?as=nc&vars=t2m,v_u4,station&time=2010-02&lat=45:55&lon=7"
with open(name + ".subset.nc", "wb") as f:
    f.write(fetch(query))
d = xr.open_dataset(name + ".subset.nc")
check(query, equal(d.t2m, month.t2m) and d.t2m.dtype == month.t2m.dtype and equal(d.v_u4, month.v_u4))
check(query, set(d.t2m.attrs) == set(month.t2m.attrs) and d.attrs["title"] == whole.attrs["title"] and float(d.lon) == 7)
check(query, (d.time == month.time).all() and [s.rstrip("\0") for s in d.station.values.astype(str)] == list(month.station.values))

query = "/ocean/salt?as=csv&isel.time=0"
table = pd.read_csv(io.BytesIO(fetch(query)))
check(query, equal(table.salt, xr.open_dataset(name, group="ocean").salt[0]))
print(f"ok {done} subsets")
