"""Writes promotions.json and conversions.json: what NumPy makes of types and of packed numbers.

    python generate.py

promotions.json: [a, b, result_type(a, b), can_cast(a, b)] for all pairs of types.
conversions.json: elements as hexadecimal, before and after the attributes of a variable were applied to them.
"""
import json

import numpy as np

TYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
rng = np.random.default_rng(20251121)


def write(name, cases):
    with open(name, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


def hexed(a):
    return a.astype(a.dtype.newbyteorder("<")).tobytes().hex()


def numbers(code, n=7):
    """Elements of a type: the ends of its range, zero and what is in between."""
    t = np.dtype(code)
    if t.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if t.kind in "iu":
        info = np.iinfo(t)
        some = rng.integers(info.min, info.max, n, dtype=t, endpoint=True)
        some[:5] = [info.min, info.max, 0, 1, info.max // 2 + 1]
        return some
    some = (rng.normal(0, 100, n)).astype(t)
    some[:6] = [np.nan, np.inf, -np.inf, 0, -0.0, -999]
    return some


def unpacked(raw, case, to):
    """What CF says the numbers mean, calculated in float64."""
    view = raw.view({"true": f"u{raw.itemsize}", "false": f"i{raw.itemsize}"}[case["unsigned"]]) if case["unsigned"] else raw
    out = view
    if case["scale"] is not None or case["offset"] is not None:
        out = view.astype("f8") * np.float64(1 if case["scale"] is None else case["scale"])
        if case["offset"] is not None:  # adding 0 would turn -0 into 0
            out = out + np.float64(case["offset"])
    with np.errstate(over="ignore"):
        out = out.astype(to)
    for mask in case["masks"]:
        out[raw == np.array(mask).astype(raw.dtype)] = np.nan
    return out


write("promotions.json", [[a, b, np.result_type(a, b).str[1:], bool(np.can_cast(a, b))] for a in TYPES for b in TYPES])

cases = []
for a in TYPES:
    for b in TYPES:
        if np.can_cast(a, b):
            raw = numbers(a)
            cases.append({"from": a, "to": b, "unsigned": "", "scale": None, "offset": None, "masks": [], "stored": hexed(raw), "schema": hexed(raw.astype(b))})
for a in TYPES[1:]:
    for b in ("f4", "f8"):
        for scale, offset in [(None, None), (0.01, None), (0.005, 273.15)]:
            if scale is None and offset is None and not np.can_cast(a, b):
                continue
            for unsigned in ["", "true"] if a[0] == "i" else ["", "false"] if a[0] == "u" else [""]:
                if unsigned and scale is None and offset is None and not np.can_cast({"i": "u", "u": "i"}[a[0]] + a[1], b):
                    continue
                raw = numbers(a)
                masks = [] if rng.random() < 0.3 else [raw[i].item() for i in rng.choice(len(raw), rng.integers(1, 4))]
                masks = [m for m in masks if m == m and abs(m) != np.inf]
                case = {"from": a, "to": b, "unsigned": unsigned, "scale": scale, "offset": offset, "masks": masks}
                cases.append(case | {"stored": hexed(raw), "schema": hexed(unpacked(raw, case, b))})
write("conversions.json", cases)
