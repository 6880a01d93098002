#!/usr/bin/env python3
"""Writes vectors.json: chunks that H5Z-ZFP wrote and streams that ZFP wrote, with hashes of the elements that libhdf5 and ZFP read.

    generate.py            needs h5py, hdf5plugin, imagecodecs, numpy

A line is {"name", "values": the filter's client values, or none if the stream has a header, "stored": base64, "size": bytes of the
elements, "sum": SHA-256 of them}. What the encoder does not write (a machine of the other byte order, older versions, limits that HDF5 does not
let through) is written by patching the client values of a file, and what counts is what libhdf5 reads then.
"""
import base64
import hashlib
import json
import os
import struct
import tempfile

import h5py
import hdf5plugin
import imagecodecs
import numpy as np

SHAPES = [(19,), (7, 6), (5, 1, 3, 1, 6), (2, 5, 3, 5)]
TYPES = ["i4", "i8", "f4", "f8"]
MODES = {
    "rate 7.3": {"rate": 7.3},
    "precision 11": {"precision": 11},
    "accuracy 0.004": {"accuracy": 0.004},
    "accuracy 64": {"accuracy": 64.0},
    "reversible": {"reversible": True},
    "expert": {"minbits": 100, "maxbits": 700, "maxprec": 20, "minexp": -9},
}


def smooth(shape, dtype):
    """A smooth field with some noise and zeros, scaled to the type's range."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(len(shape))
    axes = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    x = sum(np.sin(0.3 * (i + 1) * a + i) for i, a in enumerate(axes)) + 0.01 * rng.standard_normal(shape)
    if dtype.kind == "i":
        return (x * 2.0 ** (8 * dtype.itemsize - 6)).astype(dtype)
    x *= 100
    x.flat[:4] = 0
    return x.astype(dtype)


def noise(dtype):
    """Numbers that overflow the transform, and floats that only the reversible mode preserves."""
    dtype = np.dtype(dtype)
    x = np.random.default_rng(3).integers(0, 256, (8, 9, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0].copy()
    if dtype.kind == "f":
        i = np.finfo(dtype)
        x[0, :8] = [np.nan, np.inf, -np.inf, -0.0, i.tiny, i.max, i.smallest_subnormal, 0]
    return x


def huge(dtype):
    return (np.random.default_rng(5).uniform(-1, 1, 37) * np.finfo(dtype).max).astype(dtype)


def tiny(dtype, most):
    """Multiples of the smallest positive float."""
    dtype = np.dtype(dtype)
    k = np.random.default_rng(4).integers(-most, most, 37)
    return k.astype(dtype) * np.finfo(dtype).smallest_subnormal


def bits(*fields):
    """Client values that pack the given (value, bits) in order."""
    total, at = 0, 0
    for value, n in fields:
        total |= value << at
        at += n
    return tuple(struct.unpack("<%dI" % -(-at // 32), total.to_bytes(4 * -(-at // 32), "little")))


def header(values, mode, wide=None):
    """The client values with another mode: 12 bits, or the four stored limits."""
    whole = int.from_bytes(struct.pack("<3I", *values[1:4]), "little")
    meta = whole >> 32 & (1 << 52) - 1
    fields = [(0x570667A, 32), (meta, 52), (mode, 12)]
    if wide:
        minbits, maxbits, maxprec, minexp = wide
        fields += [(minbits - 1, 15), (maxbits - 1, 15), (maxprec - 1, 7), (minexp + 16495, 15)]
    return (values[0], *bits(*fields))


class Files:
    def __init__(self, folder):
        self.path = os.path.join(folder, "x.h5")

    def write(self, data, options):
        """(client values, stored chunk)"""
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=data, chunks=data.shape, compression=hdf5plugin.Zfp(**options))
        with h5py.File(self.path) as f:
            d = f["d"].id
            mask, stored = d.read_direct_chunk((0,) * data.ndim)
            assert mask == 0
            return d.get_create_plist().get_filter(0)[2], stored

    def read(self, shape, dtype, values, stored):
        """The elements that libhdf5 reads from a chunk with these client values."""
        with h5py.File(self.path, "w") as f:
            # Expert mode has 6 parameters, so that any other mode can be patched in.
            d = f.create_dataset("d", shape, np.dtype(dtype).newbyteorder("<"), chunks=shape,
                                 compression=hdf5plugin.Zfp(minbits=3, maxbits=5000, maxprec=33, minexp=-77))
            d.id.write_direct_chunk((0,) * len(shape), stored)
            was = d.id.get_create_plist().get_filter(0)[2]
        with open(self.path, "rb") as f:
            text = f.read()
        old = struct.pack("<6I", *was)
        assert text.count(old) == 1 and len(was) == 6
        with open(self.path, "wb") as f:
            f.write(text.replace(old, struct.pack("<6I", *values, *(0,) * (6 - len(values)))))
        with h5py.File(self.path) as f:
            return f["d"][...]


def line(name, values, stored, want):
    want = np.ascontiguousarray(want).tobytes()
    return {"name": name, "values": list(values), "stored": base64.b64encode(bytes(stored)).decode(), "size": len(want),
            "sum": hashlib.sha256(want).hexdigest()}


def by_hdf5(files):
    for dtype in TYPES:
        cases = [(f"{len(s)}-D {mode}", smooth(s, dtype), o) for s in SHAPES for mode, o in MODES.items()
                 if dtype[0] == "f" or "accuracy" not in o or s == SHAPES[1]]  # integers have no accuracy mode
        for mode in ("rate 7.3", "precision 11", "reversible"):
            cases.append((f"noise {mode}", noise(dtype) if mode == "reversible" or dtype[0] == "i" else huge(dtype), MODES[mode]))
        cases.append(("rate 64", noise("i" + dtype[1])[:5].astype(dtype), {"rate": 64}))
        cases.append(("zeros", np.zeros((9, 6), dtype), {"accuracy": 0.1}))
        if dtype[0] == "f":
            cases += [(f"tiny {most} {mode}", tiny(dtype, most), MODES[mode])
                      for most in (3, 1000, 1 << 22) for mode in ("rate 7.3", "precision 11", "reversible")]
        for name, data, options in cases:
            values, stored = files.write(data, options)
            with h5py.File(files.path) as f:
                yield line(f"{dtype} {name}", values, stored, f["d"][...])


def blocks(files):
    """Blocks of whole bytes, which a benchmark can repeat."""
    for dtype in TYPES:
        for n in (1, 2, 3, 4):
            least = {"minbits": {1: 264}.get(n, 65 * 4**n), "maxbits": 16658, "maxprec": 64, "minexp": -1075}
            for name, options in (("rate", {"rate": 8}), ("reversible", least)):
                if name == "reversible" and n == 4:
                    continue  # 2 KiB
                data = smooth((8,) * n, dtype)[(slice(4, 8),) * n]
                values, stored = files.write(data, options)
                with h5py.File(files.path) as f:
                    yield line(f"{dtype} block {n}-D {name}", values, stored, f["d"][...])


def patched(files):
    for dtype in TYPES:
        data = smooth((7, 6), dtype)
        values, stored = files.write(data, {"precision": 40})
        got = lambda v, s: files.read(data.shape, dtype, v, s)
        swapped = (values[0], *(int.from_bytes(struct.pack("<I", v), "big") for v in values[1:]))
        yield line(f"{dtype} other byte order", swapped, stored, got(swapped, stored))
        for version in () if dtype != "f8" else (0x2350030, 0x400030, 0x500020, 0x540090, 0x552100, 0x1005111):
            old = (version, *values[1:])
            yield line(f"{dtype} version {version:#x}", old, stored, got(old, stored))
        # Any bits are a valid stream. No encoder sets these limits, so the decoder reads as much as possible.
        data = smooth((2, 7), dtype)
        values, _ = files.write(data, {"precision": 40})
        stream = np.random.default_rng(6).integers(0, 256, 248, dtype=np.uint8).tobytes()
        for mode, wide in ((0, None), (4, None), (10, None), (2048, None), (2111, None), (2176, None), (2177, None), (4094, None),
                           (4095, (1, 7, 64, -1074)), (4095, (700, 900, 3, -16495)), (4095, (30, 100, 64, -2000)), (4095, (40, 100, 25, 90))):
            v = header(values, mode, wide)
            yield line(f"{dtype} bits as mode {mode} {wide or ''}".strip(), v, stream, got(v, stream))


def by_zfp():
    for dtype in TYPES:
        for shape in ((19,), (7, 6), (5, 3, 6)):
            data = smooth(shape, dtype)
            for mode, level in (("FIXED_PRECISION", 13), ("FIXED_RATE", 9.0), ("FIXED_ACCURACY", 0.02), ("REVERSIBLE", None)):
                stored = imagecodecs.zfp_encode(data, level, mode=imagecodecs.ZFP.MODE[mode])
                yield line(f"{dtype} {len(shape)}-D stream {mode.lower()}", [], stored, imagecodecs.zfp_decode(stored))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        files = Files(folder)
        lines = [*by_hdf5(files), *blocks(files), *patched(files), *by_zfp()]
    with open(os.path.join(here, "vectors.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(x) for x in lines) + "\n]\n")


if __name__ == "__main__":
    main()
