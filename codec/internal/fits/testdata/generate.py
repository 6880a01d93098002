#!/usr/bin/env python3
"""Writes vectors.json: tiles that CFITSIO's coders wrote, and whole tables of quantized floats.

    generate.py            needs astropy

A line of the former is {"name", "coder", "bytes", "block", "size", "stored": base64, "want": base64, big-endian}; of the latter
{"name", "shape", "size", "config", "stored", "want"}, little-endian.
"""
import base64
import gzip
import io
import json
import os
import warnings

import numpy as np
from astropy.io import fits
from astropy.io.fits.hdu.compressed import _codecs as coders

HERE = os.path.dirname(os.path.abspath(__file__))
warnings.simplefilter("ignore")
coders.gzip_compress = lambda b: gzip.compress(b, mtime=0)  # without a time, so that every run writes the same bytes


def text(b):
    return base64.b64encode(bytes(b)).decode()


def planes(rng, shape, most):
    n = int(np.prod(shape))
    x = np.arange(n).reshape(shape)
    yield "zeros", np.zeros(shape)
    yield "a slope", x * (most // n)
    yield "noise", rng.integers(0, most, shape, endpoint=True)
    yield "small noise", np.minimum(rng.geometric(0.5, shape) - 1, most)
    yield "spikes", np.where(x % 37 == 5, most, 3)


def tiles():
    rng = np.random.default_rng(4)
    for size, least, most in ((1, 0, 255), (2, -(1 << 15), (1 << 15) - 1), (4, -(1 << 31), (1 << 31) - 1)):
        dtype = np.dtype(f"{'u' if size == 1 else 'i'}{size}")
        for shape in ((7, 9), (4, 33)):
            for name, a in planes(rng, shape, most - least):
                a = (np.asarray(a, "i8") + least).astype(dtype)
                for block in (16, 32):
                    stored = coders.Rice1(blocksize=block, bytepix=size, tilesize=a.size).encode(a)
                    yield {"name": f"rice of {dtype}, {name}, blocks of {block}", "coder": "rice", "bytes": size, "block": block}, size, stored, a
                wide = np.clip(a.astype("i8"), -(1 << 27), 1 << 27).astype(dtype)
                for scale in (0, 3):
                    coder = coders.HCompress1(scale=scale, smooth=0, bytepix=8, nx=shape[0], ny=shape[1])
                    stored = coder.encode(wide.astype("i8"))
                    want = np.asarray(coder.decode(np.frombuffer(stored, "u1")))
                    want = np.clip(want.ravel().astype("i8"), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
                    yield {"name": f"hcompress of {dtype}, {name}, scale {scale}", "coder": "hcompress"}, size, stored, want
                mask = (a.astype("i8") - least if size < 4 else np.abs(a.astype("i8")) % (1 << 24)).astype("i4")
                mask = mask >> (size == 2)
                if name != "spikes":
                    mask %= 4096  # larger steps need more room than CFITSIO has
                stored = np.frombuffer(coders.PLIO1(tilesize=mask.size).encode(mask), "i2").astype(">i2").tobytes()
                yield {"name": f"plio of {dtype}, {name}", "coder": "plio"}, size, stored, mask.astype(dtype)


def column(header, name):
    at = 0
    for i in range(1, header["TFIELDS"] + 1):
        form = header[f"TFORM{i}"].removeprefix("1")
        if header[f"TTYPE{i}"] == name:
            return {"at": at, "wide": form[0] == "Q", "size": 1} if form[0] in "PQ" else {"kind": form[0], "at": at}
        at += {"P": 8, "Q": 16, "D": 8, "E": 4, "J": 4}[form[0]]


def tables():
    rng = np.random.default_rng(5)
    for dtype in ("f4", "f8"):
        a = rng.normal(100, 10, (12, 20)).astype(dtype)
        a[3, 4], a[5, 5:8], a[7] = np.nan, 0, 1e30 * rng.random(20)
        for coder in ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"):
            for method in (-1, 1, 2):
                hdu = fits.CompImageHDU(a, compression_type=coder, quantize_method=method, dither_seed=9994, tile_shape=(4, 20))
                file = io.BytesIO()
                fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(file)
                want = fits.open(io.BytesIO(file.getvalue()))[1].data
                raw = fits.open(io.BytesIO(file.getvalue()), disable_image_compression=True)[1]
                h, at = raw.header, raw.fileinfo()["datLoc"]
                config = {
                    "rows": h["NAXIS2"], "row": h["NAXIS1"], "heap": h["NAXIS1"] * h["NAXIS2"], "tile": [4, 20], "coder": coder, "bytes": 4, "block": 32,
                    "method": h.get("ZQUANTIZ", "NO_DITHER"), "seed": h.get("ZDITHER0", 0), "data": column(h, "COMPRESSED_DATA"),
                    "gzip": column(h, "GZIP_COMPRESSED_DATA"), "scale": column(h, "ZSCALE"), "zero": column(h, "ZZERO"), "blank": {"all": str(h["ZBLANK"])},
                }
                stored = file.getvalue()[at:at + config["heap"] + h["PCOUNT"]]
                yield {"name": f"{dtype} {coder} {config['method']}", "shape": list(a.shape), "size": a.itemsize, "config": config,
                       "stored": text(stored), "want": text(want.astype("<" + dtype).tobytes())}


def write(name, lines):
    with open(os.path.join(HERE, name), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")


if __name__ == "__main__":
    write("tiles.json", [{**line, "size": size, "stored": text(stored), "want": text(a.astype(a.dtype.newbyteorder(">")).tobytes())} for line, size, stored, a in tiles()])
    write("tables.json", tables())
