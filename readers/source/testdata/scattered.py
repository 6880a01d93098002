"""Write netCDF-4 and HDF5 files of more than 1 MiB to the folder sys.argv[1], whose metadata lies in many places.

Data are random, so that they stay large after compression. The name of a file says how it was written.
"""

import itertools
import os
import sys

import h5py
import netCDF4
import numpy as np

random = np.random.default_rng(0)
out = sys.argv[1]


def values(n):
    return random.random(n, dtype="f4")


def attributes(o, n, length):
    for i in range(n):
        o.setncattr(f"a{i}", "x" * length) if hasattr(o, "setncattr") else o.attrs.__setitem__(f"a{i}", "x" * length)


def netcdf(name, variables, groups, order, texts, steps):
    """Write time steps of variables: all defined first, or each filled before the next, or file reopened for each."""
    path = os.path.join(out, name + ".nc")
    f = netCDF4.Dataset(path, "w")
    f.createDimension("time", None)
    f.createDimension("x", 4000)
    places = [f] + [f.createGroup(f"g{i}") for i in range(groups)]
    attributes(f, texts, 100)
    made = []

    def define(i):
        at = places[i % len(places)]
        v = at.createVariable(f"v{i}", "f4", ("time", "x"), zlib=True, complevel=1, chunksizes=(1, 4000))
        attributes(v, texts, 40)
        made.append(v)
        return v

    if order == "first":
        for i in range(variables):
            define(i)
        for t in range(steps):
            for v in made:
                v[t] = values(4000)
    elif order == "in_turn":
        for i in range(variables):
            v = define(i)
            for t in range(steps):
                v[t] = values(4000)
    else:
        for i in range(variables):
            v = define(i)
            for t in range(steps):
                v[t] = values(4000)
            f.close()
            f = netCDF4.Dataset(path, "a")
            places = [f] + [f.groups[f"g{i}"] for i in range(groups)]
    f.close()


def hdf5(name, variables, groups, order, texts, steps, libver):
    with h5py.File(os.path.join(out, name + ".h5"), "w", libver=libver) as f:
        places = [f] + [f.create_group(f"g{i}") for i in range(groups)]
        attributes(f, texts, 100)
        made = []
        for i in range(variables):
            d = places[i % len(places)].create_dataset(
                f"v{i}", (0, 4000), maxshape=(None, 4000), chunks=(1, 4000), dtype="f4", compression="gzip", compression_opts=1
            )
            attributes(d, texts, 40)
            made.append(d)
            if order == "in_turn":
                d.resize(steps, 0)
                d[...] = values(steps * 4000).reshape(steps, 4000)
        for t in range(steps if order == "first" else 0):
            for d in made:
                d.resize(t + 1, 0)
                d[t] = values(4000)


for variables, groups, order, texts in itertools.product((5, 40), (0, 4), ("first", "in_turn", "reopened"), (2, 20)):
    netcdf(f"netcdf_{variables}_{groups}_{order}_{texts}", variables, groups, order, texts, 200 // variables)
for variables, groups, order, texts in itertools.product((5, 40), (0, 4), ("first", "in_turn"), (2, 20)):
    for libver in ("earliest", "latest"):
        hdf5(f"hdf5_{variables}_{groups}_{order}_{texts}_{libver}", variables, groups, order, texts, 200 // variables, libver)
