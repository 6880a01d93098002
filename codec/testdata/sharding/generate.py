"""Writes small sharded arrays with zarr-python and with zarrs, for sharding_store_test.go.

    /path/to/peers/bin/python generate.py

Each folder is a Zarr v3 array as it was written; the folder values has what the arrays of
each case hold: elements in memory form and C order, or a list of strings.
"""
import json
import pathlib
import shutil

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.storage import LocalStore

HERE = pathlib.Path(__file__).parent
zarr.config.set({"array.rectilinear_chunks": True})
(HERE / "values").mkdir(exist_ok=True)

RAW_INDEX = [BytesCodec(endian="little"), Crc32cCodec()]


def ramp(shape, dtype):
    """Values that differ but compress, with a corner of zeros."""
    v = (np.indices(shape).sum(axis=0) // 3 + np.arange(np.prod(shape)).reshape(shape) // 7 + 1).astype(dtype)
    v[tuple(slice(0, n // 2) for n in shape)] = 0
    return v


def write(name, values, **how):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    how = {"fill_value": 0, **how}
    array = zarr.create_array(LocalStore(folder), shape=values.shape, dtype=how.pop("dtype", values.dtype), **how)
    array[...] = values
    case = HERE / "values" / name.split("_", 1)[1]
    if values.dtype == object:
        case.with_suffix(".json").write_text(json.dumps(values.ravel().tolist()))
    else:
        case.with_suffix(".bin").write_bytes(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes())


def both(prefix):
    """Cases that both implementations write."""
    write(f"{prefix}_plain", ramp((8, 6), "i4"), chunks=(4, 3), shards=(8, 6), compressors=None)
    write(f"{prefix}_zstd", ramp((20, 30), "f4"), chunks=(5, 10), shards=(10, 30), compressors=ZstdCodec(level=3))
    write(f"{prefix}_past_edge", ramp((7, 9), "u2"), chunks=(2, 3), shards=(4, 6), compressors=GzipCodec(level=1))
    write(f"{prefix}_start", ramp((6, 10), "i2"), chunks=(6, 10), compressors=None, filters=None,
          serializer=ShardingCodec(chunk_shape=(3, 5), index_location="start",
                                   codecs=[TransposeCodec(order=(1, 0)), BytesCodec(endian="big"), Crc32cCodec()],
                                   index_codecs=[BytesCodec(endian="big")]))
    write(f"{prefix}_nested", ramp((12, 12), "i4"), chunks=(12, 12), compressors=None,
          serializer=ShardingCodec(chunk_shape=(6, 4), index_codecs=RAW_INDEX, codecs=[
              ShardingCodec(chunk_shape=(3, 2), index_location="start", index_codecs=RAW_INDEX,
                            codecs=[BytesCodec(endian="little"), GzipCodec(level=1)])]))
    write(f"{prefix}_transposed", ramp((6, 8, 4), "u1"), chunks=(6, 8, 4), compressors=None,
          filters=[TransposeCodec(order=(2, 0, 1))],
          # zarr-python wants the inner shape to divide the chunk as it is before the transposition, too
          serializer=ShardingCodec(chunk_shape=(2, 2, 4), codecs=[BytesCodec()], index_codecs=RAW_INDEX))
    write(f"{prefix}_rectilinear", ramp((120, 100), "u1"), chunks=(10, 10), shards=[[60, 40, 20], [50, 50]],
          compressors=ZstdCodec(level=3))
    write(f"{prefix}_three", ramp((6, 10, 5), "f8"), chunks=(2, 2, 1), shards=(6, 10, 5), fill_value=np.nan,
          compressors=BloscCodec(cname="lz4"))
    words = np.array(["", "varve", "Schicht", "年縞", "", "clay", "silt", "sand"] * 3, dtype=object).reshape(6, 4)
    write(f"{prefix}_strings", words, dtype="string", chunks=(2, 2), shards=(6, 4), fill_value="", compressors=GzipCodec(level=1))


both("zarr")
zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
both("zarrs")
