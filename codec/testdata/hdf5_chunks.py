"""Writes chunks through libhdf5's filters, for TestInteropFilters.

hdf5_chunks.py DIR [N] writes one JSON line a chunk to DIR/chunks.jsonl, of every Nth chunk: the
filters with their client values, the filter mask, the chunk as stored, and its elements as stored in a file
without filters. With --few it writes some small ones, which is how the chunks.jsonl beside
this file was made.
"""

import base64
import itertools
import json
import pathlib
import sys

import h5py
import hdf5plugin
import numpy as np

FEW = "--few" in sys.argv
TYPES = ["u1", "<i2", ">i2", "<u4", ">u4", "<f4", ">f4", "<f8", ">f8", "<i8", "V3", "V5"]
FILTERS = {
    "deflate": dict(compression="gzip", compression_opts=4),
    "shuffle": dict(shuffle=True),
    "shuffle-deflate": dict(shuffle=True, compression="gzip", compression_opts=9),
    "fletcher32": dict(fletcher32=True),
    "shuffle-deflate-fletcher32": dict(shuffle=True, compression="gzip", fletcher32=True),
    "lzf": dict(compression="lzf"),
    "shuffle-lzf": dict(compression="lzf", shuffle=True),
    "bzip2": hdf5plugin.BZip2(),
    "lz4": hdf5plugin.LZ4(),
    "lz4-blocks": hdf5plugin.LZ4(nbytes=64),
    "zstd": hdf5plugin.Zstd(clevel=5),
    "bitshuffle": hdf5plugin.Bitshuffle(cname="none"),
    "bitshuffle-lz4": hdf5plugin.Bitshuffle(cname="lz4"),
    "bitshuffle-zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    "bitshuffle-blocks": hdf5plugin.Bitshuffle(nelems=16, cname="lz4"),
}
for cname, shuffle in itertools.product(["lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd"], [0, 1, 2]):
    FILTERS[f"blosc-{cname}-{shuffle}"] = hdf5plugin.Blosc(cname=cname, shuffle=shuffle)
for cname, filters in itertools.product(["lz4", "lz4hc", "blosclz", "zlib", "zstd"], [0, 1, 2, 3]):
    FILTERS[f"blosc2-{cname}-{filters}"] = hdf5plugin.Blosc2(cname=cname, filters=filters)
NUMBERS = {  # these want integers or floats
    "szip-nn": dict(compression="szip", compression_opts=("nn", 8)),
    "szip-ec": dict(compression="szip", compression_opts=("ec", 16)),
    "scaleoffset": dict(scaleoffset=0),
    "scaleoffset-2": dict(scaleoffset=2),
}


def elements(dtype, shape, rng, rough):
    n = int(np.prod(shape))
    if dtype.kind == "V":
        small = rng.integers(0, 256 if rough else 3, n * dtype.itemsize, dtype="u1")
        return small.view(dtype).reshape(shape)
    if rough:
        return rng.integers(0, 256, n * dtype.itemsize, dtype="u1").view(dtype).reshape(shape)
    walk = np.cumsum(rng.integers(0, 3, n)) % 100
    return (walk / 4 if dtype.kind == "f" else walk).astype(dtype).reshape(shape)


def chunks(folder):
    rng = np.random.default_rng(5)
    shapes = [(3, 7)] if FEW else [(16, 25), (3, 7), (1000,)]
    types = ["<i2", ">f4"] if FEW else TYPES
    roughs = [False] if FEW else [False, True]
    every = 1 if FEW or len(sys.argv) < 3 else int(sys.argv[2])
    cases = itertools.product((FILTERS | NUMBERS).items(), types, shapes, roughs)
    with h5py.File(folder / "chunks.h5", "w") as f:
        for (name, how), kind, shape, rough in itertools.islice(cases, 0, None, every):
            dtype = np.dtype(kind)
            if name in NUMBERS and (dtype.kind == "V" or (rough and dtype.kind == "f")):
                continue
            if name == "scaleoffset" and dtype.kind == "f":
                continue
            data = elements(dtype, shape, rng, rough)
            try:
                d = f.create_dataset(f"{name} {kind} {shape} {rough}", data=data, chunks=shape, **how)
            except (ValueError, OSError) as e:
                if name.startswith("szip"):  # a block must not be longer than a scanline
                    continue
                raise e
            yield d


def describe(f, d):
    plist, mask_stored = d.id.get_create_plist(), d.id.read_direct_chunk((0,) * d.ndim)
    filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
    plain = f.create_dataset("plain", data=d[...], dtype=d.dtype, chunks=d.shape)
    want = plain.id.read_direct_chunk((0,) * d.ndim)[1]
    del f["plain"]
    return {
        "name": d.name,
        "size": d.dtype.itemsize,
        "shape": d.shape,
        "filters": [{"id": code, "values": values} for code, _, values, _ in filters],
        "mask": mask_stored[0],
        "stored": base64.b64encode(mask_stored[1]).decode(),
        "elements": base64.b64encode(want).decode(),
    }


folder = pathlib.Path(sys.argv[1])
with h5py.File(folder / "plain.h5", "w") as plain, open(folder / "chunks.jsonl", "w") as out:
    for d in chunks(folder):
        print(json.dumps(describe(plain, d)), file=out)
