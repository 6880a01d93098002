#!/usr/bin/env python3
"""Writes vectors.json: chunks that libhdf5's N-bit filter wrote, with its parameters and the values that libhdf5 reads back.

    generate.py            in this folder; needs h5py and numpy

A line is {"name", "values": the filter's parameters, "stored", "want": base64}.
"""
import base64
import json
import os
import tempfile

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z


def number(base, precision=None, offset=0, order=None):
    t = base.copy()
    if order is not None:
        t.set_order(order)
    if precision is not None:
        t.set_precision(precision)
        t.set_offset(offset)
    return t


def small_float(order):
    """20 bits at bit 7: 1 sign, 6 exponent, 13 mantissa; the one of libhdf5's own test."""
    t = h5t.IEEE_F32BE.copy() if order == h5t.ORDER_BE else h5t.IEEE_F32LE.copy()
    t.set_fields(26, 20, 6, 7, 13)
    t.set_offset(7)
    t.set_precision(20)
    t.set_ebias(31)
    t.set_size(4)
    return t


def compound(size, *members):
    t = h5t.create(h5t.COMPOUND, size)
    for i, (offset, m) in enumerate(members):
        t.insert(b"m%d" % i, offset, m)
    return t


def opaque(size):
    t = h5t.create(h5t.OPAQUE, size)
    t.set_tag(b"o")
    return t


def enum(base):
    t = h5t.enum_create(base)
    for i, name in enumerate((b"a", b"b", b"c")):
        t.enum_insert(name, i)
    return t


LE, BE = h5t.ORDER_LE, h5t.ORDER_BE
INT = {1: h5t.STD_I8LE, 2: h5t.STD_I16LE, 4: h5t.STD_I32LE, 8: h5t.STD_I64LE}


def cases():
    for size, widths in {1: [(1, 0), (5, 3), (7, 1), (8, 0)], 2: [(1, 15), (9, 0), (12, 3), (13, 2)],
                         4: [(3, 11), (17, 0), (20, 7), (31, 1), (24, 8)],
                         8: [(2, 31), (33, 5), (57, 0), (57, 7), (58, 3), (63, 0), (63, 1)]}.items():
        for order, o in ((LE, "le"), (BE, "be")):
            for p, at in widths:
                yield "int%d %s %d bits at %d" % (8 * size, o, p, at), number(INT[size], p, at, order), 13
    wide = h5t.STD_I64LE.copy()
    wide.set_size(16)
    for order, o in ((LE, "le"), (BE, "be")):
        for p, at in ((128, 0), (80, 0), (100, 11), (7, 64), (9, 60)):
            yield "int128 %s %d bits at %d" % (o, p, at), number(wide, p, at, order), 5
        three = INT[4].copy()
        three.set_size(3)
        yield "int24 %s 19 bits at 4" % o, number(three, 19, 4, order), 7
        yield "float %s 20 bits at 7" % o, small_float(order), 9
    i12 = number(INT[2], 12, 3, LE)
    yield "array of int16", h5t.array_create(i12, (3, 5)), 3
    yield "array of arrays", h5t.array_create(h5t.array_create(number(INT[4], 9, 13, BE), (2,)), (3,)), 4
    inner = compound(11, (1, number(INT[4], 17, 5, LE)), (6, enum(INT[1])), (7, number(INT[2], 11, 0, BE)))
    yield "compound", inner, 7
    yield "array of compounds", h5t.array_create(inner, (4,)), 3
    # libhdf5 reads the wrong parameters after an array of compounds or of arrays, so it must come last.
    last = compound(27, (3, h5t.array_create(inner, (2,))))
    yield "nested compound", compound(64, (0, opaque(5)), (5, inner), (17, h5t.array_create(i12, (2, 2))),
                                      (25, small_float(BE)), (30, h5t.array_create(last, (1,)))), 5
    yield "array of strings in a compound", compound(32, (2, number(INT[1], 3, 2)),
                                                     (5, h5t.array_create(opaque(7), (3,)))), 4
    yield "padding only between members", compound(24, (0, h5t.STD_I16LE), (8, h5t.IEEE_F64BE)), 3
    yield "no padding at all", h5t.IEEE_F64LE, 3
    yield "enum, stored as it is", enum(INT[4]), 5


def write(folder, rng, name, dtype, count):
    space = h5s.create_simple((count,))
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk((count,))
    dcpl.set_filter(h5z.FILTER_NBIT, h5z.FLAG_MANDATORY, ())
    path = os.path.join(folder, "x.h5")
    f = h5f.create(path.encode())
    d = h5d.create(f, b"d", dtype, space, dcpl)
    values = rng.integers(0, 256, count * dtype.get_size(), dtype=np.uint8)
    d.write(space, space, values, dtype)
    stored = d.read_direct_chunk((0,))[1]
    params = d.get_create_plist().get_filter(0)[2]
    del d
    f.close()  # otherwise the values come from the chunk cache, with their padding
    d = h5d.open(h5f.open(path.encode()), b"d")
    got = np.zeros_like(values)
    d.read(space, space, got, dtype)
    text = lambda b: base64.b64encode(bytes(b)).decode()
    return {"name": name, "values": list(params), "stored": text(stored), "want": text(got)}


def main():
    rng = np.random.default_rng(5)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps(write(folder, rng, *case)) for case in cases()]
        out.write("[\n" + ",\n".join(lines) + "\n]\n")


main()
