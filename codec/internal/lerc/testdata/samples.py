"""Writes samples.jsonl: blobs of LERC, and what imagecodecs and GDAL decode them to.

python samples.py samples.jsonl, with numpy, imagecodecs, rasterio, tifffile and pylerc (which alone writes no-data values).
"""
import base64
import io
import json
import sys
import zlib

import imagecodecs
import lerc
import numpy as np
import rasterio
import tifffile
from rasterio.io import MemoryFile

rng = np.random.default_rng(5)
TYPES = "i1 u1 i2 u2 i4 u4 f4 f8".split()
out = []


def add(name, blob, pixels, tiff=False, **more):
    out.append(
        dict(
            name=name,
            type=TYPES.index(pixels.dtype.str[1:]),
            shape=pixels.shape,
            tiff=tiff,
            data=base64.b64encode(bytes(blob)).decode(),
            pixels=base64.b64encode(zlib.compress(pixels.astype(pixels.dtype.newbyteorder("<")).tobytes(), 9)).decode(),
            **more,
        )
    )


def image(kind, shape, dtype):
    """Returns an array of bands, rows, columns, depth."""
    b, y, x, z = np.indices(shape)
    if kind == "smooth":
        a = 50 + 40 * np.sin(x / 9 + b) + 30 * np.cos(y / 7 - z / 3)
    elif kind == "noise":
        a = rng.normal(0, 30, shape)
    elif kind == "few":  # few values of a wide range: tables
        a = rng.choice([3, 100, 30000, 17, 90], shape, p=[0.4, 0.2, 0.1, 0.1, 0.2])
    elif kind == "segments":
        a = (x // 13 * 7 + y // 11 * 3 + b) % 5 + z
    elif kind == "bands":  # each pixel has nearly equal samples: differences
        a = 60 + 50 * np.sin(x / 3) * np.cos(y / 2) + z + rng.integers(0, 2, shape)
    elif kind == "repeated":
        a = rng.normal(0, 30, shape[:3] + (1,)) + 0 * z
    elif kind == "shifted":
        a = rng.normal(20, 30, shape[:3] + (1,)).round() + 3 * z
    elif kind == "sparse":  # tiles of 16 × 16 pixels
        a = 40 + 2 * (rng.random(shape) < 0.001)
    elif kind == "zeros":
        a = (x > 20) * (y > 10) * 5.0
    elif kind == "equal":
        a = np.full(shape, 7) + z
    elif kind == "whole":  # whole numbers, also as floats
        a = rng.integers(0, 900, shape)
    elif kind == "wide":
        a = rng.normal(0, 1, shape) * 10.0 ** rng.integers(-30, 30, shape)
    elif kind == "geometric":  # Huffman codes of more than 12 bits
        a = 100 - rng.geometric(0.4, shape)
    elif kind == "extremes":
        i = np.iinfo(dtype) if dtype[0] in "iu" else np.finfo("f4")
        return rng.choice(np.array([i.min, i.max, 0, 1], dtype), shape)
    if dtype[0] in "iu":
        i = np.iinfo(dtype)
        a = np.clip(np.rint(a), float(i.min), float(i.max))
    return a.astype(dtype)


def sample(kind, shape, dtype, level=0, version=4, masks=None, encode=None):
    a = image(kind, shape, dtype)
    planar, flat = shape[0] > 1, a.reshape(shape if shape[0] > 1 and shape[3] > 1 else [n for i, n in enumerate(shape) if i in (1, 2) or n > 1])
    blob = imagecodecs.lerc_encode(flat, level=level, version=version, masks=masks, planar=planar)
    pixels = np.asarray(imagecodecs.lerc_decode(blob, masks=False)).reshape(shape)
    add(f"{kind} {shape} {dtype} {level} v{version} {'' if masks is None else masks.shape}", blob, pixels, masked=masks is not None and not masks.all())


def disc(*shape):
    return np.stack([np.hypot(*np.indices(shape[-2:])) + 9 * i > 15 for i in range(shape[0])]) if len(shape) == 3 else np.hypot(*np.indices(shape)) > 15


for version in range(2, 7):
    for dtype in TYPES if version % 2 == 0 else ("u1", "i2", "u4", "f4"):
        lossy = 2 if dtype[0] in "iu" else 0.05
        sample("smooth", (1, 19, 33, 1), dtype, 0, version)
        sample("smooth", (1, 19, 33, 1), dtype, lossy, version)
        sample("few", (1, 17, 40, 1), dtype, 0, version)
        sample("noise", (1, 13, 21, 1), dtype, lossy, version, rng.random((13, 21)) > 0.3)
        sample("smooth", (1, 30, 35, 1), dtype, lossy, version, disc(30, 35))
        sample("zeros", (1, 20, 40, 1), dtype, lossy, version)
        sample("noise", (3, 9, 12, 1), dtype, lossy, version, disc(9, 12))
        sample("noise", (3, 9, 22, 1), dtype, lossy, version, disc(3, 9, 22))
        sample("extremes", (1, 5, 11, 1), dtype, 0, version)
        if version >= 4:
            sample("smooth", (1, 11, 20, 3), dtype, 0, version)
            sample("bands", (1, 18, 20, 3), dtype, 0, version)
            sample("bands", (1, 18, 20, 2), dtype, 0, version, disc(18, 20))
            sample("equal", (1, 9, 12, 3), dtype, 0, version)
            sample("repeated", (1, 9, 12, 2), dtype, 0, version)
            sample("shifted", (1, 9, 12, 3), dtype, 0, version, disc(9, 12))
            sample("noise", (2, 9, 11, 4), dtype, lossy, version, disc(9, 11))
for dtype in TYPES:
    sample("whole", (1, 12, 25, 1), dtype, 0, 6)
    sample("whole", (1, 12, 25, 1), dtype, 3, 3)
    sample("segments", (1, 64, 100, 1), dtype, 0.5, 5)
    sample("equal", (1, 40, 50, 1), dtype, 0, 2)
    sample("smooth", (1, 4, 4, 1), dtype, 0, 6, np.zeros((4, 4), bool))
    sample("noise", (1, 1, 1, 1), dtype)
    sample("sparse", (1, 70, 130, 1), dtype, 0.5, 4)
    sample("sparse", (1, 70, 90, 2), dtype, 0.5, 6)
    sample("noise", (1, 100, 1, 1), dtype, 1, 6)
    sample("noise", (1, 1, 100, 1), dtype, 1, 3)
for dtype in ("i1", "u1"):
    sample("geometric", (1, 128, 160, 1), dtype, 0, 4)
    sample("geometric", (1, 130, 160, 1), dtype, 0, 2, disc(130, 160))
    sample("smooth", (1, 40, 70, 1), dtype, 0, 2)
    sample("smooth", (1, 40, 70, 1), dtype, 0, 3, disc(40, 70))
    sample("noise", (1, 30, 30, 3), dtype, 0, 6, disc(30, 30))
for dtype in ("f4", "f8"):
    sample("smooth", (1, 40, 50, 1), dtype, 0, 6)
    sample("smooth", (1, 40, 50, 1), dtype, 0, 6, disc(40, 50))
    sample("smooth", (1, 20, 30, 5), dtype, 0, 6)
    sample("noise", (2, 20, 30, 1), dtype, 0, 6)
    sample("wide", (1, 20, 30, 1), dtype, 0, 6)
    sample("few", (1, 40, 50, 1), dtype, 0, 6)
    sample("wide", (1, 30, 30, 1), dtype, 1e-9, 4)

# Values of no data in some samples of a pixel, which imagecodecs does not decode.
for dtype in TYPES:
    for level in (0, 3):
        a = image("smooth", (1, 12, 20, 3), dtype)[0]
        none = np.array(-9999 if dtype[0] in "fi" and dtype != "i1" else 111).astype(dtype)
        a[rng.random(a.shape) < 0.2] = none
        result = lerc.encode_4D(a, 3, None, level, 1 << 20, np.ma.array([float(none)], mask=[False]))
        blob = bytes(result[2])[: result[1]]
        result = lerc.decode_4D(blob)
        add(f"no data {dtype} {level}", blob, result[1].reshape((1,) + a.shape), masked=bool((a == none).all(axis=2).any()))


def tiff(name, a, **options):
    """a: rows, columns, samples"""
    with MemoryFile() as m:
        with m.open(driver="GTiff", height=a.shape[0], width=a.shape[1], count=a.shape[2], dtype=a.dtype, interleave="pixel", blockysize=a.shape[0], compress="LERC", **options) as d:
            d.write(np.moveaxis(a, 2, 0))
        stored = m.read()
        with m.open() as d:
            pixels = np.moveaxis(d.read(), 0, 2)
    page = tifffile.TiffFile(io.BytesIO(stored)).pages[0]
    (at,), (n,) = page.dataoffsets, page.databytecounts
    add("TIFF " + name, stored[at : at + n], np.ascontiguousarray(pixels), tiff=True, big=options.get("ENDIANNESS") == "BIG")


for dtype in ("f4", "f8"):
    a = image("smooth", (1, 20, 30, 3), dtype)[0]
    tiff("three samples " + dtype, a)
    a[disc(20, 30)] = np.nan
    tiff("pixels of NaN " + dtype, a, MAX_Z_ERROR=0.01)
    a[rng.random(a.shape) < 0.2] = np.nan
    tiff("samples of NaN " + dtype, a, MAX_Z_ERROR=0.01)
    tiff("samples of NaN as they are " + dtype, a)
    tiff("one sample with NaN " + dtype, a[:, :, :1], MAX_Z_ERROR=0.1)
    tiff("only NaN " + dtype, a[:, :, :1] * np.nan)
a = image("smooth", (1, 20, 30, 4), "u1")[0]
tiff("partly transparent", a, PHOTOMETRIC="RGB", ALPHA="YES")
a[:, :, 3] = disc(20, 30) * 255
tiff("transparent", a, PHOTOMETRIC="RGB", ALPHA="YES")
tiff("transparent with errors", a, PHOTOMETRIC="RGB", ALPHA="YES", MAX_Z_ERROR=4)
for dtype in ("u1", "i2", "u2", "i4"):
    tiff("one sample " + dtype, image("smooth", (1, 20, 30, 1), dtype)[0])
    tiff("three samples " + dtype, image("bands", (1, 20, 30, 3), dtype)[0], MAX_Z_ERROR=1)

for dtype in ("u2", "i4", "f4", "f8"):
    tiff("big-endian " + dtype, image("smooth", (1, 20, 30, 2), dtype)[0], ENDIANNESS="BIG")

with open(sys.argv[1], "w") as f:
    for s in out:
        f.write(json.dumps(s) + "\n")
print(len(out), "samples")
