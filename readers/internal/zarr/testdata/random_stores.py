"""python random_stores.py SEED FOLDER: writes a store of each format with random arrays, and
prints as JSON what zarr-python reads of them."""
import json
import sys
import warnings

import numcodecs
import numpy as np
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
seed, folder = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(seed)
DTYPES = ["b1", "i1", "u2", ">i4", "i8", "f2", "f4", ">f8", "c8", "S5", "U3", "M8[s]", "m8[ms]", "V4"]


def pick(*choices):
    return choices[rng.integers(len(choices))]


def data(shape, dtype):
    dtype = np.dtype(dtype)
    raw = rng.integers(0, 4 if dtype.kind in "b" else 100, size=shape)
    if dtype.kind == "b":
        return raw > 1
    if dtype.kind in "SU":
        return raw.astype("S2").astype(dtype)
    if dtype.kind == "V":
        return raw.astype("i4").view("V4").reshape(shape) if raw.size else np.empty(shape, dtype)
    return raw.astype(dtype)


def write(a, shape, dtype):
    """Most of the array, so that some chunks stay missing."""
    values = data(shape, dtype)
    if shape and rng.random() < 0.4:
        n = int(rng.integers(0, shape[0] + 1))
        a[:n] = values[:n]
    else:
        a[...] = values


def edges(n, inner):
    out = []
    while sum(out) < n:
        out.append(int(rng.integers(1, 4)) * inner)
    return out


def v3(root, name):
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 12, size=rng.integers(0, 4)))
    dtype = np.dtype(pick(*DTYPES))
    chunks = tuple(int(rng.integers(1, 5)) for _ in shape)
    kw = dict(chunks=chunks or "auto", dtype=dtype.newbyteorder("<") if dtype.kind != "V" else dtype)
    kw["compressors"] = pick(None, zarr.codecs.GzipCodec(level=1), zarr.codecs.ZstdCodec(level=1), zarr.codecs.BloscCodec(cname=pick("lz4", "zstd", "blosclz")),
                             [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()])
    if shape and rng.random() < 0.3:
        kw["filters"] = zarr.codecs.TransposeCodec(order=tuple(int(i) for i in rng.permutation(len(shape))))
    how = rng.random()
    if shape and all(shape) and how < 0.35 and "filters" not in kw:
        kw["shards"] = tuple(c * int(rng.integers(1, 4)) for c in chunks)
        if how < 0.15:
            kw["shards"] = tuple(tuple(edges(n, c)) for n, c in zip(shape, chunks))
            shape = tuple(sum(e) for e in kw["shards"])
    elif shape and all(shape) and how < 0.6 and "filters" not in kw:
        kw["chunks"] = tuple(tuple(edges(n, 1)) for n in shape)
        shape = tuple(sum(e) for e in kw["chunks"])
    elif how < 0.7 and dtype.kind not in "bSUV" and dtype.itemsize > 1:
        kw["serializer"] = zarr.codecs.BytesCodec(endian="big")
    if how > 0.8:
        kw["chunk_key_encoding"] = {"name": pick("default", "v2"), "separator": pick(".", "/")}
    write(root.create_array(name, shape=shape, **kw), shape, kw["dtype"])


def v2(path, name):
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 12, size=rng.integers(0, 4)))
    dtype = np.dtype(pick(*DTYPES))
    filters = None
    if dtype.kind in "iuf" and dtype.byteorder != ">" and dtype.itemsize > 1 and rng.random() < 0.5:
        filters = [pick(numcodecs.Delta(dtype.str), numcodecs.Shuffle(dtype.itemsize), numcodecs.Fletcher32())]
    compressor = pick(None, numcodecs.Zlib(1), numcodecs.Zstd(), numcodecs.LZ4(), numcodecs.Blosc(), numcodecs.BZ2(), numcodecs.LZMA())
    a = zarr.create(store=path, path=name, shape=shape, chunks=tuple(int(rng.integers(1, 5)) for _ in shape), dtype=dtype, zarr_format=2,
                    order=pick("C", "F"), filters=filters, compressor=compressor, fill_value=None if dtype.kind in "SUVMmb" else pick(None, 0, 7),
                    dimension_separator=pick(".", "/"))
    write(a, shape, dtype)


def values(a):
    v = np.ascontiguousarray(np.asarray(a[...], dtype=a.dtype))  # a scalar would forget its padding
    if v.dtype.kind == "b":
        v = v.astype("u1")
    return {"shape": list(a.shape), "values": v.astype(v.dtype.newbyteorder("<")).tobytes().hex()}


out = {}
for version in (2, 3):
    path = f"{folder}/v{version}"
    root = zarr.create_group(path, zarr_format=version)
    for i in range(40):
        name = f"a{i}" if i % 5 else f"g{i}/a"
        if version == 3:
            v3(root, name)
        else:
            v2(path, name)
    if rng.random() < 0.5:
        zarr.consolidate_metadata(path)
    out[f"v{version}"] = {"/" + name: values(a) for name, a in root.members(max_depth=None) if isinstance(a, zarr.Array)}
print(json.dumps(out))
