"""Reads arrays that varve wrote with zarr-python and with zarrs.

    python check.py FOLDER

Each folder in FOLDER is a Zarr v3 array beside values.bin (elements in memory form, C
order) or values.json (strings). Reads them whole and in regions; the first array that
differs, or that a reader refuses, ends it with an error.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import zarr

zarr.config.set({"array.rectilinear_chunks": True})
warnings.simplefilter("ignore")


def expected(folder, array):
    if (folder / "values.json").exists():
        return np.array(json.loads((folder / "values.json").read_text()), dtype=object).reshape(array.shape)
    return np.frombuffer((folder / "values.bin").read_bytes(), array.dtype.newbyteorder("<")).reshape(array.shape)


def same(a, b):
    if np.asarray(a).dtype.kind in "fc":
        return np.array_equal(a, b, equal_nan=True)
    return np.array_equal(np.asarray(a, dtype=b.dtype), b)


def check(folder, rng):
    array = zarr.open_array(folder, mode="r")
    want = expected(folder, array)
    assert same(array[...], want), f"{folder.name}: other values"
    for _ in range(10):
        ends = [sorted(rng.integers(0, n + 1, 2)) for n in array.shape]
        region = tuple(slice(int(a), int(b)) for a, b in ends)
        assert same(array[region], want[region]), f"{folder.name}: other values in {region}"


def main(root):
    folders = sorted(p.parent for p in pathlib.Path(root).glob("*/zarr.json"))
    assert folders, f"no arrays in {root}"
    for path in ("zarr.core.codec_pipeline.BatchedCodecPipeline", "zarrs.ZarrsCodecPipeline"):
        with zarr.config.set({"codec_pipeline.path": path}):
            for folder in folders:
                check(folder, np.random.default_rng(1))
        print(path.split(".")[-1], "reads", len(folders), "arrays")


main(sys.argv[1])
