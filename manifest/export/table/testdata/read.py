"""Reads a table of chunks with pyarrow and compares all rows: read.py TABLE EXPECTED.json"""
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

name, expected = sys.argv[1:]
if name.endswith(".arrow"):
    with pa.ipc.open_stream(name) as stream:
        table = stream.read_all()
else:
    table = pq.read_table(name)
table.validate(full=True)
rows, want = table.to_pylist(), json.load(open(expected))
assert len(rows) == len(want), (len(rows), len(want))
for got, row in zip(rows, want):
    assert got == row, (got, row)
print(f"pyarrow reads {len(rows)} rows:", *(f"{f.name} {f.type}" for f in table.schema), sep="\n  ")
