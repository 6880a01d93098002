"""Writes archives.json: variables that disagree, and what xarray makes of each.

    python generate.py > archives.json

A case is a list of members {type, attrs, values, decoded}: attrs as {name: [type, numbers] or text}, values and decoded as
numbers, null for NaN. Members of a case have no missing files.
"""
import json
import warnings

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
rng = np.random.default_rng(20251121)
INTEGERS, FLOATS = ["i1", "u1", "i2", "u2", "i4"], ["f4", "f8"]
FILLS = [-1, -9, 0, 7]


def plain(a):
    return [None if x != x else x for x in np.asarray(a).ravel().tolist()]


def pick(*options):
    return options[int(rng.integers(len(options)))]


def attributes(kind, style):
    """What a writer of a style says of numbers of a type."""
    t, attrs = np.dtype(kind), {}
    if "scaled" in style and rng.random() < 0.8:
        attrs["scale_factor"] = np.dtype(pick("f4", "f8")).type(pick(0.5, 0.01, 0.1))
        if rng.random() < 0.6:
            attrs["add_offset"] = np.dtype(pick("f4", "f8")).type(pick(10, 273.15))
    if "unsigned" in style and t.kind == "i" and rng.random() < 0.7:
        attrs["_Unsigned"] = "true"
    if "masked" in style:
        fill = pick(*FILLS)
        for name in ("_FillValue", "missing_value"):
            # xarray does not see missing_value as unsigned
            if rng.random() < 0.5 and (name == "_FillValue" or "_Unsigned" not in attrs):
                attrs[name] = np.array(fill).astype(t)[()] if "_FillValue" not in attrs or rng.random() < 0.5 else np.array(pick(*FILLS)).astype(t)[()]
        if t.kind == "f" and rng.random() < 0.2:
            attrs["_FillValue"] = t.type(np.nan)
    return attrs


def values(kind):
    t = np.dtype(kind)
    out = np.concatenate([np.array(FILLS), rng.integers(-100, 100, 4)]).astype(t)
    if t.kind == "f":
        out[-1] = np.nan
    return out


def member(kind, attrs):
    raw = values(kind)
    decoded = xr.decode_cf(xr.Dataset({"x": ("n", raw, dict(attrs))}))["x"].values
    said = {k: v if isinstance(v, str) else [np.asarray(v).dtype.str[1:], plain(v)] for k, v in attrs.items()}
    return {"type": kind, "attrs": said, "values": plain(raw), "decoded": plain(decoded), "float": decoded.dtype.kind == "f"}


cases = []
for style in [(), ("masked",), ("masked",), ("scaled",), ("scaled", "masked"), ("unsigned",), ("unsigned", "masked"), ("unsigned", "scaled", "masked")]:
    for kinds in [INTEGERS, FLOATS, INTEGERS + FLOATS]:
        for same in (False, True):
            for _ in range(2):
                kind = pick(*kinds)
                attrs = attributes(kind, style)
                members = []
                for _ in range(int(rng.integers(1, 4))):
                    members.append(member(kind, attrs))
                    if not same and rng.random() < 0.6:
                        kind = pick(*kinds)
                    if not same:
                        attrs = attributes(kind, style)
                cases.append(members)
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
