"""Writes what zarr-python 3.4 writes, and what it means, for the tests beside it.

    python generate.py          # in this folder

documents.jsonl: one case a line, {"name", "kind", "means", "doc"}. The document is
zarr-python's own, without white space; "means" is what its objects say of it (see
describe). The documents of two hierarchies follow as they were stored, as "text".

fills.jsonl: one data type a line, {"format", "data_type", "type", "fills"}; each fill is
the JSON that zarr-python writes and the hexadecimal of the element in varve's memory form.
"""

import json
import pathlib
import warnings

import numpy as np
import zarr
from zarr.core.dtype import VariableLengthBytes, VariableLengthUTF8
from zarr.core.dtype.npy.structured import Struct
from zarr.storage import MemoryStore

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})


def type_text(t):
    """A data type as codec.Type names it."""
    if isinstance(t, VariableLengthUTF8):
        return "string"
    if isinstance(t, VariableLengthBytes):
        return "variable-length bytes"
    return numpy_text(t.to_native_dtype())


def numpy_text(d):
    if d.names is not None:
        return "{" + ",".join(f"{n}:{numpy_text(d[n])}" for n in d.names) + "}"
    if d.kind in "Mm":
        unit, count = np.datetime_data(d)
        return f"{'datetime64' if d.kind == 'M' else 'timedelta64'}[{count if count > 1 else ''}{unit}]"
    if d.kind in "SV":
        return f"{d.kind}{d.itemsize}"
    if d.kind == "U":
        return f"U{d.itemsize // 4}"
    return d.newbyteorder("=").name


def fill_hex(t, fill):
    """A fill value as hexadecimal of varve's memory form, or None."""
    if fill is None:
        return None
    if isinstance(t, VariableLengthUTF8):
        return fill.encode().hex()
    if isinstance(t, VariableLengthBytes):
        return fill.hex()
    d = t.to_native_dtype()
    return np.asarray(fill, dtype=d).astype(d.newbyteorder("<")).tobytes().hex()


def describe(a):
    """What zarr-python makes of an array's document."""
    m = a.metadata
    t = m.data_type if m.zarr_format == 3 else m.dtype
    means = {
        "shape": list(m.shape),
        "type": type_text(t),
        "fill": fill_hex(t, m.fill_value),
        "sizes": [list(s) for s in a.write_chunk_sizes],
        "key": m.encode_chunk_key(tuple(range(len(m.shape)))),
        "attributes": json.dumps(m.attributes),
    }
    if m.zarr_format == 3:
        means["names"] = None if m.dimension_names is None else list(m.dimension_names)
        means["codecs"] = [c.to_dict()["name"] for c in m.codecs]
    else:
        means["order"] = m.order
    return means


FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, np.nan, np.inf, -np.inf, 1e-7, 5e-324, 123456.0]


def floats(name):
    info = np.finfo(name)
    return FLOATS + [info.max, info.min, info.tiny, info.smallest_subnormal, info.eps, np.nextafter(np.dtype(name).type(1), np.dtype(name).type(2))]


def fills():
    """Every data type with every kind of fill value."""
    yield "bool", [True, False]
    for size in (8, 16, 32, 64):
        for name in (f"int{size}", f"uint{size}"):
            info = np.iinfo(name)
            yield name, sorted({0, 1, info.min, info.max, 42})
    for name in ("float16", "float32", "float64"):
        yield name, floats(name)
    for name, half in (("complex64", "float32"), ("complex128", "float64")):
        values = floats(half)
        yield name, [complex(a, b) for a, b in zip(values, values[5:] + values[:5])]
    yield "S3", [b"", b"abc", b"\xff\x00a", b"a"]
    yield "U3", ["", "abc", "é€𝄞", '"\\\n']
    yield "V3", [b"\0\0\0", b"abc", b"\xff\0\0"]
    for unit in "Y M W D h m s ms us ns ps fs as 10s 15m".split():
        yield f"M8[{unit}]", [np.datetime64("NaT"), np.datetime64(0, unit), np.datetime64(-7, unit)]
        yield f"m8[{unit}]", [np.timedelta64("NaT"), np.timedelta64(0, unit), np.timedelta64(2**62, unit)]
    yield [("a", "<i4"), ("b", "<f8")], [(0, 0.0), (-1, np.nan), (2, -0.0)]
    yield [("t", "<M8[10s]"), ("s", "S2"), ("u", "<U2"), ("in", [("c", "<c8"), ("v", "V2")])], [
        (0, b"", "", (0j, b"\0\0")),
        (5, b"xy", "é€", (complex(1.5, np.inf), b"\1\2")),
    ]


GRIDS = [
    ((30,), (10,)),
    ((35,), (10,)),
    ((0,), (10,)),
    ((), ()),
    ((30, 40), (7, 40)),
    ((30,), [[10, 10, 10]]),
    ((35,), [[10, 10, 10, 5]]),
    ((6, 6, 6, 6, 6), [4, [1, 2, 3], [4, 2], [1, 1, 1, 3], [2, 4]]),
    ((60, 100), [[10, 20, 30], [25] * 4]),
    ((365, 10), [[31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], 10]),
    ((10_000_000,), [[1] * 9_999_990 + [10]]),
]

ATTRIBUTES = [
    {},
    {"units": "K", "é": "€𝄞\u007f", "quote": '"\\/\b\f\n\r\t\u0001'},
    {"z": 1, "a": [1, 2.5, 1e22, 1e16, 1e-05, -0.0, 123456789012345678901234567890], "m": {"y": None, "b": [True, False, [], {}]}},
]

V3_CODECS = {
    "bare": dict(compressors=None),
    "big": dict(compressors=None, serializer=zarr.codecs.BytesCodec(endian="big")),
    "gzip": dict(compressors=zarr.codecs.GzipCodec(level=3)),
    "zstd": dict(compressors=zarr.codecs.ZstdCodec(level=7, checksum=True)),
    "blosc": dict(compressors=zarr.codecs.BloscCodec(cname="zstd", clevel=5, shuffle="bitshuffle")),
    "crc": dict(compressors=zarr.codecs.Crc32cCodec()),
    "transpose": dict(filters=zarr.codecs.TransposeCodec(order=(1, 0)), compressors=None),
    "sharded": dict(shards=(20, 20)),
    "numcodecs": dict(
        filters=zarr.codecs.numcodecs.Delta(dtype="<f4"),
        compressors=[zarr.codecs.numcodecs.Shuffle(elementsize=4), zarr.codecs.numcodecs.Zlib(level=4)],
    ),
}

KEYS = [{"name": n, "configuration": {"separator": s}} for n in ("default", "v2") for s in "/."]


def compact(doc):
    return json.dumps(doc, separators=(",", ":"))


def create(**options):
    """An array and its document."""
    options.setdefault("dtype", "float32")
    options.setdefault("shape", (30, 40))
    options.setdefault("chunks", (10, 10))
    a = zarr.create_array(MemoryStore(), **options)
    return a, a.metadata.to_dict()


def create_filled(dtype, value, zarr_format):
    if isinstance(dtype, np.dtype):
        value = np.array(value, dtype=dtype)[()]
    return create(dtype=dtype, fill_value=value, compressors=None, shape=(4,), chunks=(2,), zarr_format=zarr_format)


def fill_lines():
    for dtype, values in fills():
        yield fill_line(np.dtype(dtype), values, 3)
        for order in "<>":
            ordered = np.dtype(dtype).newbyteorder(order)
            if order == "<" or ordered != np.dtype(dtype):
                yield fill_line(ordered, values, 2)
    mixed = np.dtype([("a", ">i4"), ("b", "<f8"), ("c", [("d", ">c8")])])
    yield fill_line(mixed, [(1, 2.0, (1j,)), (-5, np.nan, (0,))], 2)
    yield fill_line("string", ["", "é€𝄞", "\0", '"\\\n'], 3)
    yield fill_line("string", ["", "é€𝄞"], 2)
    yield fill_line(VariableLengthBytes(), [b"", b"\xff\0"], 3)
    yield fill_line(VariableLengthBytes(), [b"", b"\xff\0"], 2)


def fill_line(dtype, values, zarr_format):
    pairs = []
    for value in values:
        a, doc = create_filled(dtype, value, zarr_format)
        m = a.metadata
        t = m.data_type if zarr_format == 3 else m.dtype
        pairs.append([doc["fill_value"], fill_hex(t, m.fill_value)])
    return compact({"format": zarr_format, "data_type": doc["data_type" if zarr_format == 3 else "dtype"],
                    "filters": doc.get("filters"), "type": type_text(t), "fills": pairs})


def v3_cases():
    for shape, chunks in GRIDS:
        yield f"grid {shape} {str(chunks)[:60]}", create(shape=shape, chunks=chunks)
    for attributes in ATTRIBUTES:
        yield f"attributes {list(attributes)}", create(attributes=attributes)
    for name, options in V3_CODECS.items():
        yield f"codecs {name}", create(**options)
    for key in KEYS:
        yield f"keys {key}", create(chunk_key_encoding=key)
        yield f"keys 0-d {key}", create(chunk_key_encoding=key, shape=(), chunks=())
    for names in [("y", "x"), (None, "x"), (None, None), ("", "")]:
        yield f"names {names}", create(dimension_names=names)
    yield "rectilinear shards", create(shape=(30, 40), chunks=(5, 10), shards=[[10, 20], [20, 20]])


def v2_cases():
    for order in "CF":
        yield f"order {order}", create(order=order, zarr_format=2)
    for separator in "/.":
        yield f"separator {separator}", create(zarr_format=2, chunk_key_encoding={"name": "v2", "separator": separator})
    import numcodecs

    yield "filters", create(
        zarr_format=2, filters=[numcodecs.Delta(dtype="<f4"), numcodecs.Shuffle(4)], compressors=numcodecs.Zlib(3)
    )
    yield "zero-d", create(shape=(), chunks=(), zarr_format=2)
    yield "attributes", create(attributes=ATTRIBUTES[2], zarr_format=2)


def line(name, kind, means, doc):
    return compact({"name": name, "kind": kind, "means": means, "doc": doc})


def array_line(prefix, name, a, doc):
    means = describe(a)
    if any(len(s) > 100 for s in means["sizes"]):
        del means["sizes"]
    if a.metadata.zarr_format == 2:
        doc = {k: v for k, v in doc.items() if k != "attributes"}
    return line(f"{prefix} {name}", f"{prefix}.array", means, doc)


def hierarchy(zarr_format):
    """The documents of a consolidated hierarchy."""
    store = MemoryStore()
    g = zarr.create_group(store, attributes=ATTRIBUTES[1], zarr_format=zarr_format)
    sub = g.create_group("sub", attributes={"a": 1})
    sub.create_group("deep").create_array("w", shape=(3,), chunks=(2,), dtype="i2")
    names = {"dimension_names": ("y", "x")} if zarr_format == 3 else {}
    chunks = [[10, 20], 10] if zarr_format == 3 else (10, 10)
    g.create_array("x", shape=(30, 40), chunks=chunks, dtype="f4", attributes=ATTRIBUTES[2], **names)
    g.create_array("A", shape=(), dtype="M8[ns]")
    zarr.consolidate_metadata(store)
    return {k: v.to_bytes().decode() for k, v in store._store_dict.items()}


def document_lines():
    for name, (a, doc) in v3_cases():
        yield array_line("v3", name, a, doc)
    for name, (a, doc) in v2_cases():
        yield array_line("v2", name, a, doc)
    for zarr_format in (2, 3):
        for key, text in hierarchy(zarr_format).items():
            yield compact({"name": f"hierarchy v{zarr_format} {key}", "kind": key.rsplit("/", 1)[-1], "text": text})


def main(folder):
    for name, lines in (("fills.jsonl", fill_lines()), ("documents.jsonl", document_lines())):
        (folder / name).write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main(pathlib.Path(__file__).parent)
