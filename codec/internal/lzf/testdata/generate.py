"""Writes vectors.txt: chunks of h5py's lzf filter, one per line.

    name kind length hex

kind and length give the decoded chunk; see sample() here and vectors.Sample in Go.
"""
import os

import h5py
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


def lzf(data):
    with h5py.File("lzf", "w", driver="core", backing_store=False) as f:
        values = np.frombuffer(data, "u1")
        d = f.create_dataset("d", data=values, chunks=values.shape, compression="lzf")
        mask, raw = d.id.read_direct_chunk((0,))
        return None if mask else raw


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "vectors.txt"), "w") as out:
    for kind in ("smooth", "zeros", "sparse", "noise"):
        for length in (10, 100, 1003, 4096, 20000 if kind == "zeros" else 3000):
            raw = lzf(sample(kind, length))
            if raw is not None:
                print(f"{kind}-{length}", kind, length, raw.hex(), file=out)
