"""Compares the chunk sizes of each array below a folder with those in layout.json beside it."""

import itertools
import json
import pathlib
import sys
import warnings

import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})


def expand(axes):
    """Chunk sizes as zarr-python has them, from sizes and [size, count] runs."""
    each = lambda run: [run[0]] * run[1] if isinstance(run, list) else [run]
    return tuple(tuple(itertools.chain.from_iterable(map(each, axis))) for axis in axes)


for path in sorted(pathlib.Path(sys.argv[1]).rglob("layout.json")):
    array, layout = zarr.open_array(path.parent, mode="r"), json.loads(path.read_text())
    for name in "read_chunk_sizes", "write_chunk_sizes":
        assert expand(layout[name]) == getattr(array, name), (path, name, layout[name], getattr(array, name))
    print(path.parent.name, array.read_chunk_sizes)
