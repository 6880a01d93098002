"""zarr-python's side of TestInteropCodecs.

interop.py read DIR: every array under DIR holds what its file "elements" says.
interop.py write DIR: fills every array under DIR and writes what it reads back to "elements".
"""

import pathlib
import struct
import sys
import warnings

import numpy as np
import zarr
from imagecodecs.zarr import register_codecs

warnings.simplefilter("ignore")
register_codecs()


def memory(a):
    """The elements as varve holds them: packed, little-endian, C order. Those of varying
    length each behind their length."""
    if a.dtype.kind in "OT":
        parts = [v.encode() if isinstance(v, str) else bytes(v) for v in a.ravel()]
        return b"".join(struct.pack("<I", len(p)) + p for p in parts)
    return np.ascontiguousarray(a.astype(a.dtype.newbyteorder("<"))).tobytes()


def values(a, seed):
    rng = np.random.default_rng(seed)
    kind, n = a.dtype.kind, a.size
    if kind in "OT":
        words = ["", "varve", "Ωmega", "x" * 300]
        picks = [words[i] for i in rng.integers(0, 4, n)]
        flat = np.array([p.encode() for p in picks] if kind == "O" else picks, a.dtype)
        return flat.reshape(a.shape)
    if a.dtype.names:
        flat = np.zeros(n, a.dtype)
        for name in a.dtype.names:
            flat[name] = rng.integers(1, 100, n)
    elif kind == "b":
        flat = rng.integers(0, 2, n).astype(bool)
    elif kind == "f":
        flat = rng.normal(0, 100, n).astype(a.dtype)
    elif kind == "c":
        flat = (rng.normal(0, 100, n) + 1j * rng.normal(0, 100, n)).astype(a.dtype)
    elif kind == "S":
        flat = np.array([b"%d" % v for v in rng.integers(0, 999, n)], a.dtype)
    elif kind == "U":
        flat = np.array([chr(0x1F300 + v) for v in rng.integers(0, 99, n)], a.dtype)
    elif kind == "V":
        flat = np.frombuffer(rng.bytes(n * a.dtype.itemsize), a.dtype)
    elif kind in "mM":
        flat = rng.integers(0, 1000, n).astype(a.dtype)
    else:
        info = np.iinfo(a.dtype)
        flat = rng.integers(info.min, info.max, n, dtype=a.dtype)
        for codec in a.metadata.codecs:
            if hasattr(codec, "bitspersample"):
                flat &= info.max >> (info.bits - codec.bitspersample)
    flat = flat.copy()
    flat[: n // 3] = np.zeros(1, a.dtype)[0]
    return flat.reshape(a.shape)


def read(folder):
    bad = 0
    want = (folder / "elements").read_bytes()
    pipelines = ["zarr.core.codec_pipeline.BatchedCodecPipeline"]
    if zarr.open_array(folder, mode="r").attrs["zarrs"]:
        pipelines.append("zarrs.ZarrsCodecPipeline")
    for pipeline in pipelines:
        with zarr.config.set({"codec_pipeline.path": pipeline}):
            try:
                if memory(zarr.open_array(folder, mode="r")[...]) != want:
                    print(f"{folder.name}: {pipeline} reads other elements")
                    bad += 1
            except Exception as e:
                print(f"{folder.name}: {pipeline}: {type(e).__name__}: {e}")
                bad += 1
    return len(pipelines), bad


def write(folder):
    array = zarr.open_array(folder, mode="r+", config={"write_empty_chunks": True})
    array[...] = values(array, len(folder.name))
    (folder / "elements").write_bytes(memory(zarr.open_array(folder, mode="r")[...]))
    return 1, 0


do = {"read": read, "write": write}[sys.argv[1]]
done = [do(f) for f in sorted(pathlib.Path(sys.argv[2]).iterdir())]
reads, bad = (sum(column) for column in zip(*done))
print(f"{sys.argv[1]}: {len(done)} arrays, {reads} times, {bad} wrong")
sys.exit(bad > 0)
