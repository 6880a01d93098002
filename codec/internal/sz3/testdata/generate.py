#!/usr/bin/env python3
"""Writes vectors.json: chunks that SZ 3 compressed, with the filter's values and what the library reads back.

    generate.py            in this folder; needs h5py, hdf5plugin and numpy

Most come from libhdf5 with hdf5plugin's filter. Those whose name starts with "lib" come from the
library inside it, which can be told what the filter's values cannot say.

A line is {"name", "values", "stored", "want": base64}.
"""
import base64
import ctypes
import json
import multiprocessing
import os
import sys
import tempfile

import h5py
import hdf5plugin
import numpy as np

TYPES = ["f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
NAMES = dict(zip(TYPES, "fdhatsjiml"))  # letters of the types in the library's C++ symbols
LORENZO_REG, INTERP_LORENZO, INTERP = 0, 1, 2


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
    if kind == "slope":
        return 4 * sum((i + 1) * x for i, x in enumerate(grid)) + rng.normal(size=shape) * 0.1
    if kind == "decades":
        return np.exp(rng.normal(size=shape) * 8)
    if kind == "grain":  # values that neighbours predict better than interpolation
        return np.cumsum(rng.normal(size=shape), axis=-1) + smooth
    return np.round(np.abs(smooth) * 2) + rng.integers(0, 3, size=shape)  # steps


def line(name, values, stored, want):
    return {"name": name, "values": [v & 0xFFFFFFFF for v in values],
            "stored": base64.b64encode(stored).decode(), "want": base64.b64encode(want).decode()}


def filtered(name, data, **bound):
    """A chunk that libhdf5 wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.h5")
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=data, chunks=data.shape, **hdf5plugin.SZ3(**bound))
        with h5py.File(path) as f:
            values = f["x"].id.get_create_plist().get_filter(0)[2]
            _, stored = f["x"].id.read_direct_chunk((0,) * data.ndim)
            return line(name, values, stored, f["x"][...].tobytes())


class Config(ctypes.Structure):
    """SZ::Config of version 3.1."""
    _fields_ = [("N", ctypes.c_char), ("dims", ctypes.c_void_p * 3), ("num", ctypes.c_size_t),
                ("cmprAlgo", ctypes.c_uint8), ("errorBoundMode", ctypes.c_uint8),
                ("absErrorBound", ctypes.c_double), ("relErrorBound", ctypes.c_double),
                ("psnrErrorBound", ctypes.c_double), ("l2normErrorBound", ctypes.c_double),
                ("lorenzo", ctypes.c_bool), ("lorenzo2", ctypes.c_bool), ("regression", ctypes.c_bool),
                ("regression2", ctypes.c_bool), ("openmp", ctypes.c_bool),
                ("lossless", ctypes.c_uint8), ("encoder", ctypes.c_uint8),
                ("interpAlgo", ctypes.c_uint8), ("interpDirection", ctypes.c_uint8),
                ("interpBlockSize", ctypes.c_int), ("quantbinCnt", ctypes.c_int), ("blockSize", ctypes.c_int),
                ("stride", ctypes.c_int), ("pred_dim", ctypes.c_int)]


def direct(name, data, bound, **settings):
    """A stream that the library wrote with settings. It writes behind its buffers where there
    is much to store, and so works in a process of its own."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            return pool.apply_async(called, (name, data, bound, settings)).get(timeout=5)
        except multiprocessing.TimeoutError:
            sys.exit("the library crashes with " + name)


def called(name, data, bound, settings):
    lib = ctypes.CDLL(os.path.join(hdf5plugin.PLUGIN_PATH, "libh5sz3.so"))
    kind = data.dtype.str[1:]
    compress = getattr(lib, "_Z11SZ_compressI%sEPcRKN2SZ6ConfigEPKT_Rm" % NAMES[kind])
    decompress = getattr(lib, "_Z13SZ_decompressI%sEvRN2SZ6ConfigEPcmRPT_" % NAMES[kind])
    compress.restype, decompress.restype = ctypes.c_void_p, None
    data = np.ascontiguousarray(data)
    dims = (ctypes.c_size_t * data.ndim)(*data.shape)
    begin, end = ctypes.addressof(dims), ctypes.addressof(dims) + ctypes.sizeof(dims)
    block = {1: 128, 2: 16}.get(data.ndim, 6)
    conf = Config(N=bytes([data.ndim]), dims=(ctypes.c_void_p * 3)(begin, end, end), num=data.size,
                  cmprAlgo=LORENZO_REG, absErrorBound=bound, lossless=1, encoder=1, interpAlgo=1,
                  interpBlockSize=32, quantbinCnt=65536, blockSize=block, stride=block, pred_dim=data.ndim)
    for key, value in settings.items():
        setattr(conf, key, value)
    size = ctypes.c_size_t()
    out = compress(ctypes.byref(conf), data.ctypes.data_as(ctypes.c_void_p), ctypes.byref(size))
    stored = ctypes.string_at(out, size.value)
    want = np.empty_like(data)
    pointer = ctypes.c_void_p(want.ctypes.data)
    source = ctypes.create_string_buffer(stored, len(stored))
    decompress(ctypes.byref(Config()), source, ctypes.c_size_t(len(stored)), ctypes.byref(pointer))
    values = [data.ndim, TYPES.index(kind)] + ([0] if data.ndim == 1 else []) + list(reversed(data.shape))
    return line("lib " + name, values, stored, want.tobytes())


def cast(values, t):
    if t[0] == "f":
        return values.astype(t)
    return np.clip(values, np.iinfo(t).min, np.iinfo(t).max).astype(t)


def filters(rng):
    shapes = [(150,), (13, 18), (6, 7, 8), (3, 3, 5, 6), (9, 1, 15), (41, 3), (2, 60)]
    cases = [("smooth", {"absolute": 1e-2}), ("spikes", {"relative": 1e-5}), ("noise", {"peak_signal_to_noise_ratio": 50}),
             ("grain", {"absolute": 0.01}), ("slope", {"norm2": 0.5}), ("steps", {"absolute": 1.0}),
             ("decades", {"relative": 1e-3})]
    for i, shape in enumerate(shapes):
        for j, (kind, bound) in enumerate(cases):
            t = TYPES[(i + j) % 2]
            yield filtered("%s %s %s %s" % (t, shape, kind, bound), cast(field(shape, kind, rng), t), **bound)
    for t in TYPES[:2]:
        yield filtered("%s constant" % t, cast(field((5, 8), "constant", rng), t), absolute=0.1)
        yield filtered("%s constant, no bound" % t, cast(field((5, 8), "constant", rng), t), relative=0.1)
        yield filtered("%s 3 elements" % t, cast(field((3,), "smooth", rng), t), absolute=0.1)
        yield filtered("%s 20 elements" % t, cast(field((20,), "smooth", rng), t), absolute=0.1)
        data = cast(field((12, 15), "smooth", rng), t)
        data[3, 4] = data[7, 8] = np.inf
        yield filtered("%s with infinity" % t, data, absolute=0.1)
    data = cast(field((12, 15), "smooth", rng), "f4")
    data[3, 4] = np.nan  # because the library needs gigabytes and minutes for it, and changes the value
    yield filtered("f4 with NaN", data, absolute=0.1)
    # The filter takes the first length as the only dimension, and so stores the chunk without compression.
    yield filtered("f4 (1, 90)", cast(field((1, 90), "smooth", rng), "f4"), absolute=0.1)
    for i, t in enumerate(TYPES[2:]):
        for j in range(2):
            shape = shapes[(i + 2 * j) % 4]
            data = cast(field(shape, "steps", rng), t)
            data.flat[77] = np.iinfo(t).max // 3
            yield filtered("%s %s steps" % (t, shape), data, absolute=(4.0, 1.0)[j])
        data = rng.integers(np.iinfo(t).min, np.iinfo(t).max, size=(6, 9), dtype=t)
        yield filtered("%s noise" % t, data, absolute=2.0)


def settings(rng):
    predictors = {"order 1": dict(lorenzo=True), "order 2": dict(lorenzo2=True),
                  "two orders": dict(lorenzo=True, lorenzo2=True), "planes": dict(regression=True),
                  "curves": dict(regression2=True), "both": dict(lorenzo=True, regression=True),
                  "all": dict(lorenzo=True, lorenzo2=True, regression=True, regression2=True)}
    for i, shape in enumerate([(130,), (19, 14), (7, 8, 9), (3, 4, 5, 6), (7, 8, 1)]):
        for j, (name, chosen) in enumerate(predictors.items()):
            if chosen.get("regression2") and (len(shape) == 4):
                continue
            t = (TYPES if len(shape) < 4 else TYPES[:2])[(3 * i + j) % 2]
            data = cast(field(shape, "slope", rng), t)
            yield direct("%s %s by %s" % (t, shape, name), data, 0.02, **chosen)
    for axes in 1, 2, 3:
        for order in "lorenzo", "lorenzo2":
            data = cast(field((6, 9, 8), "spikes", rng), "f4")
            yield direct("f4 %s over %d axes" % (order, axes), data, 0.01, pred_dim=axes, blockSize=4, **{order: True})
    for t in TYPES[2:]:
        for shape in (300,), (6, 6, 7):
            data = cast(10 * field(shape, "slope", rng) - 20, t)
            yield direct("%s %s both" % (t, shape), data, 4.0, lorenzo=True, regression=True)
        yield direct("%s curves" % t, cast(10 * field((7, 8), "smooth", rng), t), 2.0, regression2=True, lorenzo=True)
        data = np.array([np.iinfo(t).min, np.iinfo(t).max], dtype=t)[rng.integers(0, 2, (9, 10))]
        data -= rng.integers(0, 2, data.shape).astype(t)
        yield direct("%s extremes" % t, data, 1.5, cmprAlgo=INTERP, interpAlgo=0)
        yield direct("%s extremes, cubic" % t, data, 1.5, cmprAlgo=INTERP)
    for shape in (7, 9, 11), (3, 7, 4, 5):
        orders = {3: 6, 4: 24}[len(shape)]
        for order in range(1, orders, 1 if orders == 6 else 5):
            data = cast(field(shape, "slope", rng), "f4")
            yield direct("f4 %s order %d of axes" % (shape, order), data, 0.05, cmprAlgo=INTERP, interpDirection=order, interpBlockSize=4)
    yield direct("f8 few intervals", cast(field((9, 9), "noise", rng), "f8"), 0.1, cmprAlgo=INTERP, quantbinCnt=16)


def main():
    rng = np.random.default_rng(32024)
    lines = [*filters(rng), *settings(rng)]
    with open("vectors.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(v) for v in lines) + "\n]\n")


if __name__ == "__main__":
    main()
