"""Reads sample.parquet, which parquet_test.go writes, with the readers that people use."""
import sys

import fastparquet
import pandas
import pyarrow.parquet as pq

rows = [(g, i) for g in range(3) for i in range(1000 * g)]
want = {
    "n": [(i << 40) - g for g, i in rows],
    "coords": [[i + k for k in range(i % 4)] for g, i in rows],
    "path": [[None, "/a/b", "日本"][i // 100 % 3] for g, i in rows],
    "name": [chr(ord("a") + i % 26) for g, i in rows],
    "raw": [bytes([(i - 1) % 256, 255]) * ((i - 1) % 50) if i > 0 and g == 1 else None for g, i in rows],
    "maybe": [i if i % 3 else None for g, i in rows],
    "texts": [[f"{i} é {k}" for k in range(i % 3)] for g, i in rows],
    "words": [[["/a/b", "日本"][(i + k) % 2] for k in range(i % 5)] for g, i in rows],
}
table = pq.read_table(sys.argv[1])
assert str(table.schema.field("coords").type) == "list<element: int64 not null>", table.schema
for name, values in want.items():
    assert table.column(name).to_pylist() == values, name
assert pq.ParquetFile(sys.argv[1]).metadata.row_group(0).column(2).statistics.null_count == want["path"][:1000].count(None)

frame = fastparquet.ParquetFile(sys.argv[1]).to_pandas(["n", "path", "name", "raw", "maybe"])
for name in frame.columns:
    got = [None if pandas.isna(v) else v for v in frame[name]]
    assert got == want[name], (name, [(a, b) for a, b in zip(got, want[name]) if a != b][:3])
print(f"pyarrow and fastparquet read {len(rows)} rows of 2 groups")
