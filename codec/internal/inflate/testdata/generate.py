"""Makes zlib.txt and codes.txt: streams of zlib, and zlib's results for unusual streams.

    python generate.py        # needs only the standard library, whose zlib module is zlib itself

zlib.txt    name, data, stream      zlib streams of every level and strategy; data names a line of the first kind
codes.txt   name, stream, verdict   raw DEFLATE streams; verdict is "error" or "consumed:output"
All bytes are in hexadecimal, fields are separated by one space, an empty field is a dash.
"""

import itertools
import random
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).parent
ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]


def hexed(data):
    return bytes(data).hex() or "-"


def samples():
    rng = random.Random(1)
    text = b" ".join(rng.choice([b"varve", b"sediment", b"layer", b"lake", b"of", b"the"]) for _ in range(120))
    field = struct.pack("<100f", *(250 + 20 * (i / 100) ** 2 + rng.randrange(64) / 64 for i in range(100)))
    shuffled = b"".join(field[k::4] for k in range(4))
    runs = b"".join(bytes([rng.randrange(4)]) * rng.randrange(1, 300) for _ in range(12))
    return {"text": text, "shuffled": shuffled, "runs": runs, "noise": rng.randbytes(200), "empty": b"", "one": b"x"}


def deflate(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, flush=None, wbits=15):
    c = zlib.compressobj(level, zlib.DEFLATED, wbits, 8, strategy)
    if flush is None:
        return c.compress(data) + c.flush()
    step = max(1, len(data) // 5)
    parts = [c.compress(data[i:i + step]) + c.flush(flush) for i in range(0, len(data), step)]
    return b"".join(parts) + c.flush()


def zlib_streams():
    data = samples()
    for name, d in data.items():
        yield f"data {name} {hexed(d)}"
    strategies = {"fixed": zlib.Z_FIXED, "huffman": zlib.Z_HUFFMAN_ONLY, "rle": zlib.Z_RLE, "filtered": zlib.Z_FILTERED}
    flushes = {"sync": zlib.Z_SYNC_FLUSH, "full": zlib.Z_FULL_FLUSH, "partial": zlib.Z_PARTIAL_FLUSH}
    for name, d in data.items():
        variants = {f"level{n}": deflate(d, n) for n in range(10)}
        variants |= {s: deflate(d, strategy=v) for s, v in strategies.items()}
        variants |= {f"flush-{s}": deflate(d, flush=v) for s, v in flushes.items()}
        variants["window9"] = deflate(d, wbits=9)
        seen = set()
        for variant, stream in variants.items():
            if stream not in seen:
                seen.add(stream)
                yield f"{variant} {name} {hexed(stream)}"


class Bits:
    def __init__(self):
        self.value = self.count = 0

    def put(self, value, count):
        self.value |= value << self.count
        self.count += count
        return self

    def code(self, word, length):
        return self.put(int(f"{word:0{length}b}"[::-1], 2) if length else 0, length)

    def bytes(self):
        return self.value.to_bytes((self.count + 7) // 8, "little")


def canonical(lens):
    """{symbol: (word, length)}, also for lengths that are not a valid code."""
    word, out = 0, {}
    for length in range(1, 16):
        for sym, n in enumerate(lens):
            if n == length:
                out[sym] = (word & (1 << length) - 1, length)
                word += 1
        word <<= 1
    return out


def header(litlen, dist, precode):
    """The head of a final dynamic block, with unchecked lengths."""
    b = Bits().put(1, 1).put(2, 2).put(len(litlen) - 257, 5).put(len(dist) - 1, 5).put(15, 4)
    for sym in ORDER:
        b.put(precode[sym], 3)
    words = canonical(precode)
    for n, run in itertools.groupby(litlen + dist):
        count = len(list(run))
        while n == 0 and count >= 11 and 18 in words:
            b.code(*words[18]).put(min(count, 138) - 11, 7)
            count -= min(count, 138)
        for _ in range(count):
            b.code(*words.get(n, (0, 1)))
    return b


COMPLETE_PRECODE = [4] * 13 + [5] * 6


def litlen(**lens):
    out = [0] * max(257, 1 + max(int(k[1:]) for k in lens))
    for k, n in lens.items():
        out[int(k[1:])] = n
    return out


def stream(lit, dist, symbols, precode=COMPLETE_PRECODE):
    """A block; symbols are literal/length symbols, or raw (value, bits)."""
    b = header(lit, dist, precode)
    words = canonical(lit)
    for s in symbols:
        b.put(*s) if isinstance(s, tuple) else b.code(*words[s])
    return b.bytes()


def named_codes():
    ab = litlen(s97=2, s98=2, s256=2, s257=2)
    end, zero = [256], [0]
    yield "single end of block", stream(litlen(s256=1), zero, end)
    yield "single end of block, unused code", stream(litlen(s256=1), zero, [(1, 1)])
    yield "single end of block of 2 bits", stream(litlen(s256=2), zero, end)
    yield "no literal/length codes", stream([0] * 257, zero, [(0, 8)])
    yield "no end of block", stream(litlen(s97=1, s98=1), zero, [97, 98])
    yield "no distances, none used", stream(ab, zero, [97, 98, 256])
    yield "no distances, one used", stream(ab, zero, [97, 257, (0, 8), 256])
    yield "single distance", stream(ab, [1], [97, 257, (0, 1), 256])
    yield "single distance, unused code", stream(ab, [1], [97, 257, (1, 1), 256])
    yield "single distance of 2 bits", stream(ab, [2], [97, 257, (0, 2), 256])
    yield "single distance, second symbol", stream(ab, [0, 1], [97, 98, 257, (0, 1), 256])
    yield "two distances", stream(ab, [1, 1], [97, 98, 257, (1, 1), 256])
    yield "incomplete distances", stream(ab, [2, 2, 2], [97, 256])
    yield "oversubscribed distances", stream(ab, [1, 1, 1], [97, 256])
    yield "incomplete literals", stream(litlen(s97=2, s256=2), zero, [97, 256])
    yield "oversubscribed literals", stream(litlen(s97=1, s98=1, s256=1), zero, [97, 256])
    yield "distance too far", stream(ab, [1, 1], [97, 257, (1, 1), 256])
    yield "match before any output", stream(ab, [1, 1], [257, (0, 1), 256])
    yield "30 distances", stream(ab, [4] * 2 + [5] * 28, [97, 256])
    yield "31 distances", stream(ab, [4] * 1 + [5] * 30, [97, 256])
    yield "32 distances", stream(ab, [5] * 32, [97, 256])
    yield "286 literal/length codes", stream([8] * 226 + [9] * 60, zero, [97, 256])
    yield "287 literal/length codes", stream([8] * 225 + [9] * 62, zero, [97, 256])
    yield "288 literal/length codes", stream([8] * 224 + [9] * 64, zero, [97, 256])
    deep = litlen(**{f"s{97 + i}": i + 1 for i in range(14)}, s256=15, s285=15)
    yield "codes of 1 to 15 bits", stream(deep, [1, 1], [*range(97, 111), 285, (1, 1), 256])
    distances = [i + 1 for i in range(14)] + [15, 15]
    yield "distances of 1 to 15 bits", stream(ab, distances, [97] * 200 + [257, (0x3fff, 14), (0, 1), (63, 6), 98, 256])
    yield "258 as 284 and 31", stream(litlen(s97=2, s256=2, s284=2, s285=2), [1], [97, 284, (31, 5), (0, 1), 256])
    yield "incomplete precode", stream(ab, zero, [97, 256], [5] * 19)
    yield "oversubscribed precode", stream(ab, zero, [97, 256], [4] * 19)
    yield "single precode", stream(ab, zero, [97, 256], [1] + [0] * 18)
    yield "empty precode", stream(ab, zero, [97, 256], [0] * 19)
    base = Bits().put(1, 1).put(2, 2).put(0, 5).put(0, 5).put(15, 4)
    repeat = [0] * 16 + [1, 0, 1]
    for name, bits in {"repeat before any length": [(0, 1)], "zeros beyond the lengths": [(1, 1), (127, 7), (1, 1), (127, 7)]}.items():
        b = Bits().put(base.value, base.count)
        for sym in ORDER:
            b.put(repeat[sym], 3)
        for v in bits:
            b.put(*v)
        yield name, b.put(0, 32).bytes()
    for sym in (286, 287):
        yield f"fixed literal/length {sym}", Bits().put(3, 3).code(0b11000000 + sym - 280, 8).code(0, 7).bytes()
    for sym in (29, 30, 31):
        b = Bits().put(3, 3).code(0x30 + 97, 8).code(1, 7).code(sym, 5).put(0, 13).code(0, 7)
        yield f"fixed distance {sym}", b.bytes()
    yield "block type 3", b"\x07\x00"
    yield "stored empty", b"\x01\x00\x00\xff\xff"
    yield "stored, bits before it set", b"\xf9\x01\x00\xfe\xffx"
    yield "stored, wrong complement", b"\x01\x01\x00\xff\xffx"
    yield "stored, short", b"\x01\x02\x00\xfd\xffx"
    yield "nothing", b""


def random_code(rng, size, limit):
    """Lengths of a complete code for some of size symbols, sometimes made invalid."""
    leaves = [0]
    for _ in range(rng.randrange(1, min(size, 40))):
        i = rng.randrange(len(leaves))
        if leaves[i] < limit:
            leaves[i:i + 1] = [leaves[i] + 1] * 2
    lens = [0] * size
    for sym, n in zip(rng.sample(range(size), len(leaves)), leaves):
        lens[sym] = n
    if rng.random() < 0.3:
        lens[rng.randrange(size)] = rng.randrange(limit + 1)
    return lens


def random_blocks(rng):
    for n in range(80):
        lit = random_code(rng, rng.randrange(257, 287), 15)
        if rng.random() < 0.9 and not lit[256]:
            other = next(i for i, v in enumerate(lit) if v)
            lit[256], lit[other] = lit[other], 0
        dist = random_code(rng, rng.randrange(2, 31), 15) if rng.random() < 0.8 else [rng.randrange(2)]
        words, symbols = canonical(lit), []
        literals = [s for s in words if s < 256]
        for _ in range(rng.randrange(30)):
            symbols.append(rng.choice(literals) if literals and rng.random() < 0.7 else (rng.getrandbits(20), 20))
        yield f"random block {n}", stream(lit, dist, [*symbols, *[256] * (256 in words)])


def flipped(rng):
    data = samples()
    for n in range(80):
        s = bytearray(deflate(rng.choice([data["text"][:120], data["shuffled"][:60]]), wbits=-15, level=rng.choice([1, 6]),
                              strategy=rng.choice([zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED])))
        for _ in range(rng.randrange(1, 3)):
            s[rng.randrange(len(s))] ^= 1 << rng.randrange(8)
        yield f"flipped {n}", bytes(s)


def verdict(data):
    d = zlib.decompressobj(-15)
    try:
        out = d.decompress(data)
    except zlib.error:
        return "error"
    return f"{len(data) - len(d.unused_data)}:{hexed(out)}" if d.eof else "error"


def main():
    (HERE / "zlib.txt").write_text("\n".join(zlib_streams()) + "\n")
    rng = random.Random(2)
    with open(HERE / "codes.txt", "w") as f:
        for make in (named_codes(), random_blocks(rng), flipped(rng)):
            for name, data in make:
                f.write(f"{name.replace(' ', '_')} {hexed(data)} {verdict(data)}\n")


if __name__ == "__main__":
    main()
