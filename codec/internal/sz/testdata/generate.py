#!/usr/bin/env python3
"""Writes vectors.json: chunks that SZ compressed, with the filter's values and the numbers that the library reads back.

    generate.py            in this folder; needs h5py, hdf5plugin and numpy

Most come from libhdf5 with hdf5plugin's filter. Those whose name starts with "lib" come from the
library inside it, which can be told what the filter's values cannot say.

A line is {"name", "values", "stored", "want": base64}.
"""
import base64
import ctypes
import json
import os
import struct
import sys
import tempfile

import h5py
import hdf5plugin
import numpy as np

TYPES = ["f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
ABS, REL, ABS_AND_REL, ABS_OR_REL, PSNR, PW_REL = 0, 1, 2, 3, 4, 10


def bounds(mode, value):
    """The filter's values for a bound."""
    at = {ABS: 0, REL: 1, PW_REL: 2, PSNR: 3}[mode]
    return (mode, *struct.unpack(">8I", struct.pack(">4d", *(value if i == at else 0.0 for i in range(4)))))


def field(shape, kind, rng):
    grid = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij")
    smooth = 10 * sum(np.sin((i + 1) * x) for i, x in enumerate(grid))
    if kind == "smooth":
        return smooth
    if kind == "noise":
        return rng.normal(size=shape) * 100
    if kind == "spikes":
        return smooth + rng.normal(size=shape) * 0.01 + (rng.random(shape) < 0.03) * 1e4
    if kind == "constant":
        return np.full(shape, 3.25)
    if kind == "mean":
        return np.where(rng.random(shape) < 0.7, 5.0, smooth)
    if kind == "slope":
        return 4 * sum((i + 1) * x for i, x in enumerate(grid)) + rng.normal(size=shape) * 0.1
    if kind == "powers":
        return np.exp(smooth / 3) * np.where(np.arange(smooth.size).reshape(shape) % 40 < 5, -1, 1)
    if kind == "signs":
        v = np.exp(smooth / 5) * np.where(rng.random(shape) < 0.5, -1, 1)
        v[rng.random(shape) < 0.2] = 0
        return v
    if kind == "decades":
        return np.exp(rng.normal(size=shape) * 8)
    return np.round(np.abs(smooth) * 2) + rng.integers(0, 3, size=shape)  # steps


def line(name, values, stored, want):
    return {"name": name, "values": [v & 0xFFFFFFFF for v in values],
            "stored": base64.b64encode(stored).decode(), "want": base64.b64encode(want).decode()}


def filtered(name, data, options):
    """A chunk that libhdf5 wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.h5")
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=data, chunks=data.shape, compression=32017, compression_opts=options)
        with h5py.File(path) as f:
            values = f["x"].id.get_create_plist().get_filter(0)[2]
            _, stored = f["x"].id.read_direct_chunk((0,) * data.ndim)
            return line(name, values, stored, f["x"][...].tobytes())


SETTINGS = {
    "ENV": {"dataEndianType": "LITTLE_ENDIAN_DATA", "sol_name": "SZ"},
    "PARAMETER": {"max_quant_intervals": 65536, "quantization_intervals": 0, "sampleDistance": 100,
                  "predThreshold": 0.99, "szMode": "SZ_BEST_COMPRESSION", "losslessCompressor": "ZSTD_COMPRESSOR",
                  "gzipMode": "Gzip_BEST_SPEED", "zstdMode": "Zstd_HIGH_SPEED", "errorBoundMode": "ABS",
                  "absErrBound": 0.01, "relBoundRatio": 0.01, "psnr": 80, "normErr": 0.05,
                  "pw_relBoundRatio": 0.01, "accelerate_pw_rel_compression": 1,
                  "withLinearRegression": "YES", "protectValueRange": "NO", "randomAccess": 0,
                  "segment_size": 32, "pwr_type": "AVG"},
}


def direct(name, data, bound, mode=ABS, **settings):
    """A stream that the library wrote with settings."""
    lib = ctypes.CDLL(os.path.join(hdf5plugin.PLUGIN_PATH, "libh5sz.so"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sz.config")
        with open(path, "w") as f:
            for section, entries in SETTINGS.items():
                f.write("[%s]\n" % section)
                for key, value in {**entries, **(settings if section == "PARAMETER" else {})}.items():
                    f.write("%s = %s\n" % (key, value))
        if lib.SZ_Init(path.encode()) != 0:
            sys.exit("SZ_Init failed")
    data = np.ascontiguousarray(data)
    kind = TYPES.index(data.dtype.str[1:])
    lengths = [ctypes.c_size_t(n) for n in (0,) * (5 - data.ndim) + data.shape]
    size = ctypes.c_size_t()
    lib.SZ_compress_args.restype = lib.SZ_decompress.restype = ctypes.c_void_p
    copy = data.copy()  # because the encoder changes zeros
    three = [ctypes.c_double(bound)] * 3
    out = lib.SZ_compress_args(kind, copy.ctypes.data_as(ctypes.c_void_p), ctypes.byref(size), mode, *three, *lengths)
    stored = ctypes.string_at(out, size.value)
    want = ctypes.string_at(lib.SZ_decompress(kind, stored, ctypes.c_size_t(len(stored)), *lengths), data.nbytes)
    values = [data.ndim, kind] + ([0] if data.ndim == 1 else []) + list(reversed(data.shape))
    return line("lib " + name, values, stored, want)


def floats(rng):
    shapes = [(180,), (18, 21), (7, 8, 9), (2, 5, 6, 7), (9, 1, 20)]
    for i, shape in enumerate(shapes):
        for j, (kind, mode, bound) in enumerate([
                ("smooth", ABS, 1e-2), ("spikes", REL, 1e-5), ("mean", ABS, 0.5), ("noise", PSNR, 50.0),
                ("signs", PW_REL, 1e-2), ("decades", PW_REL, 0.3), ("constant", ABS, 0.1)]):
            t = TYPES[(i + j) % 2]
            data = field(shape, kind, rng).astype(t)
            yield filtered("%s %s %s %d %g" % (t, shape, kind, mode, bound), data, bounds(mode, bound))
    for t in TYPES[:2]:
        for shape in (24, 25), (10, 8, 7), (2, 6, 6, 7):
            yield filtered("%s %s slope" % (t, shape), field(shape, "slope", rng).astype(t), bounds(ABS, 1e-3 if t == "f8" else 0.02))
            yield filtered("%s %s powers" % (t, shape), field(shape, "powers", rng).astype(t), bounds(PW_REL, 1e-2))
    # The filter takes the first length as the only dimension, and so stores the chunk without compression.
    yield filtered("f4 (1, 90)", field((1, 90), "smooth", rng).astype("f4"), bounds(ABS, 0.1))
    for t in TYPES[:2]:
        yield filtered("%s 3 elements" % t, field((3,), "smooth", rng).astype(t), bounds(ABS, 0.1))
        yield filtered("%s logarithms" % t, field((11, 13), "powers", rng).astype(t), bounds(PW_REL, 9e-6))


def integers(rng):
    shapes = [(500,), (20, 24), (7, 8, 9), (4, 4, 5, 6)]
    for i, t in enumerate(TYPES[2:]):
        for j in range(2):
            shape = shapes[(i + i // 4 + 2 * j) % len(shapes)]
            data = field(shape, "steps", rng).astype(t)
            data.flat[77] = np.iinfo(t).max // 3
            yield filtered("%s %s steps" % (t, shape), data, bounds(ABS, (4.0, 1.0)[j]))
        least, most = np.iinfo(t).min // 2, np.iinfo(t).max // 2
        data = rng.integers(least, most, size=(8, 9), dtype=t)
        if np.dtype(t).itemsize != 4:  # because the encoder fails for 4-byte types
            yield filtered("%s noise" % t, data, bounds(ABS, 2.0))
        yield filtered("%s constant" % t, np.full((5, 7), 9, dtype=t), bounds(ABS, 2.0))


def settings(rng):
    for t in TYPES[:2]:
        for shape in [(150,), (9, 14), (5, 5, 6)] + ([(2, 3, 5, 6)] if t == "f8" else []):
            data = field(shape, "spikes", rng).astype(t)
            yield direct("%s %s classic" % (t, shape), data, 0.01, withLinearRegression="NO")
        data = field((15, 17), "smooth", rng).astype(t)
        yield direct("%s bare" % t, data, 0.01, szMode="SZ_BEST_SPEED")
        yield direct("%s zlib" % t, data, 0.01, losslessCompressor="GZIP_COMPRESSOR")
        yield direct("%s clamped" % t, data, 0.5, protectValueRange="YES")
        for shape in [(150,), (9, 14), (5, 5, 6), (2, 3, 5, 6)]:
            data = field(shape, "powers", rng).astype(t)
            yield direct("%s %s logarithms" % (t, shape), data, 0.01, PW_REL, accelerate_pw_rel_compression=0)


def main():
    rng = np.random.default_rng(32017)
    # Bounds below 1e-5 switch off factors in the library for good, so the settings come last.
    lines = [*integers(rng), *floats(rng), *settings(rng)]
    with open("vectors.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(v) for v in lines) + "\n]\n")


if __name__ == "__main__":
    main()
