from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import varve_zarr


def test_is_what_xarray_reads_from_the_files(opened: xr.Dataset, truth: xr.Dataset) -> None:
    xr.testing.assert_identical(opened.load(), truth)


def test_raw_values(manifest: str) -> None:
    raw = xr.open_dataset(manifest, engine="varve", chunks=None, mask_and_scale=False, decode_times=False)
    assert raw.t2m.dtype == "i2"
    assert raw.t2m.attrs["_FillValue"] == -32768
    assert raw.t2m.attrs["scale_factor"] == 0.01
    assert raw.t2m[0, 0, 0] == -32768
    assert raw.time.attrs["units"] == "days since 2021-01-01"


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(None), slice(None)),
        (3, 4, 5),
        (-1, slice(None), -2),
        (slice(80, 10, -7), slice(None, None, -1), slice(0, 0)),
        (slice(5, 70, 9), [7, 3, 3, -1], slice(10, 20)),
        ([88, 0], [1, 2, 59], [0, -80, 7, 7]),
        (np.arange(90) % 7 == 0, slice(3, 50, 11), 3),
    ],
    ids=str,
)
def test_outer_selections(opened: xr.Dataset, truth: xr.Dataset, key: tuple[object, ...]) -> None:
    xr.testing.assert_identical(opened.t2m[key].load(), truth.t2m[key])


def test_points(opened: xr.Dataset, truth: xr.Dataset) -> None:
    rng = np.random.default_rng(2)
    where = {d: xr.DataArray(rng.integers(-n, n, (4, 5)), dims=("p", "q")) for d, n in truth.t2m.sizes.items()}
    xr.testing.assert_identical(opened.t2m[where].load(), truth.t2m[where])
    some = {d: where[d] for d in ("time", "lon")}
    xr.testing.assert_identical(opened.t2m[some].load(), truth.t2m[some])
    xr.testing.assert_identical(
        opened.t2m[::2, ::-3][{"time": where["time"] // 3, "lon": where["lon"]}].load(),
        truth.t2m[::2, ::-3][{"time": where["time"] // 3, "lon": where["lon"]}],
    )


def test_empty_selections(opened: xr.Dataset) -> None:
    """Empty selections have the shape that NumPy gives them; xarray's own adapter fails for a reversed empty slice."""
    assert opened.t2m[5:50:-1, ::-1].values.shape == (0, 60, 80)
    assert opened.t2m[:, [], 3].values.shape == (90, 0)


def test_load_async(manifest: str, truth: xr.Dataset) -> None:
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        xr.testing.assert_identical(asyncio.run(ds.load_async()), truth)


def test_by_label(opened: xr.Dataset, truth: xr.Dataset) -> None:
    xr.testing.assert_identical(opened.sel(time="2021-02", lat=slice(-5, 5)).load(), truth.sel(time="2021-02", lat=slice(-5, 5)))


def test_large_selections_come_through_shared_memory(tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(0, 1000, (90, 300, 400), dtype="i4")  # 43 MB: more than all slots
    xr.Dataset({"v": (("time", "y", "x"), values)}).to_netcdf(
        tmp_path / "a.nc", engine="netcdf4", encoding={"v": {"zlib": True, "complevel": 1, "chunksizes": (7, 150, 400)}}
    )
    with varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.nc").open(chunks=None) as ds:
        np.testing.assert_array_equal(ds.v.values, values)
        np.testing.assert_array_equal(ds.v[3:80, 10:299, 5:399].values, values[3:80, 10:299, 5:399])
        np.testing.assert_array_equal(ds.v[::-2, :, 1:].values, values[::-2, :, 1:])
        np.testing.assert_array_equal(ds.v[:, [5, 200, 7, 7], :].values, values[:, [5, 200, 7, 7], :])


def test_chunks_of_dask_are_those_of_the_files(manifest: str, truth: xr.Dataset) -> None:
    lazy = xr.open_dataset(manifest, engine="varve", chunks={})
    assert lazy.t2m.chunks == ((31, 28, 31), (30, 30), (40, 40))
    xr.testing.assert_identical(lazy.load(scheduler="threads"), truth)


def test_drop_variables(manifest: str) -> None:
    assert "name" not in xr.open_dataset(manifest, engine="varve", drop_variables=["name"])


def test_pickle(opened: xr.Dataset, truth: xr.Dataset) -> None:
    data = pickle.dumps(opened)
    assert len(data) < 20_000, "values are in it"
    xr.testing.assert_identical(pickle.loads(data).load(), truth)


def test_is_recognised(manifest: str, archive: list[str]) -> None:
    xr.testing.assert_identical(xr.open_dataset(manifest).t2m[0].load(), xr.open_dataset(manifest, engine="varve").t2m[0].load())
    entry = xr.backends.plugins.get_backend("varve")
    assert not entry.guess_can_open(archive[0])
    assert not entry.guess_can_open(str(Path(archive[0]).parent))
    assert not entry.guess_can_open(object())


def test_groups(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict(
        {"/": xr.Dataset(attrs={"a": 1}), "/one": xr.Dataset({"x": ("t", [1, 2])}), "/one/two": xr.Dataset({"y": ("u", [3.0])})}
    )
    tree.to_netcdf(tmp_path / "g.nc", engine="netcdf4")
    out = varve_zarr.build(tmp_path / "g.varve", tmp_path / "g.nc").path
    xr.testing.assert_identical(xr.open_datatree(out, engine="varve").load(), xr.open_datatree(tmp_path / "g.nc", engine="netcdf4").load())
    assert set(xr.open_groups(out, engine="varve")) == {"/", "/one", "/one/two"}
    assert set(xr.open_groups(out, engine="varve", group="one")) == {"/", "/two"}
    assert xr.open_dataset(out, engine="varve", group="one/two").y.item() == 3.0
    with pytest.raises(varve_zarr.NotFound, match="/, /one, /one/two"):
        xr.open_dataset(out, engine="varve", group="three")


def test_snapshots(archive: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "s.varve", archive[:2])
    before = xr.open_dataset(made.path, engine="varve")
    varve_zarr.append(made.path, archive[2])
    assert before.t2m[-1, 0, 0].load().time == np.datetime64("2021-02-28")
    assert xr.open_dataset(made.path, engine="varve").sizes["time"] == 90
    old = varve_zarr.history(made.path)[-1]
    assert xr.open_dataset(made.path, engine="varve", snapshot=old["snapshot"][:12]).sizes["time"] == 59
    with pytest.raises(varve_zarr.VarveError):
        xr.open_dataset(made.path, engine="varve", snapshot="ffffffff")


def test_an_archive_without_a_manifest(archive: list[str], truth: xr.Dataset, tmp_path: Path) -> None:
    xr.testing.assert_identical(xr.open_dataset(archive, engine="varve", chunks=None, concat="time").load(), truth)
    kept = tmp_path / "kept.varve"
    pattern = str(Path(archive[0]).parent / "*.nc")
    xr.testing.assert_identical(xr.open_dataset(pattern, engine="varve", chunks=None, manifest=kept).load(), truth)
    assert (kept / "current").is_file()
