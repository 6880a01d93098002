#!/usr/bin/env python3
"""Writes messages.json: GRIB messages and the values that ecCodes finds in them.

    generate.py OUT                   the same messages at every run; needs eccodes and numpy
    generate.py OUT --random SEED N   N messages of random packings, sizes, parameters and values

A line is {"name", "message": base64, "values": base64 of float64, "error": what ecCodes says if it does not read them}.
Missing points are the NaN 0x7ff8000000000000, as varve has it.
"""
import argparse
import base64
import json
import struct

import eccodes as ec
import numpy as np

MISSING = -1.6180339887e300  # improbable as a value; ecCodes puts it where there is none
NAN = np.frombuffer(b"\0\0\0\0\0\0\xf8\x7f", "<f8")[0]


def line(name, message):
    """What ecCodes says of a message."""
    out = {"name": name, "message": base64.b64encode(message).decode()}
    h = ec.codes_new_from_message(message)
    try:
        ec.codes_set_double(h, "missingValue", MISSING)
        values = np.array(ec.codes_get_double_array(h, "values"), "<f8")
        values[values == MISSING] = NAN
        out["values"] = base64.b64encode(values.tobytes()).decode()
    except ec.CodesInternalError as e:
        out["error"] = f"{type(e).__name__}: {e}"
    ec.codes_release(h)
    return json.dumps(out)


def field(rng, n, kind="smooth", digits=2):
    x = np.arange(n)
    values = {
        "smooth": lambda: 280 + 15 * np.sin(x / 9) + rng.normal(0, 0.5, n),
        "steps": lambda: x // 7 % 5 * 3.25 - 4,
        "noise": lambda: rng.normal(0, 1000, n),
        "zero": lambda: np.zeros(n),
        "constant": lambda: np.full(n, 42.5),
        "tiny": lambda: rng.uniform(1e-12, 1e-9, n),
        "sparse": lambda: np.where(rng.random(n) < 0.1, rng.uniform(0, 30, n), 0),
    }[kind]()
    return np.round(values, digits) if kind != "tiny" else values


def encode(edition, values, size=(13, 9), bitmap=None, sample="regular_ll_sfc", late=(), **keys):
    """A message that ecCodes encodes. Keys of `late` are set when it has its values."""
    h = ec.codes_grib_new_from_samples(f"{sample}_grib{edition}")
    if size:
        ec.codes_set(h, "Ni", size[0])
        ec.codes_set(h, "Nj", size[1])
    for key, value in keys.items():
        ec.codes_set(h, key, value)
    values = np.array(values, "f8")
    if bitmap is not None:
        ec.codes_set(h, "bitmapPresent", 1)
        ec.codes_set_double(h, "missingValue", 9999)
        values[~bitmap] = 9999
    ec.codes_set_values(h, values)
    for key, value in late:
        ec.codes_set(h, key, value)
    message = ec.codes_get_message(h)
    ec.codes_release(h)
    return message


def encoded(rng):
    """Messages as ecCodes encodes them: packing x bits x bitmap."""
    n = 13 * 9
    some = rng.random(n) < 0.7
    for edition in (1, 2):
        for bits in (1, 3, 8, 11, 12, 16, 24, 25, 31, 32):
            yield f"GRIB{edition} simple, {bits} bits", encode(edition, field(rng, n), bitsPerValue=bits)
        for bitmap in (some, ~some, np.zeros(n, bool), np.ones(n, bool)):
            yield f"GRIB{edition} simple, bitmap of {bitmap.sum()}", encode(edition, field(rng, n), bitmap=bitmap, bitsPerValue=10)
        for decimals in (-3, 1, 2, 5, 7):
            yield f"GRIB{edition} simple, D = {decimals}", encode(edition, field(rng, n), decimalScaleFactor=decimals, bitsPerValue=14)
        for kind in ("constant", "zero", "tiny", "noise"):
            yield f"GRIB{edition} simple, {kind}", encode(edition, field(rng, n, kind), bitsPerValue=16)
        yield f"GRIB{edition} simple, constant with bitmap", encode(edition, field(rng, n, "constant"), bitmap=some, bitsPerValue=16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--random", nargs=2, type=int, metavar=("SEED", "N"))
    args = parser.parse_args()
    rng = np.random.default_rng(27)
    lines = [line(name, message) for name, message in encoded(rng)]
    with open(args.out, "w") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
