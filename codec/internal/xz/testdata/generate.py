#!/usr/bin/env python3
"""Writes vectors.json: streams that liblzma wrote, with the length and CRC-32 of the decoded bytes.

    generate.py            needs numpy, and xz for blocks

A line is {"name", "format": "xz", "alone" or "raw", "filters": of a raw stream, as Go's, "stored": base64, "size", "crc32"}.
"""
import base64
import json
import lzma
import os
import subprocess
import zlib

import numpy as np


def texts():
    rng = np.random.default_rng(9)
    yield "nothing", b""
    yield "one byte", b"x"
    yield "equal bytes", b"z" * 5000
    yield "noise", rng.integers(0, 256, 300, dtype=np.uint8).tobytes()
    yield "words", b" ".join(rng.choice([b"tile", b"source", b"edge", b"ref", b"face", b"grid"], 250))
    yield "float32", np.sin(np.arange(110, dtype="<f4") / 9).tobytes()
    yield "int16 steps", np.cumsum(rng.integers(-3, 4, 300), dtype="<i2").tobytes()
    yield "far repeats", (lambda p: p + bytes(9000) + p + b"-" + p)(rng.integers(0, 256, 100, dtype=np.uint8).tobytes())
    yield "noise between long runs", b"".join(bytes([i]) * 200 + rng.integers(0, 256, 9, dtype=np.uint8).tobytes() for i in range(12))


def big():
    """Text of more than one LZMA2 chunk, of both kinds, that compresses well enough for a small file."""
    rng = np.random.default_rng(10)
    page = rng.integers(0, 256, 4000, dtype=np.uint8).tobytes()
    return bytes(1 << 21) + page + bytes(1 << 20) + page[::-1] + page


def line(name, form, stored, text, filters=None):
    v = {"name": name, "format": form, "stored": base64.b64encode(stored).decode(), "size": len(text), "crc32": zlib.crc32(text)}
    if filters:
        names = {"id": "ID", "dist": "Distance", "lc": "LC", "lp": "LP", "pb": "PB"}
        v["filters"] = [{names[k]: x for k, x in f.items() if k in names} for f in filters]
    return json.dumps(v)


def cases():
    two = {"id": lzma.FILTER_LZMA2}
    one = {"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 2}
    delta = lambda n: {"id": lzma.FILTER_DELTA, "dist": n}
    checks = (lzma.CHECK_CRC64, lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_SHA256)
    for i, (name, text) in enumerate(texts()):
        yield line(name, "xz", lzma.compress(text, check=checks[i % 4]), text)
        yield line(name, "alone", lzma.compress(text, format=lzma.FORMAT_ALONE, preset=i), text)
        chain = [delta(4), two] if i % 2 else [one]
        yield line(name, "raw", lzma.compress(text, format=lzma.FORMAT_RAW, filters=chain), text, chain)
    text = dict(texts())["float32"]
    for lc, lp, pb in ((0, 0, 0), (4, 0, 4), (0, 4, 2), (1, 2, 3), (2, 2, 0), (0, 3, 1)):
        chain = [{"id": lzma.FILTER_LZMA2, "lc": lc, "lp": lp, "pb": pb}]
        yield line("lc %d, lp %d, pb %d" % (lc, lp, pb), "xz", lzma.compress(text, filters=chain), text)
        chain[0]["id"] = lzma.FILTER_LZMA1
        yield line("lc %d, lp %d, pb %d" % (lc, lp, pb), "raw", lzma.compress(text, format=lzma.FORMAT_RAW, filters=chain), text, chain)
    for chain in ([delta(1), two], [delta(256), two], [delta(4), delta(1), delta(2), two]):
        yield line("%d deltas, %d first" % (len(chain) - 1, chain[0]["dist"]), "xz", lzma.compress(text, filters=chain), text)
    chain = [{"id": lzma.FILTER_LZMA2, "preset": 0, "mode": lzma.MODE_FAST, "nice_len": 8}]
    yield line("fast mode", "xz", lzma.compress(text, filters=chain), text)
    words = dict(texts())["words"]
    yield line("two streams", "xz", lzma.compress(text) + lzma.compress(words), text + words)
    yield line("padded streams", "xz", lzma.compress(text) + bytes(8) + lzma.compress(b"") + lzma.compress(words) + bytes(4), text + words)
    yield line("chunks", "xz", lzma.compress(big()), big())
    pack = lambda text, *args: subprocess.run(["xz", "-c", *args], input=text, stdout=subprocess.PIPE, check=True).stdout
    yield line("blocks", "xz", pack(words, "--block-size=500"), words)
    yield line("blocks with sizes", "xz", pack(words, "--block-size=500", "-T2"), words)
    yield line("alone with a size", "alone", with_size(lzma.compress(words, format=lzma.FORMAT_ALONE), words), words)


def with_size(stored, text):
    """Writes the size into the header. The end marker stays, which is allowed."""
    return stored[:5] + len(text).to_bytes(8, "little") + stored[13:]


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        out.write("[\n" + ",\n".join(cases()) + "\n]\n")


main()
