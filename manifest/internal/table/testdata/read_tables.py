"""Reads tables with pyarrow and DuckDB, and finds chunks as docs/reference/format.md says.

read_tables.py tables EXPECTED.jsonl    each line: file, rows, and some of its columns as they have to be
read_tables.py lookup FORMAT.md MANIFEST CASES.jsonl    each line: array, chunk, and where it is
"""

import json
import re
import sys

import duckdb
import pyarrow
import pyarrow.parquet as pq


def plain(value):
    return value.hex() if isinstance(value, (bytes, bytearray)) else value


def check(reader, case, columns):
    for name, want in case["columns"].items():
        got = [plain(v) for v in columns[name]]
        if got != want:
            row = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))
            sys.exit(f"{reader}: {case['file']}: {name}: {len(got)} rows, not {len(want)}, or row {row}: "
                     f"got {got[row:row + 1]}, want {want[row:row + 1]}")


def tables(expected):
    n = 0
    for line in open(expected):
        case = json.loads(line)
        table = pq.read_table(case["file"])
        check("pyarrow", case, {c: table[c].to_pylist() for c in table.column_names})
        found = duckdb.sql(f"from read_parquet('{case['file']}')").to_arrow_table()
        check("DuckDB", case, {c: found[c].to_pylist() for c in found.column_names})
        counts = duckdb.sql(f"select count(*) from read_parquet('{case['file']}')").fetchall()[0][0]
        if table.num_rows != case["rows"] or counts != case["rows"]:
            sys.exit(f"{case['file']}: {table.num_rows} and {counts} rows, not {case['rows']}")
        n += 1
    print(f"{n} tables read by pyarrow {pyarrow.__version__} and DuckDB {duckdb.__version__}")


def lookup(document, manifest, cases):
    program = re.search(r"```python\n(.*?)```", open(document).read(), re.S).group(1)
    example = {"__name__": "example"}
    exec(compile(program, document, "exec"), example)
    n = 0
    for line in open(cases):
        case = json.loads(line)
        got = example["locate"](manifest, case["array"], case["chunk"])
        want = case["at"] and tuple(case["at"])
        if got != want:
            sys.exit(f"chunk {case['chunk']} of {case['array']}: got {got}, want {want}")
        n += 1
    print(f"{n} chunks found")


if __name__ == "__main__":
    {"tables": tables, "lookup": lookup}[sys.argv[1]](*sys.argv[2:])
