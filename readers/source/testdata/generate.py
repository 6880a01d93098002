"""Writes files for TestRemoteNetCDF4, which are too large for the repository.

    generate.py FOLDER

Each is a netCDF-4 file of 30 variables and about 50 MB, made by netCDF4-python with its default creation settings;
they differ in the order of writing, which determines where libhdf5 puts metadata.
"""

import os
import sys

import netCDF4
import numpy

STEPS, LAT, LON = 12, 180, 200


def create(path, unlimited, **storage):
    """A file with its variables defined and its coordinates written; returns the 27 others too."""
    f = netCDF4.Dataset(path, "w")
    f.title, f.Conventions = "a sample", "CF-1.8"
    f.createDimension("time", None if unlimited else STEPS)
    f.createDimension("lat", LAT)
    f.createDimension("lon", LON)
    time = f.createVariable("time", "f8", ("time",))
    time.units, time.calendar = "days since 2000-01-01", "standard"
    for name, size in (("lat", LAT), ("lon", LON)):
        v = f.createVariable(name, "f8", (name,))
        v.units, v.standard_name = "degrees", name
        v[:] = numpy.linspace(0, 90, size)
    fields = []
    for i in range(27):
        v = f.createVariable(f"field{i:02d}", "f4", ("time", "lat", "lon"), **storage)
        v.units, v.long_name, v.cell_methods = "K", f"field number {i}", "time: mean"
        fields.append(v)
    return f, time, fields


def by_variable(path, unlimited, **storage):
    f, time, fields = create(path, unlimited, **storage)
    time[:] = numpy.arange(STEPS)
    random = numpy.random.default_rng(1)
    for v in fields:
        v[:] = random.random((STEPS, LAT, LON), dtype="f4")
    f.close()


def in_turn(path):
    """Each variable is written before the next is defined, so that data is between their headers."""
    f = netCDF4.Dataset(path, "w")
    for name, size in (("time", None), ("lat", LAT), ("lon", LON)):
        f.createDimension(name, size)
    random = numpy.random.default_rng(1)
    for i in range(30):
        v = f.createVariable(f"field{i:02d}", "f4", ("time", "lat", "lon"))
        v.units, v.long_name, v.cell_methods = "K", f"field number {i}", "time: mean"
        v[:] = random.random((STEPS, LAT, LON), dtype="f4")
    f.close()


def by_step(path, reopen):
    f, _, _ = create(path, unlimited=True)
    random = numpy.random.default_rng(1)
    for step in range(STEPS):
        if reopen:
            f.close()
            f = netCDF4.Dataset(path, "a")
        f["time"][step] = step
        for i in range(27):
            f[f"field{i:02d}"][step] = random.random((LAT, LON), dtype="f4")
    f.close()


def main(folder):
    by_variable(os.path.join(folder, "unlimited.nc"), unlimited=True)
    by_variable(os.path.join(folder, "fixed.nc"), unlimited=False)
    by_variable(os.path.join(folder, "deflated.nc"), unlimited=True, zlib=True)
    in_turn(os.path.join(folder, "in_turn.nc"))
    by_step(os.path.join(folder, "by_step.nc"), reopen=False)
    by_step(os.path.join(folder, "appended.nc"), reopen=True)


if __name__ == "__main__":
    main(sys.argv[1])
