"""zarr-python's side of the interop test: with its own codecs and with zarrs'; and xarray's.

    peer.py make DIR      arrays of every kind, with expectations beside them, for varve to carry on
    peer.py grow DIR      grow every array that has a policy by 7, with zarr-python's own
    peer.py select DIR    write the selections of TestInteropSelections to DIR/theirs, and compare with DIR/ours
    peer.py served URL F  the array at a URL holds what the file F says
    peer.py check DIR     every array below DIR holds what its file .expect says
"""

import pathlib
import sys
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})

KINDS = {
    "regular": dict(chunks=(4, 5)),
    "rectilinear": dict(chunks=[[3, 5, 2], [4, 3]]),
    "bare": dict(chunks=[[3, 5, 2], 4]),
    "sharded": dict(chunks=(2, 3), shards=(4, 6)),
    "rectilinear shards": dict(chunks=(1, 2), shards=[[3, 5, 2], [4, 4]]),
    "strings": dict(chunks=[[3, 5, 2], [4, 3]], dtype="str"),
    "format 2": dict(chunks=(4, 5), zarr_format=2),
    "format 2 F": dict(chunks=(4, 5), zarr_format=2, order="F", dtype=">f4"),
}


def make(root):
    for name, how in KINDS.items():
        width = 8 if name == "rectilinear shards" else 7
        dtype = how.pop("dtype", "int32")
        dims = {} if how.get("zarr_format") == 2 else dict(dimension_names=["t", "x"])
        attributes = {"_ARRAY_DIMENSIONS": ["t", "x"]} if how.get("zarr_format") == 2 else {"units": "K"}
        a = zarr.create_array(root / name, shape=(10, width), dtype=dtype, fill_value="" if dtype == "str" else 3, attributes=attributes, **dims, **how)
        a[...] = np.arange(10 * width).reshape(10, width).astype(a.dtype)


def expected(folder, a):
    raw = (folder / ".expect").read_bytes()
    if a.dtype.kind in "OT":
        return np.array(raw.decode().split("\n")[:-1]).reshape(a.shape)
    return np.frombuffer(raw, a.dtype.newbyteorder("<")).reshape(a.shape)


def grow(root):
    """Grows arrays as zarr-python does, by one chunk, and fills the new elements; policies stay in the document."""
    for folder in sorted(p.parent for p in root.rglob(".expect")):
        a = zarr.open_array(folder, mode="r+")
        n = a.shape[0]
        before = a.write_chunk_sizes[0]
        a.resize((n + 7,))
        a[n:] = 5
        print(folder.relative_to(root), before, "->", a.write_chunk_sizes[0])
        (folder / ".expect").write_bytes(np.asarray(a[...]).astype("<i2").tobytes())


def select(root):
    ours, theirs = zarr.open_array(root / "ours", mode="r"), zarr.open_array(root / "theirs", mode="r+")
    values = iter(np.arange(1, 1000, dtype="<i2"))
    take = lambda shape: np.fromiter((next(values) for _ in range(int(np.prod(shape)))), "<i2").reshape(shape)
    mask = np.zeros(theirs.shape, bool)
    mask.reshape(-1)[::7] = True
    theirs.set_basic_selection((slice(2, 9, 3), slice(None)), take((3, 7)))
    theirs.set_orthogonal_selection(([9, 0, 4], slice(1, 6, 2)), take((3, 3)))
    theirs.set_coordinate_selection(([1, 8, 5], [6, 0, 3]), take((3,)))
    theirs.set_mask_selection(mask, take((10,)))
    theirs.set_block_selection((slice(1, 2), slice(0, 1)), take((5, 4)))
    assert np.array_equal(ours[...], theirs[...]), (ours[...], theirs[...])
    read = np.concatenate([np.asarray(a).reshape(-1) for a in (
        theirs.get_basic_selection((slice(2, 9, 3), slice(None))), theirs.get_orthogonal_selection(([9, 0, 4], slice(1, 6, 2))),
        theirs.get_coordinate_selection(([1, 8, 5], [6, 0, 3])), theirs.get_mask_selection(mask), theirs.get_block_selection((slice(1, 2), slice(0, 1))))])
    assert np.array_equal(read, np.fromfile(root / "read", "<i2")), read


def same(got, want):
    """Whether two arrays are equal, where not a number equals itself."""
    return got.shape == want.shape and np.array_equal(got, want, equal_nan=want.dtype.kind in "fc")


def check(root):
    for folder in sorted(p.parent for p in root.rglob(".expect")):
        a = zarr.open_array(folder, mode="r")
        want = expected(folder, a)
        for pipeline in "zarr.core.codec_pipeline.BatchedCodecPipeline", "zarrs.ZarrsCodecPipeline":
            with zarr.config.set({"codec_pipeline.path": pipeline}):
                if "zarrs" in pipeline and a.metadata.zarr_format == 2 and a.dtype.byteorder == ">":
                    continue  # which zarrs refuses
                got = np.asarray(zarr.open_array(folder, mode="r")[...])
                assert same(got, want), (folder, pipeline, got, want)
        print(folder.relative_to(root), a.metadata.zarr_format, a.write_chunk_sizes)
    for group in sorted(p.parent for p in root.glob("*/zarr.json")):
        if "group" not in (group / "zarr.json").read_text():
            continue
        ds = xr.open_dataset(group, engine="zarr", consolidated=False, chunks=None, mask_and_scale=False)
        for name, v in ds.variables.items():
            assert same(v.values, expected(group / name, v)), (group, name)


def served(url, expected):
    a = zarr.open_array(url, mode="r")
    want = np.fromfile(expected, a.dtype.newbyteorder("<")).reshape(a.shape)
    assert same(np.asarray(a[...]), want), (a.metadata, a[...], want)
    print(a.shape, a.write_chunk_sizes)


if __name__ == "__main__":
    command = sys.argv[1]
    if command == "served":
        served(sys.argv[2], sys.argv[3])
    else:
        {"make": make, "grow": grow, "select": select, "check": check}[command](pathlib.Path(sys.argv[2]))
