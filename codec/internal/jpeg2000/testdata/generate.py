#!/usr/bin/env python3
"""Writes vectors.json: images that OpenJPEG encodes, by the parts of T.800 that they use, and the samples that it decodes.

    generate.py BIN        BIN has opj_compress and opj_decompress of OpenJPEG 2.5; needs numpy

A line is {"name", "width", "height", "bits", "stored": base64, "want": base64 of zlib of int32, little-endian}.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np


def image(rng, kind, width, height, bits):
    y, x = np.mgrid[0:height, 0:width]
    top = (1 << bits) - 1
    v = {
        "smooth": lambda: top * (0.5 + 0.3 * np.sin(x / 9) * np.cos(y / 7)) + rng.normal(0, top / 200, x.shape),
        "noise": lambda: rng.integers(0, top + 1, x.shape),
        "sparse": lambda: np.where(rng.random(x.shape) < 0.05, rng.integers(0, top + 1, x.shape), 0),
        "zero": lambda: np.zeros(x.shape),
    }[kind]()
    return np.clip(np.round(v), 0, top).astype(int)


def line(folder, binaries, name, values, bits, options, extension="j2k"):
    height, width = values.shape
    raw, stored, back = folder / "in.raw", folder / f"x.{extension}", folder / "out.raw"
    size = np.dtype("u1" if bits <= 8 else ">u2")
    raw.write_bytes(values.astype(size).tobytes())
    back.unlink(missing_ok=True)
    for command in (
        [binaries / "opj_compress", "-i", raw, "-o", stored, "-F", f"{width},{height},1,{bits},u", *options.split()],
        [binaries / "opj_decompress", "-i", stored, "-o", back],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {command}\n{done.stdout}{done.stderr}")
    want = np.frombuffer(back.read_bytes(), "u1" if bits <= 8 else "<u2").astype("<i4")  # it reads the other order
    assert want.size == values.size, name
    if "-I" not in options and "-r" not in options and "-q" not in options:
        assert (want == values.ravel()).all(), name
    text = lambda b: base64.b64encode(b).decode()
    return json.dumps({"name": name, "width": width, "height": height, "bits": bits, "stored": text(stored.read_bytes()), "want": text(zlib.compress(want.tobytes(), 9))})


def cases(rng):
    """(name, samples, bits, options)"""
    def case(name, options="", kind="smooth", width=37, height=33, bits=12):
        return name, image(rng, kind, width, height, bits), bits, options

    for bits in (8, 12, 16):
        for kind in ("smooth", "noise", "sparse", "zero"):
            yield case(f"{bits} bits, {kind}", "-n 4", kind, 29, 23, bits)
    for width, height in ((1, 1), (1, 40), (40, 1), (2, 2), (3, 5), (64, 64), (65, 4), (5, 130), (7, 8), (8, 7), (6, 10), (9, 11)):
        levels = min(width, height).bit_length()
        yield case(f"{width} x {height}", f"-n {levels}", "smooth", width, height)
        yield case(f"{width} x {height}, irreversible", f"-n {levels} -I -r 4", "smooth", width, height)
    for levels in (1, 2, 6):
        yield case(f"{levels} resolutions", f"-n {levels}", width=53)
        yield case(f"{levels} resolutions, irreversible", f"-n {levels} -I", width=53)
    for block in ("4,4", "64,64", "1024,4", "4,1024", "32,8", "8,128"):
        yield case(f"blocks of {block}", f"-n 3 -b {block}")
    for style in (1, 2, 4, 8, 16, 32, 1 | 4, 1 | 2 | 4 | 8 | 16 | 32, 2 | 32):
        yield case(f"style {style}", f"-n 3 -b 16,16 -M {style}", "noise", 26, 21, 12)
        yield case(f"style {style}, layers", f"-n 3 -b 16,16 -M {style} -r 9,4,1", "smooth", 26, 21, 16)
    for progression in ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL"):
        yield case(f"{progression}, layers and precincts", f"-n 4 -p {progression} -c [32,32],[16,16],[8,8] -b 8,8 -r 20,8,1")
        yield case(f"{progression}, tiles and offsets", f"-n 3 -p {progression} -t 20,16 -d 7,5 -T 3,2 -c [16,16],[8,8] -r 9,1")
        yield case(f"{progression}, offsets", f"-n 5 -p {progression} -d 13,21 -c [16,32],[8,16] -r 9,1")
        yield case(f"{progression}, parts of tiles", f"-n 3 -p {progression} -t 20,20 -TP R")
    yield case("changes of progression", "-n 4 -r 20,8,1 -POC T0=0,0,1,2,1,RLCP/T0=0,0,3,4,1,LRCP")
    yield case("markers of packets", "-n 3 -SOP -EPH -r 8,1")
    yield case("markers of lengths", "-n 3 -PLT -TLM -t 30,30")
    for ratio in ("2", "10", "60", "40,20,10"):
        yield case(f"reversible, ratio {ratio}", f"-r {ratio}", bits=16)
        yield case(f"irreversible, ratio {ratio}", f"-I -r {ratio}", bits=16)
    yield case("irreversible, quality", "-I -q 30,40,50", bits=8)
    yield case("irreversible, offsets and tiles", "-I -n 4 -t 21,17 -d 5,3 -T 2,1 -r 5", bits=10)
    for up in (3, 9):
        yield case(f"a region of interest, {up} planes up", f"-n 3 -ROI c=0,U={up}", bits=8)


def main(binaries):
    rng = np.random.default_rng(800)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines = [line(folder, binaries, *c) for c in cases(rng)]
        lines.append(line(folder, binaries, "a JP2 file", image(rng, "smooth", 30, 20, 8), 8, "-n 3", "jp2"))
    with open("vectors.json", "w") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")


main(pathlib.Path(sys.argv[1]))
