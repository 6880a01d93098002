#!/usr/bin/env python3
"""Writes vectors.json: chunks of libhdf5's SPERR filter, with its parameters and the values that libhdf5 reads back.

    generate.py            needs h5py, hdf5plugin (its H5Z-SPERR is version 0.2.3) and numpy

A line is {"name", "values": the filter's parameters, "stored": base64, "size": bytes
read back, "want": their SHA-256}.

The filter itself writes neither volumes cut into parts nor truncated streams nor what
its version 0.1 wrote, but reads all of them: those are put into the file as chunks.
"""
import base64
import ctypes
import hashlib
import json
import os
import struct
import tempfile

import h5py
import hdf5plugin
import numpy as np

SPERR = 32028
MARK = 13.3713  # a rate whose bytes occur only in the parameters of the filter
LIBRARY = ctypes.CDLL(os.path.join(hdf5plugin.PLUGIN_PATH, "libh5sperr.so"))
C_FREE = ctypes.CDLL(None).free
C_FREE.argtypes = [ctypes.c_void_p]


def library(function, *args):
    """Calls a function of SPERR that returns bytes in its last two arguments."""
    out, size = ctypes.c_void_p(None), ctypes.c_size_t(0)
    status = function(*args, ctypes.byref(out), ctypes.byref(size))
    assert status == 0, status
    result = ctypes.string_at(out, size.value)
    C_FREE(out)
    return result


def cut(v, part, tolerance):
    """A volume whose parts are independent fields."""
    size = ctypes.c_size_t
    dims = [size(n) for n in (*v.shape[::-1], *part[::-1])]
    data = v.ctypes.data_as(ctypes.c_void_p)
    return library(LIBRARY.sperr_comp_3d, data, int(v.itemsize == 4), *dims, 3, ctypes.c_double(tolerance), size(1))


def truncated(volume, percent):
    return library(LIBRARY.sperr_trunc_3d, volume, ctypes.c_size_t(len(volume)), ctypes.c_uint(percent))


def waves(rng, shape, dtype, noise=0.0):
    v = rng.normal(0, noise, shape) if noise else np.zeros(shape)
    for axis, n in enumerate(shape):
        x = np.linspace(0, rng.uniform(2, 7), n).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        v = v + np.sin(x + rng.uniform(0, 6))
    return v.astype(dtype)


def spikes(rng, shape, dtype):
    """Values with outliers, which need corrections to stay within the tolerance."""
    v = waves(rng, shape, "f8")
    at = rng.random(shape) < 0.004
    return np.where(at, rng.normal(0, 90, shape), v).astype(dtype)


def encoded(rng):
    """Name, values, keywords of hdf5plugin.Sperr."""
    for dtype in ("<f4", "<f8"):
        for shape in ((9, 9), (16, 31), (70, 13), (9, 300), (1, 20, 33), (9, 9, 9), (17, 33, 20), (40, 10, 9), (9, 36, 40), (1, 12, 1, 15)):
            name = "%s of %s" % (dtype, "x".join(map(str, shape)))
            yield name + ", 2 bits a value", waves(rng, shape, dtype), dict(rate=2)
            yield name + ", reversed, 40 dB", waves(rng, shape, dtype), dict(peak_signal_to_noise_ratio=40, swap=True)
            yield name + ", to 0.5 with corrections", spikes(rng, shape, dtype), dict(absolute=0.5, swap=True)
        v = waves(rng, (11, 14), dtype, 1.0)
        yield dtype + " nearly as they were", v, dict(peak_signal_to_noise_ratio=300)
        yield dtype + " at 60 bits a value", v, dict(rate=60)
        yield dtype + " to 1e-5", v, dict(absolute=1e-5)
        yield dtype + " of 1e30", v * np.dtype(dtype).type(1e30), dict(peak_signal_to_noise_ratio=50)
        yield dtype + " of 1e-30", v * np.dtype(dtype).type(1e-30), dict(peak_signal_to_noise_ratio=30)
        yield dtype + " all equal", np.full((9, 12), 3.7, dtype), dict(rate=4)
        yield dtype + " all equal in a volume", np.full((9, 12, 10), -0.3, dtype), dict(absolute=1)
        yield dtype + " all zero", np.zeros((9, 12), dtype), dict(rate=4)
        for shape in ((13, 29), (9, 10, 11)):
            v = waves(rng, shape, dtype)
            for share in (0.02, 0.5, 0.98):
                for place, at in (("scattered", rng.random(shape) < share), ("together", np.arange(v.size).reshape(shape) < share * v.size)):
                    name = "%s of %s, %d percent %%s %s" % (dtype, "x".join(map(str, shape)), 100 * share, place)
                    yield name % "NaN", np.where(at, np.nan, v).astype(dtype), dict(rate=1, missing_value_mode=1)
                    yield name % "1e36", np.where(at, -1e36, v).astype(dtype), dict(rate=1, missing_value_mode=2)
        yield dtype + " of 13x29, no NaN though asked for", waves(rng, (13, 29), dtype), dict(rate=1, missing_value_mode=1)
    yield ">f4 taken as if little-endian", waves(rng, (12, 10), ">f4"), dict(missing_value_mode=0, rate=4)


def composed(rng):
    """Name, values, stored bytes, whether in the form of version 0.1."""
    for dtype in ("<f4", "<f8"):
        v = spikes(rng, (30, 21, 25), dtype)
        for part in ((9, 9, 9), (30, 10, 12), (12, 21, 25), (20, 14, 3), (7, 5, 100), (11, 21, 1)):
            yield "%s volume cut by %s" % (dtype, "x".join(map(str, part))), v, b"\0" + cut(v, part, 2.0), False
        volume = cut(waves(rng, (18, 20, 40), dtype), (18, 20, 19), 0.01)
        for percent in (1, 3, 10, 37, 99):
            yield "%s volume in two parts, %d percent of it" % (dtype, percent), v[:18, :20].repeat(2, 2)[:, :, :40], b"\0" + truncated(volume, percent), False
        yield "%s volume of version 0.1" % dtype, v[:10, :12, :13], cut(np.ascontiguousarray(v[:10, :12, :13]), (10, 12, 13), 0.3), True


def read(path, v, stored, old):
    """The values that libhdf5 reads from a stored chunk of v's shape, and the filter's parameters."""
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", v.shape, v.dtype, chunks=v.shape, **hdf5plugin.Sperr(rate=MARK, swap=True))
        d.id.write_direct_chunk((0,) * v.ndim, stored)
        values = d.id.get_create_plist().get_filter(0)[2]
    if old:
        with open(path, "rb") as f:
            file = f.read()
        before = struct.pack("<%dI" % len(values), *values)
        assert file.count(before) == 1
        values = (values[0] & 0x3FF, *values[1:])
        with open(path, "wb") as f:
            f.write(file.replace(before, struct.pack("<%dI" % len(values), *values)))
    with h5py.File(path) as f:
        return values, f["d"][...]


def write(path, v, options):
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=v, chunks=v.shape, **hdf5plugin.Sperr(**options))
    with h5py.File(path) as f:
        d = f["d"]
        mask, stored = d.id.read_direct_chunk((0,) * v.ndim)
        assert mask == 0
        return d.id.get_create_plist().get_filter(0)[2], stored, d[...]


def line(name, values, stored, got):
    return {"name": name, "values": list(values), "stored": base64.b64encode(stored).decode(),
            "size": got.nbytes, "want": hashlib.sha256(got.tobytes()).hexdigest()}


def lines(folder):
    rng = np.random.default_rng(32028)
    path = os.path.join(folder, "one.h5")
    for name, v, options in encoded(rng):
        yield line(name, *write(path, v, options))
    for name, v, stored, old in composed(rng):
        values, got = read(path, v, stored, old)
        yield line(name, values, stored, got)


def main():
    with tempfile.TemporaryDirectory() as folder:
        text = ",\n".join(json.dumps(l) for l in lines(folder))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        out.write("[\n" + text + "\n]\n")


main()
