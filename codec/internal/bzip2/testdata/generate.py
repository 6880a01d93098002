#!/usr/bin/env python3
"""Writes vectors.json: bzip2 streams by libbz2, with the length and CRC-32 of the decoded bytes.

    generate.py            needs numpy

A line is {"name", "stored": base64, "size", "crc32"}.
"""
import base64
import bz2
import json
import os
import zlib

import numpy as np


def cases():
    rng = np.random.default_rng(7)
    yield "nothing", b"", 9
    yield "one byte", b"x", 1
    for n in (3, 4, 5, 6, 258, 259, 260, 261):
        yield "%d equal bytes" % n, b"z" * n, 9
    yield "equal bytes in pairs of runs", b"".join(b"a" * n + b"b" * (n % 7) for n in range(300)), 9
    yield "a run over the end of a block", b"ab" * 40000 + b"q" * 120000 + b"cd" * 30000, 1
    yield "every byte", bytes(range(256)) * 3, 9
    yield "noise", rng.integers(0, 256, 1500, dtype=np.uint8).tobytes(), 9
    yield "float32", np.sin(np.arange(700, dtype="<f4") / 9).tobytes(), 5
    yield "int16 shuffled", np.cumsum(rng.integers(-3, 4, 1500), dtype="<i2").view("u1").reshape(-1, 2).T.tobytes(), 9
    yield "long codes", b"".join(bytes([i]) * (1 << max(0, i - 2)) for i in range(18)), 9
    yield "several blocks", (np.arange(30000, dtype="<u4") // 9).tobytes(), 1


def line(name, stored, plain):
    return json.dumps({"name": name, "stored": base64.b64encode(stored).decode(), "size": len(plain),
                       "crc32": zlib.crc32(plain)})


def main():
    lines = [line(name, bz2.compress(plain, level), plain) for name, plain, level in cases()]
    lines.append(line("two streams", bz2.compress(b"one, ") + bz2.compress(b"two"), b"one, two"))
    lines.append(line("an empty stream between two", bz2.compress(b"one, ") + bz2.compress(b"") + bz2.compress(b"two"), b"one, two"))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w") as out:
        out.write("[\n" + ",\n".join(lines) + "\n]\n")


main()
