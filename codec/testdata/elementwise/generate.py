"""Writes the vectors of the element-wise codecs beside itself.

Every chunk is written and read by zarr-python, little- and big-endian, and the script
stops if the two differ by more than the order of bytes. Needs zarr, numcodecs and
cast-value-rs. What fails to encode, or would have to store another value than the
element's, is not in the vectors: there varve reports an error and NumPy wraps around.

Chunks:      {"type", "codecs", "elements", "stored", "decoded"}, stored little-endian;
             without "elements" it is for decoding only, without "decoded" it is lossless.
Conversions: {"from", "to", …, "results"}: one result for every element of "inputs",
             null where there is an error.
"""

import json
import math
import pathlib
import warnings

import numcodecs
import numpy as np
import zarr
from cast_value_rs import cast_array
from zarr.storage import MemoryStore

warnings.simplefilter("ignore")
np.seterr(all="ignore")

HERE = pathlib.Path(__file__).parent
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMBERS = INTS + FLOATS


def code(dtype, order="<"):
    s = np.dtype(dtype).newbyteorder(order).str
    return s


def memory(a):
    return np.ascontiguousarray(a.astype(a.dtype.newbyteorder("<"))).tobytes().hex()


def key_of(store):
    return next((k for k in store._store_dict if "zarr.json" not in k), None)


def create(dtype, shape, codecs, endian):
    store = MemoryStore()
    a = zarr.create_array(
        store, shape=shape, chunks=shape, dtype=dtype, filters=codecs, compressors=None,
        serializer={"name": "bytes", "configuration": {"endian": endian}},
        config={"write_empty_chunks": True},
    )
    return store, a


def through_zarr(dtype, codecs, elements, endian):
    """Encodes and decodes a chunk; returns its bytes and what it decodes to."""
    store, a = create(dtype, elements.shape, codecs, endian)
    a[...] = elements
    return store._store_dict[key_of(store)].to_bytes(), a[...]


def decode_zarr(dtype, codecs, stored, n, endian):
    store, a = create(dtype, (n,), codecs, endian)
    proto = zarr.core.buffer.default_buffer_prototype()
    store._store_dict["c/0"] = proto.buffer.from_bytes(stored)
    return a[...]


def swapped(stored, size):
    return np.frombuffer(stored, f"V{size}").view("u1").reshape(-1, size)[:, ::-1].tobytes() if size > 1 else stored


def chunk(dtype, codecs, elements, size):
    elements = np.asarray(elements, dtype)
    little, decoded = through_zarr(dtype, codecs, elements, "little")
    big, again = through_zarr(dtype, codecs, elements, "big")
    assert big == swapped(little, size), codecs
    assert memory(decoded) == memory(again)
    return {"type": dtype, "codecs": codecs, "elements": memory(elements), "stored": little.hex(), "decoded": memory(decoded)}


def decoding(dtype, codecs, stored):
    raw = np.ascontiguousarray(stored.astype(stored.dtype.newbyteorder("<"))).tobytes()
    decoded = decode_zarr(dtype, codecs, raw, stored.size, "little")
    big = decode_zarr(dtype, codecs, swapped(raw, stored.itemsize), stored.size, "big")
    assert memory(decoded) == memory(big), codecs
    return {"type": dtype, "codecs": codecs, "stored": raw.hex(), "decoded": memory(decoded)}


def named(name, **config):
    return [{"name": name, "configuration": config}]


def edges(dtype):
    """Values at which something happens, in one type or another."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        lo, hi = np.iinfo(dtype).min, np.iinfo(dtype).max
        some = [lo, lo + 1, -129, -128, -1, 0, 1, 2, 127, 128, 255, 256, 2049, 32768, 65520, 2**24 + 1, 2**31, 2**53 + 1, 2**60 + 2**36 + 1, hi - 1, hi]
        return np.array(sorted({v for v in some if lo <= v <= hi}), dtype)
    some = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 0.1, 127.9, 128, -128.5, -129, 255.5, 256, -300, 32767.5, 32768, 65519, 65520, 2.0**31 - 1, 2.0**31, -(2.0**31) - 1, 2.0**32, 5e9, 2.0**63, -(2.0**63), 2.0**64, 1e20, -1e20, 1e38, 3.5e38, -1e300, 2.0**-14, 2.0**-25 * 1.5, 1e-45, math.inf, -math.inf, math.nan]
    with np.errstate(all="ignore"):
        return np.array(some, "f8").astype(dtype)


def u4_agrees(stored, to):
    """NumPy's loops for uint32 differ from each other for floats out of range."""
    if np.dtype(to) == np.uint32 and stored.dtype.kind == "f":
        v = stored.astype("f8")
        return stored[(v > -(2.0**31)) & (v < 2.0**32)]
    return stored


def astype():
    cases = []
    for to in ["bool"] + NUMBERS:
        for of in ["bool"] + NUMBERS:
            codecs = named("numcodecs.astype", encode_dtype=code(of, "<>"[len(cases) % 2]), decode_dtype=code(to))
            case = decoding(to, codecs, u4_agrees(edges(of), to))
            cases.append({"type": to, "from": of, "codecs": codecs, "decoded": case["decoded"]})
    inputs = {of: memory(edges(of)) for of in ["bool"] + NUMBERS}
    inputs |= {of + " as uint32": memory(u4_agrees(edges(of), "uint32")) for of in FLOATS}
    return {"inputs": inputs, "cases": cases}


def delta():
    cases = []
    rng = np.random.default_rng(1)
    for i, dtype in enumerate(NUMBERS):
        d = np.dtype(dtype)
        for k, at in enumerate([None] + NUMBERS):
            a = np.dtype(at or dtype)
            if at and (i + k) % 2:
                continue
            if {d.str[1:], a.str[1:]} in ({"u8", x} for x in ("i1", "i2", "i4", "i8")):
                config = {"dtype": code(d), "astype": code(a)}
                stored = np.array([3, 5, 9, -9 if a.kind == "i" else 2**60, 20], a)
                cases.append(decoding(dtype, named("numcodecs.delta", **config), stored))
                continue
            elif at is None and d.kind != "f":
                small = np.concatenate([edges(d), rng.integers(np.iinfo(d).min, np.iinfo(d).max, 6, d, endpoint=True)])
            elif d.kind == "f" and a.kind == "f":
                small = np.concatenate([[-0.0], rng.normal(0, 3, 7)]).astype(d)
            else:
                small = np.cumsum(rng.integers(0, 9, 8)).astype(d)
            config = {"dtype": code(d)} | ({"astype": code(a, "<>"[k // 2 % 2])} if at else {})
            cases.append(chunk(dtype, named("numcodecs.delta", **config), small, a.itemsize))
            if at and a.kind == "f" or d.kind == "f":
                stored = (rng.normal(0, 30, 9) if a.kind == "f" else rng.integers(0, 100, 9)).astype(a)
                cases.append(decoding(dtype, named("numcodecs.delta", **config), stored))
    cases.append(chunk("float32", named("numcodecs.delta", dtype="<f4"), [1.5, np.nan, 2, np.inf, np.inf, -np.inf, 0], 4))
    times = np.array([10, 5, 99], "M8[s]")
    c = chunk("datetime64[s]", named("numcodecs.delta", dtype="<i8"), times, 8)
    cases.append(c)
    return cases


def fits(values, dtype):
    if np.dtype(dtype).kind == "f":
        return values[np.isfinite(values.astype(dtype)) | ~np.isfinite(values)]
    lo, hi = np.iinfo(dtype).min, np.iinfo(dtype).max
    return values[(values > float(lo)) & (values < float(hi))]


def fixedscaleoffset():
    cases = []
    rng = np.random.default_rng(2)
    numbers = [(0, 10), (1000, 0.1), (1.5, 2.5), (-5.25, 100), (273.15, 0.01), (-3, -2)]
    for i, (dtype, at) in enumerate((d, a) for d in FLOATS for a in [None] + NUMBERS):
        offset, scale = numbers[i % len(numbers)]
        enc = np.dtype(at or dtype)
        lo, hi = (-100, 100) if enc.kind == "f" else (max(np.iinfo(enc).min, -300) / 2, min(np.iinfo(enc).max, 300) / 2)
        x = rng.uniform(lo, hi, 9) / abs(scale)
        halves = np.array([0.5, 1.5, 2.5, 7.5]) / scale
        x = np.concatenate([x if enc.kind != "u" or scale > 0 else -x, halves]) + offset
        x = np.array([v for v in x.astype(dtype) if in_range((v.astype(dtype) - offset) * scale, enc)], dtype)
        config = {"offset": offset, "scale": scale, "dtype": code(dtype)} | ({"astype": code(enc, "<>"[i % 2])} if at else {})
        cases.append(chunk(dtype, named("numcodecs.fixedscaleoffset", **config), x, enc.itemsize))
    few = ["uint32", "int64"]
    for i, (dtype, at) in enumerate((d, a) for d in NUMBERS for a in NUMBERS if d in few + ["float32", "float16"] or a in few):
        offset, scale = numbers[i % len(numbers)]
        config = {"offset": offset, "scale": scale, "dtype": code(dtype), "astype": code(at)}
        stored = edges(at)[:: 2 if at in FLOATS else 1]
        if dtype == "uint32":
            with np.errstate(all="ignore"):
                dec = (stored / scale + offset).astype("f8")
            stored = stored[(dec > -(2.0**31)) & (dec < 2.0**32)]
        cases.append(decoding(dtype, named("numcodecs.fixedscaleoffset", **config), stored))
    for offset, scale in [(5, 2), (0, 1), (5.0, 2), (5, 0.5), (2, -1)]:
        for dtype in INTS:
            x = np.array([6, 7, 8, 9, 13, 20, 33], dtype)
            if scale == -1:
                x = x if dtype[0] == "i" else np.array([0, 1, 2], dtype)
                if dtype[0] == "u":
                    continue
            config = {"offset": offset, "scale": scale, "dtype": dtype}
            cases.append(chunk(dtype, named("numcodecs.fixedscaleoffset", **config), x, np.dtype(dtype).itemsize))
    return cases


def in_range(v, dtype):
    if np.dtype(dtype).kind == "f":
        return True
    return np.iinfo(dtype).min <= round(float(v)) <= np.iinfo(dtype).max


def lossy():
    cases = []
    rng = np.random.default_rng(3)
    for dtype in FLOATS:
        x = np.concatenate([rng.normal(0, 20, 8), [0.0, -0.0, 0.125, -0.375, 12.5, np.nan, np.inf, -np.inf]]).astype(dtype)
        for digits in [-2, 0, 1, 2, 3] if dtype == "float16" else [-3, 0, 1, 2, 3, 6, 10]:
            y = np.where(abs(x) > 40, 40, x).astype(dtype) if dtype == "float16" else x
            cases.append(chunk(dtype, named("numcodecs.quantize", digits=digits, dtype=code(dtype)), y, x.itemsize))
        bits = numcodecs.bitround.max_bits[dtype]
        finite = edges(dtype)
        for keep in {0, 1, 2, 5, bits // 2, bits - 1, bits}:
            e = finite[~np.isnan(finite)] if keep == 0 else finite
            cases.append(chunk(dtype, named("numcodecs.bitround", keepbits=keep), np.concatenate([x[:5], e[:3], e[-14 if keep else -10 :]]), x.itemsize))
    for dtype, at in [(d, a) for d in FLOATS for a in FLOATS if d != a]:
        codec = numcodecs.Quantize(digits=2, dtype=dtype, astype=at)
        x = rng.normal(0, 9, 6).astype(dtype)
        stored = codec.encode(x)
        cases.append({"type": dtype, "codecs": named("numcodecs.quantize", digits=2, dtype=code(dtype), astype=code(at)), "elements": memory(x), "stored": memory(stored), "decoded": memory(codec.decode(stored))})
    return cases


def scale_offset():
    cases = []
    rng = np.random.default_rng(4)
    for dtype in NUMBERS:
        size = np.dtype(dtype).itemsize
        configs = [{}, {"offset": 5}, {"scale": 2}, {"offset": 7, "scale": 3}]
        if dtype[0] == "f":
            configs += [{"offset": 0.1, "scale": 0.3}, {"offset": "-0.5", "scale": -4}, {"offset": "NaN"}, {"offset": "0x" + "3f8ccccd" if size == 4 else 2}]
            x = np.concatenate([rng.normal(0, 5, 8), [0, -0.0, np.nan, np.inf]])
        elif dtype[0] == "i":
            configs += [{"offset": -9, "scale": -2}, {"scale": -1}, {"offset": 5.0, "scale": "2"}]
            x = rng.integers(-20, 20, 8)
        else:
            configs = [{}, {"offset": 5, "scale": 3}, {"scale": 2.0}]
            x = rng.integers(10, 60, 8)
        for config in configs:
            y = np.asarray(x, dtype)
            if dtype[0] == "u":
                cases.append(unsigned_chunk(dtype, config, y))
            else:
                cases.append(chunk(dtype, named("scale_offset", **config), y, size))
        if dtype[0] != "f":
            lo, hi = np.iinfo(dtype).min, np.iinfo(dtype).max
            cases.append(unsigned_chunk(dtype, {"offset": 1}, np.array([lo + 1, hi], dtype)))
    return cases


def unsigned_chunk(dtype, config, elements):
    """A chunk with a fill value that can be encoded, which 0 cannot."""
    codecs = named("scale_offset", **config)
    fill = int(elements[0])
    out = []
    for endian in ("little", "big"):
        store = MemoryStore()
        a = zarr.create_array(
            store, shape=elements.shape, chunks=elements.shape, dtype=dtype, filters=codecs, compressors=None, fill_value=fill,
            serializer={"name": "bytes", "configuration": {"endian": endian}}, config={"write_empty_chunks": True},
        )
        a[...] = elements
        out.append(store._store_dict[key_of(store)].to_bytes())
        decoded = a[...]
    assert out[1] == swapped(out[0], elements.itemsize)
    return {"type": dtype, "codecs": codecs, "fill": memory(elements[:1]), "elements": memory(elements), "stored": out[0].hex(), "decoded": memory(decoded)}


ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]


def cast_edges(dtype):
    if np.dtype(dtype).kind == "f":
        # Not among them: float64 that cast-value-rs rounds to float16 twice.
        some = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 0.1, 127.5, -128.5, 255.5, 300, -129, 32767.5, 65519, 65520, 2.0**31, -(2.0**31) - 1, 2.0**32, 6e9, 2.0**63, 1.5e19, 2.0**64, -1e20, 3.4028235677973366e38, 1e39, 1 + 2.0**-24, -1 - 2.0**-23 - 2.0**-24, 1 + 2.0**-11, 2.0**-25, 7e-46, np.inf, -np.inf, np.nan]
        return np.array(some, "f8").astype(dtype)
    e = edges(dtype)
    more = [v for v in (2051, -2049, 65505, 65519, 2**24 + 3, 2**53 + 3) if np.iinfo(dtype).min <= v <= np.iinfo(dtype).max]
    return np.concatenate([e, np.array(more, dtype)])


def holds_all(to, of):
    return np.can_cast(of, to, "safe") and not (of in ("int64", "uint64") and to == "float64")


def cast_value():
    cases = []
    for to in NUMBERS:
        for of in NUMBERS:
            if holds_all(to, of):
                continue
            for beyond in [None, "clamp", "wrap"] if len(cases) % 3 or to in ("int64", "uint64") else ["clamp"]:
                if beyond == "wrap" and np.dtype(to).kind == "f":
                    continue
                cases.append(cast_case(to, of, "nearest-even", beyond))
            if to in FLOATS and of in ("int64", "uint64", "float64") or (of, to) in (("float64", "int32"), ("float32", "int8"), ("float64", "uint64")):
                cases += [cast_case(to, of, r, "clamp") for r in ROUNDINGS[1:]]
    inputs = {of: memory(cast_edges(of)) for of in NUMBERS}
    return {"inputs": inputs, "cases": cases}


def cast_case(to, of, rounding, beyond):
    results = ""
    for v in cast_edges(of):
        try:
            out = cast_array(np.array([v]), target_dtype=to, rounding_mode=rounding, out_of_range_mode=beyond)
            results += " " + memory(out)
        except ValueError:
            results += " -"
    case = {"from": of, "to": to, "rounding": rounding, "results": results[1:]}
    return case | ({"out_of_range": beyond} if beyond else {})


def cast_chunks():
    cases = []
    x = np.array([1.5, np.nan, -7.5, np.inf, 2.5])
    maps = {"encode": [["NaN", -1], ["Infinity", 99]], "decode": [[-1, "NaN"], [99, "Infinity"]]}
    cases.append(chunk("float64", named("cast_value", data_type="int16", scalar_map=maps), x, 2))
    cases.append(chunk("float32", named("cast_value", data_type="float16", scalar_map={"encode": [[1.5, "NaN"]]}), x, 2))
    cases.append(chunk("uint8", named("cast_value", data_type="float32", scalar_map={"encode": [[255, "NaN"], [0, "-Infinity"]], "decode": [["NaN", 255], ["-Infinity", 0]]}), np.array([0, 1, 254, 255]), 4))
    cases.append(chunk("int32", named("cast_value", data_type="uint8", out_of_range="wrap", scalar_map={"encode": [[-1, 7]]}), np.array([0, -1, 255, 300]), 1))
    two = named("scale_offset", offset=-5, scale=0.5) + named("cast_value", data_type="uint8", rounding="towards-zero")
    cases.append(chunk("float32", two, np.array([0, 5, 100.5, 3]), 1))
    return cases


def packbits():
    cases = []
    rng = np.random.default_rng(5)
    for n in [1, 7, 8, 9, 16, 31, 65]:
        cases.append(chunk("bool", named("numcodecs.packbits"), rng.integers(0, 2, n).astype(bool), 1))
    return cases


def vlen():
    out = []
    texts = ["", "a", "zarr", "Größe", "\U0001f30d", "\x00", "x" * 130]
    stored = bytes(numcodecs.VLenUTF8().encode(np.array(texts, object)))
    out.append({"codec": "vlen-utf8", "elements": [t.encode().hex() for t in texts], "stored": stored.hex()})
    blobs = [b"", b"\xff\xfe", b"a" * 3, bytes(range(40))]
    stored = bytes(numcodecs.VLenBytes().encode(np.array(blobs, object)))
    out.append({"codec": "vlen-bytes", "elements": [b.hex() for b in blobs], "stored": stored.hex()})
    return out


def write(name, cases):
    if isinstance(cases, list):
        for c in cases:
            if c.get("decoded") == c.get("elements"):
                c.pop("decoded", None)
        body = "[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n"
    else:
        body = '{"inputs": ' + json.dumps(cases["inputs"]) + ',\n"cases": [\n' + ",\n".join(json.dumps(c) for c in cases["cases"]) + "\n]}\n"
    (HERE / name).write_text(body)
    print(name, len(body))


if __name__ == "__main__":
    write("astype.json", astype())
    write("delta.json", delta())
    write("fixedscaleoffset.json", fixedscaleoffset())
    write("lossy.json", lossy())
    write("scale_offset.json", scale_offset())
    write("cast_value.json", cast_value())
    write("cast_chunks.json", cast_chunks())
    write("packbits.json", packbits())
    write("vlen.json", vlen())
