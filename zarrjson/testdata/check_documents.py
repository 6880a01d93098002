"""Compares varve's documents with zarr-python's reading of them; run by interop_test.go.

    python check_documents.py check FOLDER           open what varve wrote, compare, save again
    python check_documents.py make FOLDER SEED N     write random documents for varve to read
    python check_documents.py fill FOLDER            write arrays with data in both formats
    python check_documents.py same FOLDER            compare both formats' readings of that data

FOLDER/cases.jsonl has a case a line: {"path", "means", …} as in generate.py, describe.
"""

import json
import pathlib
import random
import sys

import numpy as np
import zarr
from generate import compact, describe, fills
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

import numcodecs


def cases(folder):
    return [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]


def compare(means, case):
    """What differs between zarr-python's reading of an array and varve's."""
    wanted = case["means"]
    for field, value in means.items():
        want = wanted.get(field)
        if field == "sizes" and want is None:
            continue
        if field == "attributes":
            value, want = (json.dumps(json.loads(text)) for text in (value, want))
        if field == "codecs" and case.get("format") == 2:
            continue
        if value != want:
            yield f"{case['path']}: {field}: zarr-python reads {value!r}, varve {want!r}"


def mask_hex(a):
    from xarray.backends.zarr import FillValueCoder

    d = np.dtype(a.dtype)
    return np.asarray(FillValueCoder.decode(a.attrs["_FillValue"], d), dtype=d.newbyteorder("<")).tobytes().hex()


def check(folder):
    wrong = []
    for case in cases(folder):
        path = folder / case["path"]
        try:
            if case.get("group"):
                wrong += check_group(path, case)
                continue
            a = zarr.open_array(path, mode="r", zarr_format=case["format"])
            wrong += compare(describe(a), case)
            if "mask" in case and mask_hex(a) != case["mask"]:
                wrong.append(f"{case['path']}: xarray masks {mask_hex(a)}, varve {case['mask']}")
            for name, buffer in a.metadata.to_buffer_dict(default_buffer_prototype()).items():
                (path / f"saved{name}").write_bytes(buffer.to_bytes())
        except Exception as e:
            wrong.append(f"{case['path']}: {type(e).__name__}: {e}\n{case}")
    sys.exit("\n".join(wrong) or None)


def check_group(path, case):
    g = zarr.open_consolidated(path, zarr_format=case["format"])
    found = sorted(g.metadata.consolidated_metadata.flattened_metadata)
    if found != case["group"]:
        yield f"{case['path']}: zarr-python finds {found}, varve {case['group']}"
    for name in found:
        member = g[name]
        if isinstance(member, zarr.Array):
            yield from compare(describe(member), {"path": f"{case['path']}/{name}", "means": case["members"][name], "format": case["format"]})


def random_chunks(rng, extent):
    """Edges of one axis that sum to the extent, or one size."""
    if extent == 0 or rng.random() < 0.4:
        return rng.randint(1, max(1, extent))
    edges, left = [], extent
    while left:
        size = rng.randint(1, left)
        for _ in range(rng.randint(1, 4)):
            if left >= size:
                edges.append(size)
                left -= size
    return edges


def make(folder, seed, n):
    rng = random.Random(seed)
    kinds = list(fills())
    with (folder / "cases.jsonl").open("w") as out:
        for i in range(n):
            dtype, values = rng.choice(kinds)
            dtype = np.dtype(dtype)
            shape = tuple(rng.randint(0, 40) for _ in range(rng.randint(0, 4)))
            chunks = [random_chunks(rng, extent) for extent in shape]
            regular = all(isinstance(c, int) for c in chunks)
            names = [rng.choice(["x", "time", "é", None]) for _ in shape] if rng.random() < 0.5 else None
            a = zarr.create_array(
                LocalStore(folder / str(i)),
                shape=shape,
                dtype=dtype,
                chunks=tuple(chunks) if regular else chunks,
                fill_value=np.array(rng.choice(values), dtype=dtype)[()],
                compressors=rng.choice([None, "auto", zarr.codecs.GzipCodec(level=rng.randint(0, 9))]),
                chunk_key_encoding={"name": rng.choice(["default", "v2"]), "separator": rng.choice("./")},
                dimension_names=names,
                attributes=rng.choice([{}, {"a": [1.5, float("nan"), None]}, {"é": {"n": 1e300, "s": "\U0001d11e"}}]),
            )
            print(compact({"path": str(i), "format": 3, "means": describe(a)}), file=out)


V2_ARRAYS = {
    "plain": dict(dtype="<f4", compressors=None),
    "big": dict(dtype=">f8", compressors=numcodecs.Zlib(1)),
    "fortran": dict(dtype=">i4", order="F", compressors=numcodecs.Zstd(3)),
    "slash": dict(dtype="|u1", compressors=numcodecs.GZip(1), chunk_key_encoding={"name": "v2", "separator": "/"}),
    "blosc": dict(dtype="<i2", compressors=numcodecs.Blosc("zstd", shuffle=2)),
    "filters": dict(dtype="<i4", order="F", filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)], compressors=numcodecs.BZ2(1)),
    "big delta": dict(dtype=">i4", filters=[numcodecs.Delta(">i4")], compressors=None),
    "packed": dict(dtype="<f8", filters=[numcodecs.FixedScaleOffset(0, 10, "<f8", "<i2")], compressors=numcodecs.LZ4()),
    "bits": dict(dtype="bool", filters=[numcodecs.PackBits()], compressors=None),
    "times": dict(dtype=">M8[s]", compressors=None),
    "text": dict(dtype="<U3", compressors=numcodecs.Zlib(1)),
    "bytes": dict(dtype="S3", compressors=numcodecs.Fletcher32()),
    "strings": dict(dtype="string", compressors=numcodecs.Zlib(1)),
    "struct": dict(dtype=[("a", ">i4"), ("b", ">f8")], compressors=None),
    "check": dict(dtype="<i4", compressors=None, filters=[numcodecs.CRC32(), numcodecs.Adler32()]),
}

V3_ARRAYS = {
    "plain": dict(dtype="f4", compressors=None),
    "zstd": dict(dtype="f8", compressors=zarr.codecs.ZstdCodec(level=3, checksum=True)),
    "gzip": dict(dtype="i2", compressors=zarr.codecs.GzipCodec(level=3), serializer=zarr.codecs.BytesCodec(endian="big")),
    "blosc": dict(dtype="i4", compressors=zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle")),
    "fortran": dict(dtype="i4", filters=zarr.codecs.TransposeCodec(order=(1, 0)), compressors=None),
    "crc": dict(dtype="u2", compressors=[zarr.codecs.Crc32cCodec()]),
    "numcodecs": dict(dtype="f4", compressors=[zarr.codecs.numcodecs.Shuffle(elementsize=4), zarr.codecs.numcodecs.Zlib(level=1)]),
    "strings": dict(dtype="string"),
    "struct": dict(dtype=[("a", "i4"), ("b", "f8")], compressors=None),
    "times": dict(dtype="m8[10s]"),
}


def values(dtype):
    """Twelve by ten elements, the last rows and columns in partial chunks."""
    n = np.arange(120).reshape(12, 10)
    if dtype == "string":
        return n.astype(str).astype(object)
    d = np.dtype(dtype)
    if d.names is not None:
        data = np.zeros(n.shape, d)
        for name in d.names:
            data[name] = n
        return data
    return (n % 2 if d.kind == "b" else n).astype("S3" if d.kind == "S" else d)


def fill(folder):
    with (folder / "cases.jsonl").open("w") as out:
        for zarr_format, arrays in ((2, V2_ARRAYS), (3, V3_ARRAYS)):
            for name, options in arrays.items():
                options = {"chunk_key_encoding": {"name": "v2", "separator": "."}, **options}
                path = f"{zarr_format} {name}"
                dtype = options.pop("dtype")
                a = zarr.create_array(
                    LocalStore(folder / path), shape=(12, 10), chunks=(5, 4), zarr_format=zarr_format,
                    dtype=dtype if isinstance(dtype, str) and dtype == "string" else np.dtype(dtype), **options)
                a[:] = values(dtype)
                print(compact({"path": path, "format": zarr_format}), file=out)


def same(folder):
    wrong = []
    for case in cases(folder):
        path = folder / case["path"]
        try:
            two, three = (zarr.open_array(path, mode="r", zarr_format=f)[:] for f in (2, 3))
            if two.tolist() != three.tolist():
                wrong.append(f"{path}: format 2 reads {two}, format 3 {three}")
        except Exception as e:
            wrong.append(f"{path}: {type(e).__name__}: {e}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    what, folder, *numbers = sys.argv[1:]
    {"check": check, "make": make, "fill": fill, "same": same}[what](pathlib.Path(folder), *map(int, numbers))
