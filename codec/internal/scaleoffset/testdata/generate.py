#!/usr/bin/env python3
"""Writes vectors.json: chunks that libhdf5's scale-offset filter wrote, with its parameters and the values that libhdf5 reads back.

    generate.py            needs h5py and numpy

A line is {"name", "values": the filter's parameters without the zeros at the end,
"stored", "want": base64}.
"""
import base64
import json
import os
import tempfile

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

INTEGERS, DECIMAL = h5z.SO_INT, h5z.SO_FLOAT_DSCALE


def spread(rng, dtype, span, count):
    """Numbers within span of one another, with both extremes."""
    info = np.iinfo(dtype)
    low = int(rng.integers(info.min, info.max - span, endpoint=True, dtype=dtype))
    v = low + rng.integers(0, span, count, endpoint=True, dtype=np.uint64).astype(object)
    v[:2] = low, low + span
    return v.astype(dtype)


def integers(rng):
    for size in (1, 2, 4, 8):
        for sign in "iu":
            for order in "<>"[:size]:
                dtype = np.dtype("%s%s%d" % (order, sign, size))
                native = dtype.newbyteorder("=")
                for bits in sorted({0, 3, 8 * size - 9, 8 * size - 2, 8 * size - 1} - {-1}):
                    v = spread(rng, native, (1 << bits) - 1, 9).astype(dtype)
                    yield "%s spread over %d bits" % (dtype.str, bits), v, INTEGERS, 0, None
                    w = v.copy()
                    w[[3, 8]] = fill = np.array(99, dtype)
                    yield "%s spread over %d bits and a fill value" % (dtype.str, bits), w, INTEGERS, 0, fill
                v = spread(rng, native, np.iinfo(native).max, 9).astype(dtype)
                yield "%s of every bit" % dtype.str, v, INTEGERS, 0, None
                yield "%s in %d bits, some lost" % (dtype.str, 3 * size), v, INTEGERS, 3 * size, None
                yield "%s asked for every bit" % dtype.str, v, INTEGERS, 8 * size, None
                fill = np.array(7, dtype)
                yield "%s all fill value" % dtype.str, np.full(5, fill, dtype), INTEGERS, 0, fill
    for size in (4, 8):
        v = np.array([0] + [(1 << (8 * size - 6)) - 1] * 6, "<u%d" % size)
        yield "<u%d in %d bits" % (size, 8 * size - 6), v, INTEGERS, 0, None
        yield "<u%d, an undefined fill value" % size, v, INTEGERS, 0, "undefined"


def floats(rng):
    for size in (4, 8):
        for order in "<>":
            dtype = np.dtype("%sf%d" % (order, size))
            for digits in (0, 1, 3, -2, 5, 11 if size == 8 else 4):
                v = (rng.normal(0, 100, 9) - 40).astype(dtype)
                yield "%s to %d digits" % (dtype.str, digits), v, DECIMAL, digits, None
                fill = np.array(-999.5, dtype)
                w = v.copy()
                w[[0, 5]] = fill
                yield "%s to %d digits and a fill value" % (dtype.str, digits), w, DECIMAL, digits, fill
                yield "%s to %d digits, undefined fill value" % (dtype.str, digits), v, DECIMAL, digits, "undefined"
            wide = (rng.normal(0, 1, 9) * np.logspace(-30, 30, 9)).astype(dtype)
            yield "%s whose range needs every bit" % dtype.str, wide, DECIMAL, 3, None
            yield "%s all equal" % dtype.str, np.full(6, 1.5, dtype), DECIMAL, 3, None
            yield "%s all fill value" % dtype.str, np.full(6, 2.5, dtype), DECIMAL, 3, np.array(2.5, dtype)
            yield "%s in tiny steps" % dtype.str, (rng.normal(0, 1e-30, 9)).astype(dtype), DECIMAL, 32, "undefined"


def write(folder, name, v, scale, factor, fill):
    space = h5s.create_simple(v.shape)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(v.shape)
    dtype = h5t.py_create(v.dtype)
    if fill is not None and not isinstance(fill, str):
        dcpl.set_fill_value(fill)
    # h5py's set_scaleoffset rejects a negative power of ten, but the filter accepts it.
    dcpl.set_filter(h5z.FILTER_SCALEOFFSET, h5z.FLAG_MANDATORY, (scale, factor & 0xFFFFFFFF))
    if fill == "undefined":
        undefine(dcpl)
    path = os.path.join(folder, "x.h5")
    f = h5f.create(path.encode())
    d = h5d.create(f, b"d", dtype, space, dcpl)
    d.write(space, space, v, dtype)
    stored = d.read_direct_chunk((0,))[1]
    params = list(d.get_create_plist().get_filter(0)[2])
    while params[-1] == 0:
        del params[-1]
    del d
    f.close()  # otherwise the values come from the chunk cache
    got = np.zeros_like(v)
    h5d.open(h5f.open(path.encode()), b"d").read(space, space, got, dtype)
    text = lambda b: base64.b64encode(bytes(b)).decode()
    return {"name": name, "values": params, "stored": text(stored), "want": text(got)}


def undefine(dcpl):
    """Calls H5Pset_fill_value(dcpl, any type, NULL) in the loaded library, because h5py cannot."""
    import ctypes
    with open("/proc/self/maps") as maps:
        path = next(m.split()[-1] for m in maps if "libhdf5-" in m or "libhdf5.so" in m)
    lib = ctypes.CDLL(path)
    lib.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    if lib.H5Pset_fill_value(dcpl.id, -1, None) < 0:
        raise OSError("H5Pset_fill_value")


def main():
    rng = np.random.default_rng(6)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps(write(folder, *case), separators=(",", ":"))
                     for cases in (integers, floats) for case in cases(rng)]
        out.write("[\n" + ",\n".join(lines) + "\n]\n")


main()
