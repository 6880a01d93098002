"""Writes blosc1.txt: chunks of numcodecs.blosc, or of hdf5plugin for snappy, one per line.

    cname shuffle typesize clevel blocksize kind length hex

kind and length give the decoded chunk; see sample.py.
"""
import os

import h5py
import hdf5plugin
import numpy as np
from numcodecs import blosc

from sample import sample


def cases():
    for cname in blosc.list_compressors():
        for shuffle in (0, 1, 2):
            yield cname, shuffle, 4, 5, 0, "steps", 4000
            yield cname, shuffle, 4, 5, 0, "steps", 1003
            yield cname, shuffle, 8, 9, 1024, "steps", 4100
            yield cname, shuffle, 2, 1, 512, "zeros", 70001
        yield cname, 1, 1, 5, 0, "steps", 1000
        yield cname, 1, 3, 5, 768, "steps", 2000
        yield cname, 2, 16, 5, 2048, "steps", 4500
        yield cname, 1, 17, 5, 0, "steps", 3000
        yield cname, 1, 255, 5, 0, "steps", 3000
        yield cname, 1, 4, 0, 0, "steps", 300
        yield cname, 1, 4, 5, 0, "noise", 700
        yield cname, 1, 4, 5, 0, "smooth", 100
        yield cname, 1, 4, 5, 0, "smooth", 1
        yield cname, 2, 4, 5, 0, "sparse", 600
        yield cname, 1, 8, 3, 0, "zeros", 300000


def snappy(data, typesize, shuffle):
    with h5py.File("blosc", "w", driver="core", backing_store=False) as f:
        values = np.frombuffer(data, f"V{typesize}")
        how = hdf5plugin.Blosc(cname="snappy", clevel=5, shuffle=shuffle)
        d = f.create_dataset("d", data=values, chunks=values.shape, compression=how)
        mask, raw = d.id.read_direct_chunk((0,))
        assert mask == 0
        return raw


blosc.set_nthreads(1)
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "blosc1.txt"), "w") as out:
    for cname, shuffle, typesize, clevel, blocksize, kind, length in cases():
        raw = blosc.compress(sample(kind, length), cname.encode(), clevel, shuffle, blocksize, typesize=typesize)
        print(cname, shuffle, typesize, clevel, blocksize, kind, length, raw.hex(), file=out)
    for shuffle in (0, 1, 2):
        for kind, length, typesize in (("steps", 4000, 4), ("steps", 3000, 3), ("zeros", 70000, 2), ("sparse", 600, 4)):
            raw = snappy(sample(kind, length), typesize, shuffle)
            print("snappy", shuffle, typesize, 5, 0, kind, length, raw.hex(), file=out)
