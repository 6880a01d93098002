"""The table of features in docs/how-to/from-virtualizarr.md: each cell is what the program does here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import varve_zarr

pytest.importorskip("virtualizarr")
pytest.importorskip("kerchunk")

PAGE = Path(__file__).parents[3] / "docs/how-to/from-virtualizarr.md"
NESTED: dict[str, Any] = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}


def write(folder: Path, days: tuple[int, ...] = (4, 4), rows: int | None = None, **encodings: Any) -> list[str]:
    """Write files of so many days each. Encodings are those of the second file where it differs from the first."""
    names, start = [], 0
    for i, n in enumerate(days):
        values = np.arange(start * 10, (start + n) * 10, dtype="f8").reshape(n, 10) / 4
        time = ("time", np.arange(start, start + n), {"units": "days since 2000-01-01"})
        encoding = {
            "dtype": "i2",
            "scale_factor": 0.25,
            "zlib": True,
            "complevel": 4,
            "chunksizes": (rows or n, 10),
            **(encodings if i else {}),
        }
        names.append(str(folder / f"{i}.nc"))
        xr.Dataset({"v": (("time", "x"), values)}, {"time": time}).to_netcdf(names[-1], engine="netcdf4", encoding={"v": encoding})
        start += n
    return names


def plain(folder: Path) -> str:
    """Write a file without compression."""
    name = str(folder / "plain.nc")
    time = ("time", np.arange(6), {"units": "days since 2000-01-01"})
    xr.Dataset({"v": (("time", "x"), np.arange(60.0).reshape(6, 10))}, {"time": time}).to_netcdf(name, engine="netcdf4")
    return name


def same(got: xr.Dataset, files: list[str]) -> str:
    want = xr.open_mfdataset(files, chunks=None, **NESTED).load()
    return "yes" if got.v.shape == want.v.shape and np.array_equal(got.v.values, want.v.values) else "wrong values"


def opened_by_virtualizarr(name: str) -> xr.Dataset:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    return open_virtual_dataset(f"file://{name}", registry=ObjectStoreRegistry({"file://": LocalStore()}), parser=HDFParser())


def read_by_kerchunk(refs: dict[str, Any]) -> xr.Dataset:
    with xr.open_dataset(refs, engine="kerchunk", chunks=None) as ds:
        return ds.load()


def combine(program: str, files: list[str], folder: Path) -> str:
    """Concatenate files, read the result, and compare it with the files."""
    if program == "VirtualiZarr":
        vds = xr.concat([opened_by_virtualizarr(f) for f in files], "time", **NESTED)
        return same(read_by_kerchunk(vds.vz.to_kerchunk(format="dict")), files)
    if program == "kerchunk":
        from kerchunk.combine import MultiZarrToZarr
        from kerchunk.hdf import SingleHdf5ToZarr

        singles = [SingleHdf5ToZarr(f, inline_threshold=300).translate() for f in files]
        return same(read_by_kerchunk(MultiZarrToZarr(singles, concat_dims=["time"]).translate()), files)
    return same(varve_zarr.build(folder / "out.varve", files).open(chunks=None).load(), files)


def virtual(program: str, name: str) -> xr.Dataset:
    return opened_by_virtualizarr(name) if program == "VirtualiZarr" else varve_zarr.open_virtual(name)


def values(program: str, vds: xr.Dataset, folder: Path) -> xr.Dataset:
    if program == "VirtualiZarr":
        return read_by_kerchunk(vds.vz.to_kerchunk(format="dict"))
    return vds.varve.build(folder / "out.varve").open(chunks=None).load()


def rows(program: str, folder: Path) -> str:
    name = plain(folder)
    got = values(program, virtual(program, name).isel(time=slice(2, 5)), folder)
    return "yes" if np.array_equal(got.v.values, xr.open_dataset(name).v.values[2:5]) else "wrong values"


def transposed(program: str, folder: Path) -> str:
    name = plain(folder)
    got = values(program, virtual(program, name).transpose("x", "time"), folder)
    return "yes" if np.array_equal(got.v.values, xr.open_dataset(name).v.values.T) else "wrong values"


def changed(program: str, folder: Path) -> str:
    """Change a file after the references were made, and read them."""
    name = plain(folder)
    want = xr.open_dataset(name).v.values
    if program == "varve":
        made = varve_zarr.build(folder / "out.varve", name).open(chunks=None)
    elif program == "VirtualiZarr":
        refs = opened_by_virtualizarr(name).vz.to_kerchunk(format="dict")
        made = xr.open_dataset(refs, engine="kerchunk", chunks=None)
    else:
        from kerchunk.hdf import SingleHdf5ToZarr

        made = xr.open_dataset(SingleHdf5ToZarr(name, inline_threshold=0).translate(), engine="kerchunk", chunks=None)
    Path(name).write_bytes(Path(name).read_bytes()[::-1])
    got = made.v.values
    return "yes" if np.array_equal(got, want) else "wrong values"


def with_parser(program: str, folder: Path) -> str:
    from virtualizarr.parsers import HDFParser

    name = plain(folder)
    vds = varve_zarr.open_virtual(name, parser=HDFParser()) if program == "varve" else opened_by_virtualizarr(name)
    return "yes" if np.array_equal(values(program, vds, folder).v.values, xr.open_dataset(name).v.values) else "wrong values"


FEATURES: dict[str, Callable[[str, Path], str]] = {
    "files with equal chunks and packing": lambda program, folder: combine(program, write(folder), folder),
    "months of unequal length": lambda program, folder: combine(program, write(folder, (5, 4)), folder),
    "another `scale_factor`": lambda program, folder: combine(program, write(folder, scale_factor=0.5), folder),
    "another compression": lambda program, folder: combine(program, write(folder, zlib=False, fletcher32=True, complevel=0), folder),
    "a chunk that is not full, before another file": lambda program, folder: combine(program, write(folder, (5, 5), rows=4), folder),
    "rows of a chunk without compression, by `isel`": rows,
    "`transpose`": transposed,
    "a parser in Python": with_parser,
    "a file that changed later": changed,
}


def table() -> list[tuple[str, str, str]]:
    """Return the cells of the page: feature, program, answer."""
    (text,) = re.findall(r"<!-- features: test_features.py -->\n(.*?)\n<!--", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]
    return [(line[0], program, answer) for line in lines for program, answer in zip(head[1:], line[1:], strict=True)]


@pytest.mark.parametrize(("feature", "program", "answer"), table())
def test_table(feature: str, program: str, answer: str, tmp_path: Path) -> None:
    if answer == "–":
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = FEATURES[feature](program, tmp_path)
    except Exception as problem:
        got = f"error {type(problem).__name__}: {problem}"
    assert got.split(" ")[0] == answer.split(" ")[0], got


def test_all_features_are_listed() -> None:
    assert {feature for feature, _, _ in table()} == set(FEATURES)
