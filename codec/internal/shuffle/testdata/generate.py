"""Writes bitshuffle.txt: chunks of HDF5's filter 32008 without compression, one per line.

    elemsize blockelems(0: the filter's choice) length hex

A chunk decodes to length bytes b[i] = (i * i * 7 + i // 256) % 256.
"""
import os

import h5py
import hdf5plugin
import numpy as np


def chunk(size, block, length):
    i = np.arange(length)
    values = ((i * i * 7 + i // 256) % 256).astype("u1").view(f"V{size}")
    with h5py.File("bits", "w", driver="core", backing_store=False) as f:
        how = hdf5plugin.Bitshuffle(nelems=block, cname="none")
        d = f.create_dataset("d", data=values, chunks=values.shape, compression=how)
        mask, raw = d.id.read_direct_chunk((0,))
        assert mask == 0
        return raw


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "bitshuffle.txt"), "w") as out:
    for size, block, elems in (
        (1, 0, 100), (1, 16, 61), (2, 0, 65), (3, 8, 45), (4, 0, 40), (4, 16, 203), (4, 0, 2048 + 21),
        (8, 0, 1024 + 13), (8, 64, 100), (12, 0, 33), (100, 0, 140), (4, 0, 7),
    ):
        print(size, block, size * elems, chunk(size, block, size * elems).hex(), file=out)
