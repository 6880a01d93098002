"""random_images.py FILE SEED N: writes N random compressed images and an ASCII table, and prints what astropy reads in each:
{"images": {name: {"shape", "values"}}, "columns": {name: …}}, where values are the SHA-256 of little-endian elements.
"""

import hashlib
import json
import sys
import warnings

import numpy as np
from astropy.io import fits

warnings.simplefilter("ignore")
INTEGERS, ALL = ("RICE_1", "PLIO_1", "HCOMPRESS_1"), ("RICE_1", "GZIP_1", "GZIP_2", "NOCOMPRESS", "HCOMPRESS_1")


def digest(a):
    a = np.ascontiguousarray(a)
    return {"shape": list(a.shape), "values": hashlib.sha256(a.astype(a.dtype.newbyteorder("<")).tobytes()).hexdigest()}


def shape_of(rng, coder):
    if coder == "HCOMPRESS_1":  # planes of which no tile has less than four rows and columns
        tile = [int(n) for n in rng.integers(4, 24, 2)]
        shape = [t * int(rng.integers(1, 4)) + int(rng.choice([0, *range(4, t)])) for t in tile]
        return shape, tile
    shape = [int(n) for n in rng.integers(1, 40, rng.integers(1, 4))]
    return shape, [int(rng.integers(1, n + 1)) for n in shape]


def integers(rng, shape, dtype):
    info, kind = np.iinfo(dtype), rng.integers(5)
    if kind == 0:
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if kind == 1:
        return np.full(shape, rng.integers(info.min, info.max, endpoint=True), dtype)
    wave = rng.normal(rng.integers(0, 100), 1 + 20 * kind, shape)
    return np.clip(wave, info.min, info.max).astype(dtype)


def image(rng, i):
    dtype = np.dtype(str(rng.choice(["u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])))
    options = {"name": f"N{i}"}
    if dtype.kind == "f":
        coder = str(rng.choice(ALL[:3] if rng.random() < 0.8 else ALL[4:]))
        options["quantize_method"], options["dither_seed"] = int(rng.choice([-1, 1, 2])), int(rng.integers(1, 10001))
        if coder.startswith("GZIP") and rng.random() < 0.5:
            options["quantize_level"] = 0
    elif dtype.itemsize == 8:
        coder = str(rng.choice(ALL[1:4]))
    else:
        coder = str(rng.choice(INTEGERS + ALL[1:4]))
    if coder == "PLIO_1":
        dtype = np.dtype(str(rng.choice(["u1", "i2", "i4"])))
    shape, tile = shape_of(rng, coder)
    if dtype.kind == "f":
        a = rng.normal(100, 10.0 ** rng.integers(-3, 4), shape).astype(dtype)
        flat = a.reshape(-1)
        for value in (np.nan, 0, 1e30):
            if coder != "HCOMPRESS_1" and rng.random() < 0.4:
                flat[rng.integers(0, flat.size, rng.integers(1, 9))] = value
    elif coder == "PLIO_1":
        a = (rng.random(shape) < rng.random()).astype(dtype) * int(rng.integers(1, 120))
    else:
        a = integers(rng, shape, dtype)
        if coder == "HCOMPRESS_1":
            a = np.clip(a.astype("i8"), -(1 << 25), 1 << 25).clip(np.iinfo(dtype).min).astype(dtype)
    if coder == "HCOMPRESS_1" and dtype in ("i4", "f4") and rng.random() < 0.4:  # beyond the type, astropy wraps around and CFITSIO does not
        options["hcomp_scale"] = int(rng.integers(2, 9))
    return fits.CompImageHDU(a, compression_type=coder, tile_shape=tuple(tile), **options)


def table(rng):
    n, columns = 30, []
    for i in range(6):
        width = int(rng.integers(3, 19))
        most = 10 ** min(width - 1, 17) - 1
        columns.append(fits.Column(f"I{i}", f"I{width}", array=rng.integers(-most // 10, most, n)))
    for i, form in enumerate(("F14.4", "E15.7", "D25.17")):
        columns.append(fits.Column(f"R{i}", form, array=rng.normal(0, 1000, n)))
    return fits.TableHDU.from_columns(columns, name="T")


def main(path, seed, n):
    rng = np.random.default_rng(int(seed))
    units = [fits.PrimaryHDU(), table(rng)]
    for i in range(int(n)):
        units.append(image(rng, i))
    fits.HDUList(units).writeto(path)
    with fits.open(path, do_not_scale_image_data=True) as f:
        print(json.dumps({"images": {u.name: digest(u.data) for u in f[2:]}, "columns": {c.name: digest(f[1].data[c.name]) for c in f[1].columns}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
