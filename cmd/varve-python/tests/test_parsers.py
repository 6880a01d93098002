"""Parsers in Python, and functions that change the metadata of each file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import varve_zarr


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three months in classic netCDF, the first with another packing."""
    folder, names, rng = tmp_path_factory.mktemp("classic"), [], np.random.default_rng(3)
    for month, days in enumerate((31, 28, 28)):
        time = ("time", np.arange(days) + 31 * month, {"units": "days since 2021-01-01"})
        ds = xr.Dataset({"v": (("time", "x"), rng.normal(0, 9, (days, 50)), {"units": "K"})}, {"time": time, "x": np.arange(50.0)})
        names.append(str(folder / f"{month}.nc"))
        packing = {"dtype": "i2", "scale_factor": 0.02 if month else 0.01, "add_offset": 1.0, "_FillValue": -999}
        ds.to_netcdf(names[-1], engine="netcdf4", format="NETCDF3_64BIT", encoding={"v": packing}, unlimited_dims=[])
    return names


def truth(files: list[str]) -> xr.Dataset:
    return xr.open_mfdataset(files, chunks=None, data_vars="minimal", coords="minimal", compat="override").load()


def test_parsers_of_virtualizarr(classic: list[str], tmp_path: Path) -> None:
    """A parser of VirtualiZarr works as it is, and the planner re-encodes what VirtualiZarr refuses."""
    parsers = pytest.importorskip("virtualizarr.parsers")
    varve_zarr.register_parser("netcdf3-of-virtualizarr", parsers.NetCDF3Parser())
    vds = varve_zarr.open_virtual(classic[0], parser="netcdf3-of-virtualizarr")
    assert type(vds.v.variable._data).__name__ == "VirtualArray"
    assert {Path(s).name for s in vds.varve.refs("v").source} == {"0.nc"}
    xr.testing.assert_allclose(vds.varve.build(tmp_path / "one.varve").open(chunks=None).load(), truth(classic[:1]))
    made = varve_zarr.build(tmp_path / "both.varve", classic, parser="netcdf3-of-virtualizarr")
    xr.testing.assert_allclose(made.open(chunks=None).load(), truth(classic))
    assert {Path(s["url"]).name for s in made.sources if ".references" not in s["url"]} == {"0.nc", "1.nc", "2.nc"}
    assert "unchanged" in varve_zarr.verify(made.path, deep=True)
    report = varve_zarr.check(classic, parser=parsers.NetCDF3Parser())
    assert any("scale_factor" in f["text"] for f in report)


def test_a_parser_of_groups_and_chunks(tmp_path: Path) -> None:
    """VirtualiZarr's parser of HDF5, whose files have chunks and groups."""
    parsers = pytest.importorskip("virtualizarr.parsers")
    values = np.arange(600.0).reshape(20, 30)
    ds = xr.Dataset({"v": (("y", "x"), values)})
    encoding = {"v": {"zlib": True, "shuffle": True, "chunksizes": (10, 30)}}
    ds.to_netcdf(tmp_path / "a.nc", engine="netcdf4", group="one", encoding=encoding)
    made = varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.nc", parser=parsers.HDFParser())
    np.testing.assert_array_equal(made.open(group="one", chunks=None).v.values, values)


def test_a_parser_of_ones_own(tmp_path: Path) -> None:
    """A format that varve does not know: 16 bytes of text, then numbers."""
    (tmp_path / "a.bin").write_bytes(b"my format, 5 f4." + np.arange(5, dtype="<f4").tobytes())
    called = []

    def parse(url: str) -> dict[str, Any]:
        called.append(url)
        zarray = {"shape": [5], "chunks": [5], "dtype": "<f4", "fill_value": None, "order": "C", "filters": None, "compressor": None}
        inline = base64.b64encode(np.arange(5, dtype="<i2").tobytes()).decode()
        return {
            ".zgroup": '{"zarr_format": 2}',
            "v/.zarray": json.dumps({**zarray, "zarr_format": 2}),
            "v/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}',
            "v/0": [url.removeprefix("file://"), 16, 20],
            "x/.zarray": json.dumps({**zarray, "dtype": "<i2", "zarr_format": 2}),
            "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}',
            "x/0": "base64:" + inline,
        }

    varve_zarr.register_parser("mine", parse)
    made = varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.bin", parser="mine")
    np.testing.assert_array_equal(made.open(chunks=None).v.values, np.arange(5, dtype="f4"))
    np.testing.assert_array_equal(made.open(chunks=None).x.values, np.arange(5))
    assert called == [f"file://{tmp_path}/a.bin"]
    with pytest.raises(varve_zarr.Usage, match="mine"):
        varve_zarr.open_virtual(tmp_path / "a.bin", parser="other")
    with pytest.raises(varve_zarr.Usage, match="returned int"):
        varve_zarr.build(tmp_path / "b.varve", tmp_path / "a.bin", parser=lambda url: len(url))
    assert not (tmp_path / "b.varve.references").exists()


def test_preprocess(classic: list[str], tmp_path: Path) -> None:
    """The function runs once for each distinct header; here the second and the third file have the same."""
    calls = []

    def change(ds: xr.Dataset) -> xr.Dataset:
        calls.append(ds.sizes["time"])
        ds = ds.rename(v="speed").assign_attrs(source="buoy").assign_coords(height=("z", np.array([2.0])))
        ds["speed"] = ds.speed.expand_dims(z=1, axis=1).assign_attrs(units="m s-1")
        return ds

    made = varve_zarr.build(tmp_path / "a.varve", classic, preprocess=change)
    assert calls == [31, 28]
    got, want = made.open(chunks=None).load(), truth(classic)
    np.testing.assert_allclose(got.speed.values[:, 0], want.v.values)
    assert got.speed.dims == ("time", "z", "x")
    assert got.speed.attrs["units"] == "m s-1"
    np.testing.assert_array_equal(got.time, want.time)
    assert got.attrs["source"] == "buoy"
    assert got.height.values.tolist() == [2.0]
    with pytest.raises(varve_zarr.Unsupported, match="no values"):
        varve_zarr.build(tmp_path / "b.varve", classic, preprocess=lambda ds: ds.assign(m=ds.v.mean()))
    assert not (tmp_path / "b.varve").exists()
    assert not (tmp_path / "b.varve.references").exists()


def test_append(classic: list[str], tmp_path: Path) -> None:
    """Virtual datasets can be appended."""
    made = varve_zarr.open_virtual(classic[0]).varve.build(tmp_path / "a.varve")
    made = varve_zarr.append(made.path, varve_zarr.open_virtual(classic[1]))
    xr.testing.assert_allclose(made.open(chunks=None).load(), truth(classic[:2]))
    assert len(list((tmp_path / "a.varve.references").iterdir())) == 2


def references(places: list[str], offset: Any, **more: Any) -> dict[str, Any]:
    zarray = {"shape": [8], "chunks": [4], "dtype": "<f4", "fill_value": None, "order": "C", "filters": None, "compressor": None}
    ranges = {f"v/{n}": [place, offset + 16 * n, offset * 0 + 16] for n, place in enumerate(places)}
    attributes = json.dumps({"_ARRAY_DIMENSIONS": ["x"]})
    return {
        ".zgroup": '{"zarr_format": 2}',
        "v/.zarray": json.dumps({**zarray, "zarr_format": 2}),
        "v/.zattrs": attributes,
        **ranges,
        **more,
    }


def test_numpy_integers_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(16) + np.arange(4, dtype="<f4").tobytes())
    inline = np.arange(4, 8, dtype="<f4").tobytes()
    refs = references([str(tmp_path / "a.bin")], np.int64(16), **{"v/1": inline})
    made = varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.bin", parser=lambda _: refs)
    assert made.open(chunks=None).v.values.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_references_elsewhere_need_permission(tmp_path: Path) -> None:
    """References may come from a file of someone else, so that a file must not name others anywhere."""
    for name in ("here/a.bin", "elsewhere/b.bin"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(np.arange(8, dtype="<f4").tobytes())
    refs = references([str(tmp_path / "elsewhere/b.bin")] * 2, 0)
    with pytest.raises(varve_zarr.VarveError, match="--allow"):
        varve_zarr.build(tmp_path / "a.varve", tmp_path / "here/a.bin", parser=lambda _: refs)
    with pytest.raises(varve_zarr.VarveError, match="--allow"):
        varve_zarr.open_virtual(tmp_path / "here/a.bin", parser=lambda _: refs)
    made = varve_zarr.build(tmp_path / "a.varve", tmp_path / "here/a.bin", parser=lambda _: refs, allow=[str(tmp_path / "elsewhere")])
    assert made.open(chunks=None).v.values.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_preprocess_must_return_a_dataset(classic: list[str], tmp_path: Path) -> None:
    for wrong in (lambda _: None, lambda ds: ds.v):
        with pytest.raises(varve_zarr.Usage, match=r"preprocess= returned (NoneType|DataArray) for .*0\.nc: return a Dataset"):
            varve_zarr.build(tmp_path / "a.varve", classic, preprocess=wrong)
    assert not list(tmp_path.iterdir())
