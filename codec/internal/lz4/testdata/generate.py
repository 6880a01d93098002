"""Writes vectors.txt: chunks of numcodecs and of HDF5's lz4 filter, one per line.

    framing kind length hex

kind and length give the decoded chunk; see sample() here and vectors.Sample in Go.
"""
import os

import h5py
import hdf5plugin
import lz4.block
import numcodecs
import numpy as np


def sample(kind, length):
    if kind == "smooth":  # int32, little-endian
        i = np.arange(length // 4 + 1, dtype="<i8")
        return (i * i // 50 % 100003).astype("<i4").tobytes()[:length]
    if kind == "zeros":
        return bytes(length)
    out, x = bytearray(), 1
    for i in range(length):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(x >> 16 & (0xFF if kind == "noise" else 0x03))
    return bytes(out)


def hdf5(data, block):
    with h5py.File("lz4", "w", driver="core", backing_store=False) as f:
        values = np.frombuffer(data, "u1")
        d = f.create_dataset("d", data=values, chunks=values.shape, compression=hdf5plugin.LZ4(nbytes=block))
        mask, raw = d.id.read_direct_chunk((0,))
        assert mask == 0
        return raw


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "vectors.txt"), "w") as out:
    for kind in ("smooth", "zeros", "sparse", "noise"):
        for length in (1, 12, 13, 1003, 20000 if kind == "zeros" else 3000):
            data = sample(kind, length)
            print("block", kind, length, lz4.block.compress(data, store_size=False).hex(), file=out)
            print("numcodecs", kind, length, numcodecs.LZ4().encode(data).hex(), file=out)
            print("hdf5", kind, length, hdf5(data, 0).hex(), file=out)
            print("hdf5", kind, length, hdf5(data, 512).hex(), file=out)
