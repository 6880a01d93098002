"""corpus.py DIR: xarray reads each Zarr store in DIR. Each array that the file beside it lists is there, and numbers have their hash."""

import hashlib
import json
import pathlib
import sys
import warnings

import xarray as xr
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
stores = arrays = numbers = 0
wrong = []
for doc in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    want = json.loads(doc.read_text())
    try:
        groups = {}  # groups are opened alone: a tree needs dimensions of the same length in all
        for path, text in want["arrays"].items():
            group, _, name = path.rpartition("/")
            if group not in groups:
                groups[group] = xr.open_zarr(doc.with_suffix(""), group=group or None, decode_cf=False, chunks=None)
            v = groups[group][name]
            arrays += 1
            if v.dtype.kind in "biufc":
                numbers += 1
                data = v.values.astype(v.dtype.newbyteorder("<")).tobytes()
                if not text.endswith(hashlib.sha256(data).hexdigest()[:16]):
                    wrong.append(f"{want['source']}: {path} has other values")
        stores += 1
    except Exception as e:
        wrong.append(f"{want['source']}: {type(e).__name__}: {e}")
print("\n".join(wrong))
print(f"{stores} stores, {arrays} arrays, {numbers} of numbers, {len(wrong)} wrong")
sys.exit(bool(wrong) or stores < 10)
