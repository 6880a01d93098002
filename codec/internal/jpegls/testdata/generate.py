#!/usr/bin/env python3
"""Writes vectors.json: chunks of FCIDECOMP's filter, and streams of CharLS of kinds that the filter does not write.
Writes bench.jls: an image of 12-bit samples, 128 x 128.

    generate.py            needs h5py, hdf5plugin, imagecodecs, numpy

A line is {"name", "params": the filter's, "stored": base64, "want": base64}. A chunk that libhdf5 cannot read has no "want".
"""
import base64
import json
import os
import struct
import tempfile

import h5py
import hdf5plugin
import imagecodecs
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

APART, LINE, PIXEL = 0, 1, 2


def line(name, params, stored, want):
    text = lambda b: None if b is None else base64.b64encode(bytes(b)).decode()
    want = None if want is None else np.ascontiguousarray(want).tobytes()
    return json.dumps({"name": name, "params": [int(p) for p in params], "stored": text(stored), "want": text(want)})


def by_hdf5(folder, name, values, bits=0, ilv=APART, near=0, preset=(0, 0, 0, 0, 0)):
    """preset is MAXVAL, T1, T2, T3, RESET."""
    space = h5s.create_simple(values.shape)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(values.shape)
    dcpl.set_filter(hdf5plugin.FCIDECOMP_ID, h5z.FLAG_OPTIONAL, (bits, 1, ilv, near, *preset))
    dtype = h5t.py_create(values.dtype)
    path = os.path.join(folder, "x.h5")
    f = h5f.create(path.encode())
    d = h5d.create(f, b"d", dtype, space, dcpl)
    d.write(space, space, np.ascontiguousarray(values), dtype)
    mask, stored = d.read_direct_chunk((0,) * values.ndim)
    params = d.get_create_plist().get_filter(0)[2]
    del d
    f.close()  # otherwise the values come from the chunk cache
    assert not mask, name
    got = np.zeros_like(values)
    f = h5f.open(path.encode())
    try:
        h5d.open(f, b"d").read(space, space, got, dtype)
    except OSError:
        got = None
    f.close()
    return line(name, params, stored, got)


def image(rng, kind, shape, top):
    *_, h, w = shape
    y, x = np.mgrid[0:h, 0:w]
    v = {
        "noise": lambda: rng.integers(0, top // 16 + 1, shape),  # larger noise would not compress, and the filter would be skipped
        "flat": lambda: np.full(shape, top // 3),
        "a slope": lambda: x * 3 + y * 5 + rng.integers(0, 2, shape),
        "spikes": lambda: np.where(rng.random(shape) < 0.04, top - 1, top // 2),
        "a late spike": lambda: top // 3 + (rng.random(shape) < 0.02) + (np.arange(h * w).reshape(h, w) == h * w - 9) * (top // 2),
        "edges": lambda: np.where((x // 4 + y // 3) % 2 > 0, top - 1, rng.integers(0, min(top, 4), shape)),
        "a walk": lambda: np.abs(np.cumsum(rng.integers(-3, 4, shape), axis=-1)),
    }[kind]()
    return (v + np.zeros(shape, int)) % top


def fci_cases(rng, folder):
    def case(what, dtype, shape, kind, bits=0, top=0, **more):
        size = np.dtype(dtype).itemsize
        v = image(rng, kind, shape, top or 1 << (bits or 8 * size)).astype("u%d" % size).view(dtype)
        return by_hdf5(folder, "%s, %s %s" % (what, dtype, kind), v, bits, **more)

    for kind in ("noise", "flat", "a slope", "spikes", "edges", "a walk"):
        yield case("one component", "|u1", (9, 23), kind)
        yield case("one component", "<u2", (9, 17), kind)
        yield case("near 3", "<u2", (9, 17), kind, bits=12, near=3)
    for dtype in ("|i1", "<i2", ">i2", ">u2"):
        yield case("type", dtype, (7, 11), "a slope")
    for bits in range(2, 9):
        yield case("%d bits" % bits, "|u1", (8, 16), "a walk", bits=bits)
        yield case("%d bits, near 1" % bits, "|u1", (8, 16), "edges", bits=bits, near=min(1, (1 << bits) // 2 - 1))
    for bits in range(9, 17):
        yield case("%d bits" % bits, "<u2", (8, 13), "a walk", bits=bits)
        yield case("%d bits, near 7" % bits, "<u2", (8, 13), "edges", bits=bits, near=7)
    for n in (1, 2, 3, 4):
        yield case("%d components apart" % n, "|u1", (n, 9, 14), "a slope")
        yield case("%d components apart, near 2" % n, "<i2", (n, 7, 11), "a walk", near=2)
    for n in (3, 4):
        for ilv, how in ((LINE, "line"), (PIXEL, "pixel")):
            for kind in ("a walk", "spikes", "edges"):
                yield case("%d components by %s" % (n, how), "|u1", (n, 9, 14), kind, ilv=ilv)
            yield case("%d components by %s, near 1" % (n, how), "<u2", (n, 9, 14), "a slope", ilv=ilv, near=1, bits=10)
    yield case("one line", "|u1", (1, 120), "a walk")
    yield case("one column", "<u2", (120, 1), "a slope")
    yield case("long runs", "|u1", (40, 200), "flat")
    for bits in (4, 8):
        yield case("an escape after runs, %d bits" % bits, "|u1", (12, 120), "a late spike", bits=bits)
    yield case("an escape after runs, by pixel", "<u2", (3, 8, 40), "a late spike", bits=12, ilv=PIXEL)
    yield case("near 255", "<u2", (8, 13), "noise", near=255)
    yield case("thresholds", "|u1", (9, 15), "a walk", preset=(0, 9, 9, 9, 0))
    yield case("far thresholds", "<u2", (12, 20), "a walk", preset=(0, 100, 20000, 65535, 0))
    yield case("RESET 31", "|u1", (12, 15), "a walk", preset=(255, 0, 0, 0, 31))
    yield case("RESET 3, by line", "|u1", (3, 9, 14), "edges", ilv=LINE, preset=(255, 0, 0, 0, 3))
    yield case("RESET 300", "<u2", (20, 21), "spikes", bits=12, preset=(4095, 0, 0, 0, 300))
    yield case("RESET 31 without MAXVAL, which leaves zeros", "|u1", (16, 20), "a slope", bits=4, preset=(0, 0, 0, 0, 31))
    yield case("MAXVAL 1000", "<u2", (8, 13), "edges", top=1000, preset=(1000, 0, 0, 0, 0))
    yield case("MAXVAL 3000 and RESET 32", "<u2", (16, 20), "a slope", bits=12, preset=(3000, 0, 0, 0, 32))
    yield case("more than 12 bits in 12", "<u2", (8, 13), "a walk", bits=12, top=1 << 16)
    yield case("more than 9 bits in 9", "<u2", (20, 19), "edges", bits=9, top=1 << 16, near=2)


def apart(stream):
    """Returns the bytes before the scan, the scan's header, and the scan."""
    at = stream.index(b"\xff\xda")
    end = at + 2 + struct.unpack(">H", stream[at + 2 : at + 4])[0]
    return stream[:at], stream[at:end], stream[end:-2]


def restart_cases(rng):
    """Restart intervals do not depend on earlier ones, so a stream with restarts is made by joining streams of the parts."""
    for dtype, bits, n, near, every in (("u1", 8, 1, 0, 1), ("u2", 12, 1, 2, 3), ("u1", 8, 3, 0, 4), ("u2", 16, 4, 0, 5)):
        shape = (11, 13, n) if n > 1 else (11, 13)
        v = np.cumsum(rng.integers(-2, 4, shape), axis=1).astype(dtype)
        encode = lambda v: apart(imagecodecs.jpegls_encode(np.ascontiguousarray(v), level=near, bitspersample=bits))
        start, scan, _ = encode(v)
        stream = start + struct.pack(">HHH", 0xFFDD, 4, every) + scan
        for i, y in enumerate(range(0, len(v), every)):
            mark = b"\xff%c" % (0xD0 + (i - 1) % 8) if i else b""
            stream += mark + encode(v[y : y + every])[2]
        stream += b"\xff\xd9"
        got = imagecodecs.jpegls_decode(stream)
        assert near or np.array_equal(got, v)
        name = "restart every %d lines, %d bits, %d components, near %d" % (every, bits, n, near)
        yield line(name, (v.itemsize, n, *shape[:2], bits, n) + (0,) * 7, stream, got)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    rng = np.random.default_rng(14495)
    with tempfile.TemporaryDirectory() as scratch:
        lines = list(fci_cases(rng, scratch)) + list(restart_cases(rng))
    with open(os.path.join(folder, "vectors.json"), "w") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")
    y, x = np.mgrid[0:128, 0:128]
    v = 1000 + 400 * np.sin(x / 50) + 300 * np.cos(y / 37) + rng.normal(0, 1, (128, 128))
    with open(os.path.join(folder, "bench.jls"), "wb") as f:
        f.write(imagecodecs.jpegls_encode(v.astype("u2"), bitspersample=12))


if __name__ == "__main__":
    main()
