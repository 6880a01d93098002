"""Writes blosc2.txt: contiguous frames of Blosc2, one per line.

    name kind length hex

kind and length give the decoded frame; see sample.py.
Frames named hdf5-… were written by hdf5plugin's filter 32026, the others by python-blosc2 (the
package blosc2).
"""
import itertools
import os

import blosc2
import h5py
import hdf5plugin
import numpy as np

from sample import sample

F = blosc2.Filter
C = blosc2.Codec


def hdf5(values, chunks, **how):
    with h5py.File("blosc2", "w", driver="core", backing_store=False) as f:
        d = f.create_dataset("d", data=values, chunks=chunks, compression=hdf5plugin.Blosc2(**how))
        mask, raw = d.id.read_direct_chunk((0,) * len(chunks))
        return None if mask else raw  # the filter did not compress


def frame(data, chunksize, typesize=4, **how):
    how.setdefault("filters", [F.SHUFFLE])
    cparams = blosc2.CParams(typesize=typesize, nthreads=1, **how)
    return blosc2.SChunk(chunksize=chunksize, data=data, cparams=cparams, contiguous=True).to_cframe()


def hdf5_cases():
    names = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
    for cname, filters in itertools.product(names, range(5)):
        yield f"{cname}-{filters}", "steps", (1000,), (1000,), dict(cname=cname, filters=filters)
    yield "stored", "steps", (100,), (100,), dict(cname="lz4", clevel=0)
    yield "noise", "noise", (100,), (100,), dict(cname="lz4")
    for shape, cname in (((20, 50), "lz4"), ((5, 7, 20), "zstd"), ((2, 3, 4, 5), "zlib"), ((1, 1), "lz4"), ((300, 7), "lz4")):
        for filters in (1, 2, 3):
            n = "x".join(map(str, shape))
            yield f"{n}-{filters}", "steps", shape, shape, dict(cname=cname, filters=filters)
    yield "zeros", "zeros", (1000,), (1000,), dict(cname="lz4")
    yield "zeros-2d", "zeros", (50, 30), (50, 30), dict(cname="zstd")


def frame_cases():
    steps = sample("steps", 20011)
    for codec in (C.BLOSCLZ, C.LZ4, C.LZ4HC, C.ZLIB, C.ZSTD):
        for split in (blosc2.SplitMode.ALWAYS_SPLIT, blosc2.SplitMode.NEVER_SPLIT):
            name = f"{codec.name.lower()}-{split.name.lower()}"
            yield name, "steps", 20011, dict(chunksize=8000, codec=codec, splitmode=split, blocksize=2048)
    yield "bits", "steps", 5003, dict(chunksize=4000, filters=[F.BITSHUFFLE], typesize=4, blocksize=1000)
    yield "delta", "steps", 6000, dict(chunksize=3000, filters=[F.DELTA, F.SHUFFLE], typesize=4, blocksize=512)
    for typesize in (1, 2, 3, 8, 24):
        yield f"delta-{typesize}", "steps", 6000, dict(chunksize=3000, filters=[F.DELTA], typesize=typesize, blocksize=480)
    yield "two-filters", "steps", 6000, dict(chunksize=3000, filters=[F.SHUFFLE, F.BITSHUFFLE], typesize=4, blocksize=512)
    yield "shuffle-meta", "steps", 6000, dict(chunksize=3000, filters=[F.SHUFFLE], filters_meta=[8], typesize=4, blocksize=512)
    yield "runs", "zeros", 50000, dict(chunksize=20000)
    yield "small", "steps", 3, dict(chunksize=1000, typesize=1)
    yield "empty", "zeros", 0, dict(chunksize=1000, typesize=1)
    yield "type300", "steps", 9000, dict(chunksize=3000, typesize=300)


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "blosc2.txt"), "w") as out:
    for name, kind, shape, chunks, how in hdf5_cases():
        length = int(np.prod(shape)) * 4
        raw = hdf5(np.frombuffer(sample(kind, length), "<i4").reshape(shape), chunks, **how)
        if raw is not None:
            print(f"hdf5-{name}", kind, length, raw.hex(), file=out)
    for name, kind, length, how in frame_cases():
        print(name, kind, length, frame(sample(kind, length), **how).hex(), file=out)
    # Arrays of several chunks, with padding of chunks and of blocks.
    for shape, chunks, blocks in (((30, 40), (11, 13), (4, 5)), ((7, 8, 9), (3, 8, 4), (2, 3, 4)), ((100,), (33,), (10,))):
        length = int(np.prod(shape)) * 4
        values = np.frombuffer(sample("steps", length), "<i4").reshape(shape)
        for filters in ([F.SHUFFLE], [F.DELTA]):
            a = blosc2.asarray(values, chunks=chunks, blocks=blocks, cparams=blosc2.CParams(filters=filters, codec=C.LZ4))
            print("array-" + "x".join(map(str, shape)) + "-" + filters[0].name, "steps", length, a.to_cframe().hex(), file=out)
    for name, make in (("zeros", blosc2.zeros), ("uninit", blosc2.empty)):
        a = make((20, 30), dtype="<f4", chunks=(10, 20), blocks=(3, 7))
        print("special-" + name, "zeros", 2400, a.to_cframe().hex(), file=out)
    a = blosc2.full((20, 30), 7, dtype="<i4", chunks=(10, 20), blocks=(3, 7))
    print("special-value", "sevens", 2400, a.to_cframe().hex(), file=out)
    a = blosc2.nans((20, 30), dtype="<f4", chunks=(10, 20), blocks=(3, 7))
    print("special-nans", "nans", 2400, a.to_cframe().hex(), file=out)
