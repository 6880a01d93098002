"""Writes two files to be damaged, and places.json: the places of bytes, one each, that break one thing alone.

    python spared.py        (needs h5py)

The headers are of version 1, which have no checksums.
"""

import json
import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent


def text(value):
    return np.bytes_(value)


for i in range(2):
    name = HERE / f"spared_{i}.nc"
    with h5py.File(name, "w", libver=("earliest", "v108")) as f:
        f.attrs["note"] = text("NOTE")
        f.attrs["title"] = text("TITLE")
        f["time"] = np.arange(2.0) + 2 * i
        f["time"].attrs["units"] = text("days since 2000-01-01")
        f["time"].make_scale("time")
        f["x"] = np.array([1.0, 2.0])
        f["x"].make_scale("x")
        for k, v in enumerate(["t", "u"]):
            d = f.create_dataset(v, data=np.arange(4.0).reshape(2, 2) + 10 * i + 100 * k, chunks=(1, 2))
            d.attrs["comment"] = text(f"COMMENT OF {v}")
            d.dims[0].attach_scale(f["time"])
            d.dims[1].attach_scale(f["x"])
        f["seen"] = np.arange(2.0) + i
        f["seen"].dims[0].attach_scale(f["time"])
        f["seen"].attrs["comment"] = text("COMMENT OF seen")

with h5py.File(HERE / "spared_1.nc") as f:
    address = {name: h5py.h5o.get_info(f[name].id).addr for name in f}
data = (HERE / "spared_1.nc").read_bytes()


def kind_of(value):
    """The byte of an attribute's message that says what kind of type it has: a text, 0x13."""
    return data.rindex(0x13, 0, data.index(value))


trees = [i for i in range(len(data)) if data[i : i + 5] == b"TREE\x01"]
places = {f"header of {name}": address[name] for name in ["time", "u"]}
places |= {"index of t": trees[0], "index of u": trees[1]}
places |= {f"attribute of {v}": kind_of(f"COMMENT OF {v}".encode()) for v in ["t", "u", "seen"]}
places["attribute of the root"] = kind_of(b"NOTE")
(HERE / "places.json").write_text(json.dumps(places, indent=1) + "\n")
