"""Reads a table of chunks with pyarrow, pandas and DuckDB and compares all rows: read.py TABLE EXPECTED.json"""
import json
import sys

import duckdb
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

name, expected = sys.argv[1:]
if name.endswith((".arrow", ".arrows")):
    with (pa.ipc.open_file if name.endswith(".arrow") else pa.ipc.open_stream)(name) as stream:
        chunks = stream.read_all()
    frame = pandas.read_feather(name) if name.endswith(".arrow") else chunks.to_pandas()
else:
    chunks = pq.read_table(name)
    frame = pandas.read_parquet(name)
chunks.validate(full=True)
want = json.load(open(expected))


def compare(reader, rows):
    assert len(rows) == len(want), (reader, len(rows), len(want))
    for got, row in zip(rows, want):
        assert got == row, (reader, got, row)


def plain(value):
    """A value of pandas as pyarrow has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if pandas.isna(value) else value


compare("pyarrow", chunks.to_pylist())
compare("pandas", [{k: plain(v) for k, v in row.items()} for row in frame.to_dict("records")])
done = duckdb.sql(f"select * from '{name}'" if name.endswith(".parquet") else "select * from chunks")
compare("DuckDB", [dict(zip(done.columns, row)) for row in done.fetchall()])
made = duckdb.sql(f"select kind, unnest(sources) as source from {'chunks' if not name.endswith('.parquet') else repr(name)}").fetchall()
assert sorted(made) == sorted((row["kind"], s) for row in want for s in row["sources"]), made
print(f"pyarrow, pandas and DuckDB read {len(want)} rows:", *(f"{f.name} {f.type}" for f in chunks.schema), sep="\n  ")
