#!/usr/bin/env python3
"""Writes messages.json: GRIB messages and the values that ecCodes finds in them.

    generate.py OUT                   the same messages at every run; needs eccodes and numpy
    generate.py OUT --random SEED N   N messages of random packings, sizes, parameters and values

A line is {"name", "message": base64, "values": base64 of zlib of float64, "error": what ecCodes says if it does not read them}.
Missing points are the NaN 0x7ff8000000000000, as varve has it.
"""
import argparse
import base64
import json
import struct
import zlib

import eccodes as ec
import numpy as np

MISSING = -1.6180339887e300  # improbable as a value; ecCodes puts it where there is none
NAN = np.frombuffer(b"\0\0\0\0\0\0\xf8\x7f", "<f8")[0]


def line(name, message):
    """What ecCodes says of a message."""
    out = {"name": name, "message": base64.b64encode(message).decode()}
    h = None
    try:
        h = ec.codes_new_from_message(message)
        ec.codes_set_double(h, "missingValue", MISSING)
        values = np.array(ec.codes_get_double_array(h, "values"), "<f8")
        values[values == MISSING] = NAN
        out["values"] = base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
    except ec.CodesInternalError as e:
        out["error"] = f"{type(e).__name__}: {e}"
    if h is not None:
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
        for precision in (1, 2):
            for bitmap in (None, some):
                yield f"GRIB{edition} IEEE, precision {precision}, {'bitmap' if bitmap is some else 'all'}", encode(
                    edition, field(rng, n), bitmap=bitmap, packingType="grid_ieee", precision=precision)
    for packing in ("complex", "complex_spatial_differencing", "ccsds", "jpeg"):
        for kind in ("smooth", "steps", "sparse", "constant"):
            for bitmap in (None, some):
                yield f"GRIB2 {packing}, {kind}, {'bitmap' if bitmap is some else 'all'}", encode(
                    2, field(rng, n, kind), bitmap=bitmap, bitsPerValue=16, late=[("packingType", f"grid_{packing}")])
    for packing in ("grid_second_order_boustrophedonic", "grid_second_order_no_boustrophedonic"):  # the others it only reads
        for bitmap in (None, some):
            for edition in (1, 2):
                yield f"GRIB{edition} {packing}, {'bitmap' if bitmap is some else 'all'}", encode(
                    edition, field(rng, n), bitmap=bitmap, bitsPerValue=12, late=[("packingType", packing)])
    for bits in (8, 12, 16, 25, 32):
        for flags in (8, 0):
            for block, interval in ((8, 4), (32, 128), (64, 1)):
                yield f"GRIB2 CCSDS, {bits} bits, flags {flags}, {block} x {interval}", encode(
                    2, field(rng, n), packingType="grid_ccsds", bitsPerValue=bits, ccsdsFlags=flags | 4, ccsdsBlockSize=block, ccsdsRsi=interval)
    for bits in (8, 16, 24, 32):
        for kind in ("steps", "constant"):
            values = field(rng, 60 * 40, kind)
            yield f"GRIB2 PNG, {bits} bits, {kind}", encode(2, values, (60, 40), bitsPerValue=bits, late=[("packingType", "grid_png")])
        for bitmap in (None, some):
            yield f"GRIB2 PNG, {bits} bits, all predictions, {'bitmap' if bitmap is some else 'all'}", png(rng, (13, 9), bits, bitmap)
    for bits, ratios in ((1, (0,)), (7, (0, 5)), (16, (0, 5, 20)), (24, (0, 9)), (25, (0,))):
        for ratio in ratios:
            late = [("packingType", "grid_jpeg")]
            lossy = {"typeOfCompressionUsed": 1, "targetCompressionRatio": ratio} if ratio else {}
            yield f"GRIB2 JPEG 2000, {bits} bits, ratio {ratio}", encode(
                2, field(rng, 40 * 33, "smooth"), (40, 33), packingType="grid_jpeg", bitsPerValue=bits, **lossy)
    for size in ((1, 1), (1, 9), (70, 1), (65, 70), (200, 3)):
        yield f"GRIB2 JPEG 2000, {size[0]} x {size[1]}", encode(
            2, field(rng, size[0] * size[1], "sparse"), size, packingType="grid_jpeg", bitsPerValue=12)


class Bits:
    """Bits from the most significant down."""

    def __init__(self):
        self.text = []

    def add(self, value, width):
        if width:
            self.text.append(format(int(value) & ((1 << width) - 1), f"0{width}b"))
        return self

    def align(self):
        self.text.append("0" * (-sum(map(len, self.text)) % 8))
        return self

    def bytes(self):
        self.align()
        text = "".join(self.text)
        self.text = [text]
        return int("1" + text, 2).to_bytes(len(text) // 8 + 1, "big")[1:] if text else b""


def magnitude(value, width):
    """A signed integer as a sign and a magnitude."""
    return (abs(value) | (1 << (width - 1) if value < 0 else 0)) & ((1 << width) - 1)


def sections(message):
    """The sections of a message that ecCodes encodes, by their number."""
    out, at = {}, 16 if message[7] == 2 else 8
    if message[7] == 2:
        while message[at : at + 4] != b"7777":
            n = int.from_bytes(message[at : at + 4], "big")
            out[message[at + 4]] = message[at : at + n]
            at += n
    else:
        for number in (1, 2):
            n = int.from_bytes(message[at : at + 3], "big")
            out[number] = message[at : at + n]
            at += n
    return out


def header(edition, size, sample="regular_ll_sfc", **keys):
    h = ec.codes_grib_new_from_samples(f"{sample}_grib{edition}")
    if size:
        ec.codes_set(h, "Ni", size[0])
        ec.codes_set(h, "Nj", size[1])
    for key, value in keys.items():
        ec.codes_set(h, key, value)
    out = sections(ec.codes_get_message(h))
    ec.codes_release(h)
    return out


def pack_bitmap(bitmap):
    return np.packbits(bitmap).tobytes()


def message2(size, template, coded, parameters, data, bitmap=None, points=None, **keys):
    """A message of edition 2 with sections 5 and 7 of our own."""
    s = header(2, size, **keys)
    if points is not None:
        s[3] = s[3][:6] + struct.pack(">I", points) + s[3][10:]
    elif size:
        s[3] = s[3][:6] + struct.pack(">I", size[0] * size[1]) + s[3][10:]
    five = struct.pack(">BIH", 5, coded, template) + parameters
    six = b"\x06\xff" if bitmap is None else b"\x06\x00" + pack_bitmap(bitmap)
    parts = [s[1], s[3], s[4]] + [struct.pack(">I", len(b) + 4) + b for b in (five, six, b"\x07" + data)]
    body = b"".join(parts) + b"7777"
    return b"GRIB\0\0\0\x02" + struct.pack(">Q", len(body) + 16) + body


def message1(size, flags, scale, reference, rest, bitmap=None, decimals=0, unused=0, **keys):
    """A message of edition 1 with a section 4 of our own, which goes on with rest behind the reference."""
    s = header(1, size, **keys)
    one = bytearray(s[1])
    one[7] = 0x80 | (0x40 if bitmap is not None else 0)
    one[26:28] = struct.pack(">H", magnitude(decimals, 16))
    parts = [bytes(one), s[2]]
    if bitmap is not None:
        bits = pack_bitmap(bitmap)
        bits += bytes(len(bits) % 2)
        parts.append((len(bits) + 6).to_bytes(3, "big") + bytes([8 * len(bits) - len(bitmap), 0, 0]) + bits)
    four = bytes([flags | unused]) + struct.pack(">H", magnitude(scale, 16)) + reference + rest
    parts.append((len(four) + 3).to_bytes(3, "big") + four)
    body = b"".join(parts) + b"7777"
    return b"GRIB" + (len(body) + 8).to_bytes(3, "big") + b"\x01" + body


def common(rng, bits):
    """Reference, E, D and bits a value of edition 2."""
    return struct.pack(">fHHB", rng.normal(0, 1000), magnitude(int(rng.integers(-20, 10)), 16), magnitude(int(rng.integers(-4, 9)), 16), bits)


def ibm(rng):
    return bytes([int(rng.integers(0, 256)) & 0x80 | int(rng.integers(60, 70)), *rng.integers(0, 256, 3).tolist()])


def random_size(rng):
    return int(rng.integers(1, 30)), int(rng.integers(1, 20))


def random_bitmap(rng, n):
    return None if rng.random() < 0.6 else rng.random(n) < rng.random()


def coded_of(bitmap, n):
    return n if bitmap is None else int(bitmap.sum())


def split(rng, n):
    """Lengths of groups of n values together."""
    lengths = []
    while n > 0:
        lengths.append(min(n, int(rng.integers(1, 25))))
        n -= lengths[-1]
    return lengths


def random_simple2(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    bits, coded = int(rng.choice([*range(58), 64])), coded_of(bitmap, n)  # ecCodes loses bits of others
    return message2(size, 0, coded, common(rng, bits) + b"\0", rng.bytes((coded * bits + 7) // 8), bitmap)


def random_simple1(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded, bits = coded_of(bitmap, n), int(rng.integers(0, 41))
    size4 = 11 + (coded * bits + 7) // 8
    data = rng.bytes(size4 - 11) + bytes(size4 % 2)
    unused = 8 * len(data) - coded * bits if bits else 0
    return message1(size, 0, int(rng.integers(-20, 10)), ibm(rng), bytes([bits]) + data, bitmap, int(rng.integers(-4, 9)), min(unused, 15))


def random_complex(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded = coded_of(bitmap, n)
    management, order = int(rng.integers(0, 3)), int(rng.integers(0, 3))
    lengths = split(rng, coded)
    bits, width_reference, length_reference = int(rng.integers(0, 21)), int(rng.integers(0, 4)), int(rng.integers(0, 2))
    widths = [width_reference + int(rng.integers(0, 8)) for _ in lengths]
    descriptor = int(rng.integers(1, 5))
    data = Bits()
    if order:
        for _ in range(order):
            data.add(rng.integers(0, 1 << 7), 8 * descriptor)
        data.add(magnitude(int(rng.integers(-100, 100)), 8 * descriptor), 8 * descriptor)
    for _ in lengths:  # the highest ones are missing values
        top = (1 << bits) - 1
        data.add(top - int(rng.integers(0, 2)) if rng.random() < 0.3 else rng.integers(0, 1 << bits), bits)
    data.align()
    for w in widths:
        data.add(w - width_reference, 3)
    data.align()
    for length in lengths:
        data.add(max(0, length - length_reference), 5)
    data.align()
    for length, w in zip(lengths, widths):
        for _ in range(length):
            top = (1 << w) - 1
            data.add(top - int(rng.integers(0, 2)) if rng.random() < 0.1 else rng.integers(0, 1 << w), w)
    parameters = common(rng, bits) + struct.pack(
        ">BBBIIIBBIBIB", 0, 1, management, 0xFFFFFFFF, 0xFFFFFFFF, len(lengths), width_reference, 3, length_reference, 1,
        lengths[-1] if lengths else 0, 5)
    if order or rng.random() < 0.5:
        return message2(size, 3, coded, parameters + bytes([order, descriptor if order else 0]), data.bytes(), bitmap)
    return message2(size, 2, coded, parameters, data.bytes(), bitmap)


def extended_parts(rng, coded, order):
    """The parts of general extended second-order packing: widths, lengths, first-order values, values."""
    lengths = split(rng, coded - order)
    first, width_bits, length_bits, spd = int(rng.integers(0, 20)), 4, 5, int(rng.integers(8, 30))
    widths = [int(rng.integers(0, 12)) for _ in lengths]
    descriptors = Bits()
    for _ in range(order):
        descriptors.add(rng.integers(0, 100), spd)
    if order:
        descriptors.add(magnitude(int(rng.integers(-50, 50)), spd), spd)
    data = Bits()
    for w in widths:
        data.add(w, width_bits)
    data.align()
    for length in lengths:
        data.add(length, length_bits)
    data.align()
    for _ in lengths:
        data.add(rng.integers(0, 1 << first), first)
    data.align()
    for length, w in zip(lengths, widths):
        for _ in range(length):
            data.add(rng.integers(0, 1 << w), w)
    return len(lengths), first, width_bits, length_bits, (bytes([spd]) + descriptors.bytes() if order else b""), data.bytes()


def random_extended2(rng):
    size = random_size(rng)
    n = size[0] * size[1] + 4
    size = (n, 1) if rng.random() < 0.3 else (int(rng.integers(2, 20)), int(rng.integers(3, 20)))
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded = coded_of(bitmap, n)
    order = int(rng.integers(0, 4)) if coded > 4 else 0
    count, first, width_bits, length_bits, descriptors, data = extended_parts(rng, coded, order)
    parameters = common(rng, 16) + struct.pack(">BIIBB", first, count, coded, width_bits, length_bits)
    if rng.random() < 0.4:
        return message2(size, 50001, coded, parameters + bytes([order]) + descriptors, data, bitmap)
    return message2(size, 50002, coded, parameters + bytes([0x80 * int(rng.integers(0, 2)), order]) + descriptors, data, bitmap)


def random_extended1(rng):
    size = (int(rng.integers(2, 20)), int(rng.integers(3, 20)))
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded = coded_of(bitmap, n)
    order = int(rng.integers(0, 4)) if coded > 4 else 0
    count, first, width_bits, length_bits, descriptors, data = extended_parts(rng, coded, order)
    flags = 0x18 | (4 if rng.random() < 0.5 else 0) | order
    rest = struct.pack(">BHBHHHBBBH", first, 0, flags, 0, count, coded, 0, width_bits, length_bits, 0) + descriptors + data
    rest += bytes((len(rest) + 10) % 2)
    return message1(size, 0x50, int(rng.integers(-20, 10)), ibm(rng), rest, bitmap, int(rng.integers(-4, 9)))


def random_older1(rng):
    """Row by row, constant width and general second-order packing."""
    kind = ("rows", "constant", "general")[int(rng.integers(0, 3))]
    size = (int(rng.integers(2, 20)), int(rng.integers(3, 20)))
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded = coded_of(bitmap, n)
    if coded == 0:
        bitmap, coded = None, n
    if kind == "rows":
        lengths = [size[0]] * size[1] if bitmap is None else bitmap.reshape(size[1], size[0]).sum(1).tolist()
    else:
        lengths = split(rng, coded)
    widths = [int(rng.integers(0, 12)) for _ in lengths]
    first = int(rng.integers(1, 20))
    if kind == "constant":
        widths = [widths[0]] * len(lengths)
    data = Bits()
    for w in widths[:1] if kind == "constant" else widths:
        data.add(w, 8)
    if kind != "rows":
        for length in lengths:
            data.add(1, 1).add(0, length - 1)
        data.align()
    for _ in lengths:
        data.add(rng.integers(0, 1 << first), first)
    data.align()
    for length, w in zip(lengths, widths):
        for _ in range(length):
            data.add(rng.integers(0, 1 << w), w)
    flags = {"rows": 0x10, "constant": 0x20, "general": 0x30}[kind]
    rest = struct.pack(">BHBHHHB", first, 0, flags, 0, len(lengths), coded, 0) + data.bytes()
    rest += bytes((len(rest) + 10) % 2)
    return message1(size, 0x50, int(rng.integers(-20, 10)), ibm(rng), rest, bitmap, int(rng.integers(-4, 9)))


def random_runs(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded = coded_of(bitmap, n)
    bits = int(rng.integers(2, 10))
    highest = int(rng.integers(1, (1 << bits) - 2)) if bits > 2 else 1
    levels = highest + int(rng.integers(0, 3))
    base = (1 << bits) - 1 - highest
    data = Bits()
    left = coded
    while left > 0:
        length = min(left, int(rng.integers(1, 60)))
        left -= length
        data.add(rng.integers(0, highest + 1), bits)
        length -= 1
        while length > 0 and base > 1:
            data.add(highest + 1 + length % base, bits)
            length //= base
        left += length if base == 1 else 0
    while sum(map(len, data.text)) % 8 and -sum(map(len, data.text)) % 8 >= bits:
        data.add(highest + 1, bits)  # else the rest of the last byte begins a run
    parameters = struct.pack(">BHHB", bits, highest, levels, magnitude(int(rng.integers(-3, 6)), 8)) + rng.integers(0, 65536, levels).astype(">u2").tobytes()
    return message2(size, 200, coded, parameters, data.bytes(), bitmap)


def random_logarithm(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded, bits = coded_of(bitmap, n), int(rng.integers(0, 17))
    parameters = struct.pack(">fHHBf", rng.normal(0, 5), magnitude(-int(rng.integers(8, 14)), 16), 0, bits, 0 if rng.random() < 0.5 else rng.normal())
    return message2(size, 61, coded, parameters, rng.bytes((coded * bits + 7) // 8), bitmap)


def random_ieee(rng):
    size = random_size(rng)
    n = size[0] * size[1]
    bitmap = random_bitmap(rng, n)
    coded, precision = coded_of(bitmap, n), int(rng.integers(1, 3))
    values = rng.normal(0, 1e5, coded).astype((">f4", ">f8")[precision - 1])
    return message2(size, 4, coded, bytes([precision]), values.tobytes(), bitmap)


def random_spectral(rng):
    edition, j = int(rng.integers(1, 3)), int(rng.integers(1, 25))
    n, bits = (j + 1) * (j + 2), int(rng.integers(1, 25))
    sub = int(rng.integers(0, j + 1))
    keys = {"J": j, "K": j, "M": j}
    sample = "sh_ml"
    if rng.random() < 0.3:
        data = rng.bytes(((n - 1) * bits + 7) // 8)
        if edition == 2:
            return message2(None, 50, n, common(rng, bits) + struct.pack(">f", rng.normal()), data, points=n, sample=sample, **keys)
        data += bytes(len(data) % 2 == 0)
        unused = 8 * len(data) - (n - 1) * bits
        if unused >= bits or unused > 15:
            return random_spectral(rng)
        return message1(None, 0x80, int(rng.integers(-20, 10)), ibm(rng), bytes([bits]) + ibm(rng) + data, None, 0, unused, sample=sample, representationMode=1, **keys)
    packed = ((n - (sub + 1) * (sub + 2)) * bits + 7) // 8
    if edition == 2:
        precision = int(rng.integers(1, 3))
        floats = rng.normal(0, 10, (sub + 1) * (sub + 2)).astype((">f4", ">f8")[precision - 1]).tobytes()
        parameters = common(rng, bits) + struct.pack(
            ">IHHHIB", magnitude(int(rng.integers(-1000000, 1500000)), 32), sub, sub, sub, (sub + 1) * (sub + 2), precision)
        return message2(None, 51, n, parameters, floats + rng.bytes(packed), points=n, sample=sample, **keys)
    if sub == j:
        sub -= 1  # ecCodes reads IEEE floats then
        packed = ((n - (sub + 1) * (sub + 2)) * bits + 7) // 8
    floats = b"".join(ibm(rng) for _ in range((sub + 1) * (sub + 2)))
    data = floats + rng.bytes(packed)
    rest = struct.pack(">BHHBBB", bits, 18 + len(floats), magnitude(int(rng.integers(-1000, 1500)), 16), sub, sub, sub) + data
    rest += bytes((len(rest) + 10) % 2)
    return message1(None, 0xC0, int(rng.integers(-20, 10)), ibm(rng), rest, None, int(rng.integers(-2, 3)), sample=sample, **keys)


def limit(kind, n, m, j):
    """The highest i of a bi-Fourier truncation at j."""
    if kind == 77:
        return n
    if kind == 99:
        return n - j * n // m if m else -1
    return n if j == 0 else 0 if j == m else int(n / m * np.sqrt(m * m - j * j) + 1e-10)


def random_bifourier(rng):
    n, m, kind = int(rng.integers(1, 15)), int(rng.integers(1, 15)), int(rng.choice([77, 88, 99]))
    sub_n, sub_m, sub_kind = int(rng.integers(1, n + 1)), int(rng.integers(1, m + 1)), int(rng.choice([77, 88, 99]))
    axes, bits, precision = int(rng.integers(0, 2)), int(rng.integers(1, 25)), int(rng.integers(1, 3))
    floats = coded = 0
    for j in range(m + 1):
        for i in range(limit(kind, n, m, j) + 1):
            coded += 4
            inside = i <= sub_n and j <= sub_m and i <= limit(sub_kind, sub_n, sub_m, j) and j <= limit(sub_kind, sub_m, sub_n, i)
            floats += 4 if inside or axes and (i == 0 or j == 0) else 0
    data = rng.normal(0, 10, floats).astype((">f4", ">f8")[precision - 1]).tobytes() + rng.bytes(((coded - floats) * bits + 7) // 8)
    parameters = common(rng, bits) + struct.pack(
        ">BBIHHIB", sub_kind, axes, magnitude(int(rng.integers(-1000000, 1500000)), 32), sub_n, sub_m, floats, precision)
    keys = {"gridDefinitionTemplateNumber": 63, "biFourierResolutionParameterN": n, "biFourierResolutionParameterM": m, "biFourierTruncationType": kind}
    return message2(None, 53, coded, parameters, data, points=coded, **keys)


def paeth(a, b, c):
    pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def png(rng, size, bits, bitmap):
    """An image whose lines are predicted in ways drawn by lot. ecCodes makes none of noise, which gets longer."""
    n = size[0] * size[1]
    coded = coded_of(bitmap, n)
    width, height = size if bitmap is None else (coded, 1)
    step = bits // 8
    rows = rng.integers(0, 256, (height, width * step)).astype(int)
    above, raw = [0] * (width * step), b""
    for row in rows.tolist():
        how = int(rng.integers(0, 5))
        left = [0] * step + row[:-step]
        corner = [0] * step + above[:-step]
        guess = {
            0: lambda a, b, c: 0, 1: lambda a, b, c: a, 2: lambda a, b, c: b, 3: lambda a, b, c: (a + b) // 2, 4: paeth
        }[how]
        raw += bytes([how]) + bytes((v - guess(a, b, c)) & 255 for v, a, b, c in zip(row, left, above, corner))
        above = row
    packed = zlib.compress(raw)
    cut = int(rng.integers(0, len(packed)))
    colour = {8: (8, 0), 16: (16, 0), 24: (8, 2), 32: (8, 6)}[bits]
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, *colour, 0, 0, 0)), (b"IDAT", packed[:cut]), (b"IDAT", packed[cut:]), (b"IEND", b"")]
    image = b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in chunks)
    return message2(size, 41, coded, common(rng, bits) + b"\0", image, bitmap)


def random_png(rng):
    size = random_size(rng)
    bitmap = random_bitmap(rng, size[0] * size[1])
    if bitmap is not None and not bitmap.any():
        bitmap = None
    return png(rng, size, 8 * int(rng.integers(1, 5)), bitmap)


def random_encoded(rng):
    """What only ecCodes can encode here."""
    size = random_size(rng)
    n = size[0] * size[1]
    packing = ("ccsds", "jpeg")[int(rng.integers(0, 2))]
    kind = ("smooth", "steps", "noise", "sparse")[int(rng.integers(0, 4))]
    bitmap = random_bitmap(rng, n)
    if coded_of(bitmap, n) == 0:
        bitmap = None
    bits = int(rng.integers(1, 33)) if packing == "ccsds" else int(rng.integers(1, 26))
    if packing == "ccsds":
        keys = {"ccsdsFlags": 4 | int(rng.choice([0, 8])), "ccsdsBlockSize": int(rng.choice([8, 16, 32, 64])), "ccsdsRsi": int(rng.integers(1, 200))}
        return encode(2, field(rng, n, kind), size, bitmap, packingType="grid_ccsds", bitsPerValue=bits, **keys)
    return encode(2, field(rng, n, kind), size, bitmap, bitsPerValue=bits, late=[("packingType", f"grid_{packing}")])


RANDOM = [random_simple1, random_simple2, random_complex, random_complex, random_extended1, random_extended2, random_older1, random_runs,
          random_logarithm, random_ieee, random_spectral, random_bifourier, random_png, random_encoded, random_encoded]


def randoms(rng, count):
    for i in range(count):
        make = RANDOM[i % len(RANDOM)]
        yield f"{i}: {make.__name__}", make(rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--random", nargs=2, type=int, metavar=("SEED", "N"))
    args = parser.parse_args()
    if args.random:
        messages = list(randoms(np.random.default_rng(args.random[0]), args.random[1]))
    else:
        rng = np.random.default_rng(27)
        messages = list(encoded(rng)) + list(randoms(rng, 4 * len(RANDOM)))
    lines = [line(name, message) for name, message in messages]
    with open(args.out, "w") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
