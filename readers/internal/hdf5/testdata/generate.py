#!/usr/bin/env python3
"""Writes short_chunks.h5: chunks at the border that end with the dataset, as H5Dwrite_chunk takes them. Needs h5py."""
import os, zlib
import h5py, numpy as np

with h5py.File(os.path.join(os.path.dirname(os.path.abspath(__file__)), "short_chunks.h5"), "w", libver="v110") as f:
    # What is kept of the last chunk. Of "damaged" libhdf5 reads memory that it never wrote.
    for name, shape, chunk, kept in (("x", (5,), (4,), 1), ("rows", (3, 3), (2, 2), 1), ("damaged", (7,), (4,), 2)):
        d = f.create_dataset(name, shape, "<i4", chunks=chunk, shuffle=True, compression="gzip")
        d[...] = np.arange(np.prod(shape)).reshape(shape)
        last = tuple((n - 1) // c * c for n, c in zip(shape, chunk))
        part = np.zeros(chunk, "<i4")
        part[tuple(slice(n - a) for n, a in zip(shape, last))] = d[tuple(slice(a, None) for a in last)]
        d.id.write_direct_chunk(last, zlib.compress(part.ravel()[:kept].view("u1").reshape(-1, 4).T.tobytes()))
    d = f.create_dataset("two rows", (3, 3), "<i4", chunks=(3, 2), compression="gzip")
    d[...] = np.arange(9).reshape(3, 3)
    d.id.write_direct_chunk((0, 2), zlib.compress(np.array([2, 0, 5, 0, 8], "<i4").tobytes()))
