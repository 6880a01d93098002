"""Compares Zarr groups with archives.json: check.py FOLDER archives.json, where FOLDER/i holds case i as the array x."""
import json
import sys
import warnings

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
folder, archives = sys.argv[1:]
wrong = 0
for i, members in enumerate(json.load(open(archives))):
    want = np.concatenate([np.array(m["decoded"], "f8") for m in members])
    got = xr.open_dataset(f"{folder}/{i}", engine="zarr", consolidated=False)["x"].values
    floats = any(m["float"] for m in members)
    near = np.abs(got.astype("f8") - want) <= np.nanmax(np.abs(want), initial=1) * 2.0**-22
    if (got.dtype.kind == "f") != floats or not (near | np.isnan(want) & np.isnan(got.astype("f8"))).all():
        wrong += 1
        print(f"case {i}: {got.dtype} {got.tolist()}, want {want.tolist()}: {members}")
sys.exit(wrong > 0)
