"""Writes an archive of netCDF-4 files, and one file with the same content. Variables are in the order of their names, as in the file
that varve makes.

archive.py FOLDER TRUTH
"""

import os
import sys

import netCDF4
import numpy as np


def write(name, first, days):
    random = np.random.default_rng(1)
    with netCDF4.Dataset(name, "w") as f:
        f.Conventions = "CF-1.8"
        f.title = "an archive"
        f.createDimension("time", None)
        f.createDimension("lat", 10)
        f.createDimension("lon", 12)
        for name, standard, at in (("lat", "latitude", np.linspace(-45, 45, 10)), ("lon", "longitude", np.linspace(0, 330, 12))):
            v = f.createVariable(name, "f4", (name,))
            v[:] = at
            v.units, v.standard_name = "degrees_north" if name == "lat" else "degrees_east", standard
        sst = f.createVariable("sst", "i2", ("time", "lat", "lon"), zlib=True, fletcher32=True, chunksizes=(5, 10, 12), fill_value=-1)
        sst.units, sst.scale_factor, sst.add_offset = "K", 0.01, 273.15
        t2m = f.createVariable("t2m", "f4", ("time", "lat", "lon"), zlib=True, shuffle=True, chunksizes=(1, 5, 12), fill_value=-999)
        t2m.units, t2m.long_name = "K", "temperature"
        time = f.createVariable("time", "f8", ("time",), chunksizes=(10,))
        time.units, time.calendar, time.standard_name, time.axis = "days since 2000-01-01", "standard", "time", "T"
        word = f.createVariable("word", str, ("time",), chunksizes=(10,))
        below = f.createGroup("below")
        rain = below.createVariable("rain", "f8", ("time", "lat"), zlib=True, chunksizes=(10, 10))
        rain.units = "mm"
        sst.set_auto_maskandscale(False)
        for day in range(first + days):
            values = random.integers(0, 1000, (10, 12))
            if day < first:
                continue
            i = day - first
            time[i] = day
            t2m[i] = np.where(values > 950, -999, 250 + values / 8)
            sst[i] = np.where(values > 950, -1, values)
            word[i] = "wörd %d" % day
            rain[i] = values[:, 0] / 4


folder, truth = sys.argv[1:]
for k in range(4):
    write(os.path.join(folder, f"f{k}.nc"), 10 * k, 10)
write(truth, 0, 40)
