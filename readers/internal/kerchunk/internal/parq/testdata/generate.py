"""Writes the same 40 rows with the engines and settings that refs.N.parq come from.

    python generate.py     pyarrow 26, fastparquet 2026.9, pandas 3.1
"""
import pathlib

import fastparquet
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
path, offset, size, raw = [], [], [], []
for i in range(40):
    inline, missing = i % 7 == 3, i % 7 == 5
    there = not inline and not missing
    path.append(f"s3://bucket/file-{i // 9}.nc" if there else None)
    offset.append(i * 1_000_000_007 if there else 0)
    size.append(i + 1 if there else 0)
    raw.append(bytes([i]) * i if inline else None)

required = pa.schema([("path", pa.string()), pa.field("offset", pa.int64(), nullable=False), pa.field("size", pa.int64(), nullable=False), ("raw", pa.binary())])
table = pa.table({"path": path, "offset": offset, "size": size, "raw": raw}, schema=required)
for name, options in {
    "plain": dict(use_dictionary=False, compression="none"),
    "dictionary": dict(compression="zstd"),
    "snappy": dict(compression="snappy"),
    "gzip": dict(compression="gzip", use_dictionary=["path"]),
    "lz4": dict(compression="lz4"),
    "pages2": dict(data_page_version="2.0", compression="zstd"),
    "pages2_plain": dict(data_page_version="2.0", compression="none", use_dictionary=False),
    "groups": dict(row_group_size=7, compression="zstd"),
    "small_pages": dict(data_page_size=64, write_batch_size=4, use_dictionary=False),
}.items():
    pq.write_table(table, here / f"pyarrow_{name}.parq", **options)
pq.write_table(table.select(["raw", "size", "offset", "path"]).append_column("extra", pa.array([[1]] * 40)), here / "pyarrow_reordered.parq")

df = pd.DataFrame({"path": pd.array(path, dtype=object), "offset": offset, "size": size, "raw": pd.array(raw, dtype=object)})
encoding = dict(object_encoding={"raw": "bytes", "path": "utf8"}, has_nulls=["path", "raw"], stats=False)
for name, frame, options in (("zstd", df, dict(compression="ZSTD")), ("none", df, dict(compression=None)),
                             ("categorical", df.assign(path=df["path"].astype("category")), dict(compression="ZSTD"))):
    fastparquet.write(str(here / f"fastparquet_{name}.parq"), frame, write_index=False, **options, **encoding)
