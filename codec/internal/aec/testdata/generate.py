#!/usr/bin/env python3
"""Writes vectors.json: chunks of libhdf5's szip filter, and streams of libaec's szip for types that HDF5 does not have.

    generate.py            needs h5py with szip encoding, imagecodecs, numpy

A line is {"name", "params": the filter's four, "stored": base64 with the size in front, "want": base64}.
"""
import base64
import json
import os
import tempfile

import h5py
import imagecodecs
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

EC, LSB, MSB, NN, RAW = 4, 8, 16, 32, 128


def shapes(rng, n, bits):
    """n numbers of the given bits that together use every coding option."""
    top = 1 << bits
    x = np.arange(n)
    yield "zeros", np.zeros(n)
    yield "noise", rng.integers(0, top, n, dtype=np.uint64)
    yield "a slope", x * ((top - 1) // n)
    yield "a ridge", np.abs(x - n // 2) * 3 % min(top, 1 << 62)
    yield "spikes", np.where(x % 37 == 5, top - 1, 0)
    yield "small noise", np.minimum(rng.geometric(0.6, n), min(top, 99)) - 1
    yield "noise of half the bits", rng.integers(0, max(2, 1 << bits // 2), n, dtype=np.uint64)


def by_hdf5(folder, name, dtype, values, dims, options, block):
    space = h5s.create_simple(dims)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(dims)
    dcpl.set_szip(options, block)
    path = os.path.join(folder, "x.h5")
    f = h5f.create(path.encode())
    d = h5d.create(f, b"d", dtype, space, dcpl)
    d.write(space, space, values, dtype)
    mask, stored = d.read_direct_chunk((0,) * len(dims))
    params = d.get_create_plist().get_filter(0)[2]
    del d
    f.close()  # otherwise the values come from the chunk cache
    got = np.zeros_like(values)
    h5d.open(h5f.open(path.encode()), b"d").read(space, space, got, dtype)
    return None if mask else line(name, params, stored, got)


def by_libaec(name, values, options, block, bits, scanline):
    stored = imagecodecs.szip_encode(values.tobytes(), options_mask=options, pixels_per_block=block, bits_per_pixel=bits,
                                     pixels_per_scanline=scanline, header=True)
    return line(name, (options, block, bits, scanline), stored, values)


def line(name, params, stored, want):
    text = lambda b: base64.b64encode(bytes(b)).decode()
    return json.dumps({"name": name, "params": list(params), "stored": text(stored), "want": text(np.ascontiguousarray(want))})


def hdf5_cases(rng, folder):
    dims = {1: (3, 50), 2: (70,), 4: (4, 9), 8: (2, 2, 9)}
    for size in (1, 2, 4, 8):
        for order in "<>"[:size]:
            for i, (options, what) in enumerate(((NN, "neighbour"), (EC, "entropy"))):
                for block in (4, 16) if order == "<" else (32,):
                    n = int(np.prod(dims[size]))
                    for j, (shape, v) in enumerate(shapes(rng, n, 8 * size - 1)):
                        if (i + j + block // 4) % 3 > 0:
                            v = np.asarray(v).astype("%su%d" % (order, size)).reshape(dims[size])
                            name = "%s %s, %s, blocks of %d" % (v.dtype.str, shape, what, block)
                            yield by_hdf5(folder, name, h5t.py_create(v.dtype), v, dims[size], options, block)
    twelve = h5t.STD_U16LE.copy()
    twelve.set_precision(12)
    for shape, v in shapes(rng, 50, 12):
        v = np.asarray(v).astype("<u2").reshape(2, 25)
        yield by_hdf5(folder, "12 of 16 bits, %s" % shape, twelve, v, (2, 25), NN, 8)
    f = (np.sin(np.arange(50) / 7) * 40).astype("<f4").reshape(5, 10)
    yield by_hdf5(folder, "float32", h5t.IEEE_F32LE, f, (5, 10), NN, 8)


def libaec_cases(rng):
    for bits in (1, 2, 5, 8, 9, 13, 16, 17, 20, 24, 27, 30):
        size = 1 if bits <= 8 else 2 if bits <= 16 else 4
        for options in (NN | LSB, NN | MSB, EC | LSB):
            order = ">" if options & MSB else "<"
            block, scanline, n = ((2, 7, 33), (16, 45, 90), (10, 10, 31))[(bits + options) % 3]
            for i, (shape, v) in enumerate(shapes(rng, n, bits)):
                if (i + bits) % 3 == 0:
                    v = np.asarray(v).astype("%su%d" % (order, size))
                    yield by_libaec("%d bits, %s, options %d" % (bits, shape, options), v, options | RAW, block, bits, scanline)
    zeros = np.zeros(1800, "u1")
    zeros[1299] = 3
    yield by_libaec("segments of zero blocks", zeros, NN | RAW, 8, 8, 1800)
    yield by_libaec("segments of zero blocks, entropy", zeros, EC | RAW, 8, 8, 1800)
    yield by_libaec("some zero blocks", np.repeat([0, 9, 0, 1, 0, 7], [3, 1, 60, 1, 50, 1]).astype("u1"), EC | RAW, 4, 8, 116)


def main():
    rng = np.random.default_rng(8)
    with tempfile.TemporaryDirectory() as folder:
        lines = [x for x in hdf5_cases(rng, folder) if x] + list(libaec_cases(rng))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        out.write("[\n" + ",\n".join(lines) + "\n]\n")


main()
