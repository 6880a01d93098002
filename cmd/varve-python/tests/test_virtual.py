"""Virtual datasets: combined with xarray, built, and compared with what xarray reads from the files."""

from __future__ import annotations

import datetime
import functools
import http.server
import json
import os
import pickle
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import varve_zarr
from varve_zarr import backend


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three months of unequal lengths: a packed variable in chunks, one without compression, a 2-d coordinate, and texts."""
    folder = tmp_path_factory.mktemp("files with spaces")
    rng = np.random.default_rng(7)
    names, day = [], 0
    for month, days in enumerate((31, 28, 31), 1):
        ds = xr.Dataset(
            {
                "t2m": (("time", "y", "x"), rng.normal(280, 5, (days, 40, 60)), {"units": "K", "limit": np.float32(0.1)}),
                "raw": (("time", "x"), rng.normal(0, 1, (days, 60)).astype("f4")),
                "mask": (("y", "x"), np.arange(2400, dtype="i1").reshape(40, 60)),
            },
            {
                "time": ("time", np.arange(day, day + days), {"units": "days since 2021-01-01"}),
                "lat2": (("y", "x"), np.arange(2400.0).reshape(40, 60), {"units": "degrees_north"}),
                "label": ("x", np.array([f"c{i}" for i in range(60)], object)),
            },
            {"title": "made for tests"},
        )
        packed = {"dtype": "i2", "scale_factor": np.float32(0.01), "add_offset": np.float32(280), "_FillValue": -32768}
        encoding = {"t2m": {**packed, "zlib": True, "chunksizes": (days, 20, 60)}, "raw": {"_FillValue": None}, "lat2": {"zlib": True}}
        names.append(str(folder / f"2021-{month:02}.nc"))
        ds.to_netcdf(names[-1], engine="netcdf4", encoding=encoding)
        day += days
    return names


@pytest.fixture(scope="module")
def parts(files: list[str]) -> list[xr.Dataset]:
    return [varve_zarr.open_virtual(name) for name in files]


def read(vds: xr.Dataset, folder: Path, **options: Any) -> xr.Dataset:
    """Build a virtual dataset, and return the values that the manifest has."""
    made = vds.varve.build(folder / "out.varve", **options)
    with made.open(chunks=None) as ds:
        return ds.load()


def truth(files: list[str], **options: Any) -> xr.Dataset:
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "join": "exact", **options}
    return xr.open_mfdataset(files, chunks=None, **options).load()


CONCAT: dict[str, Any] = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}


def is_virtual(ds: xr.Dataset, *names: str) -> bool:
    return all(type(ds.variables[name]._data).__name__ == "VirtualArray" for name in names)


def test_concat(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    assert is_virtual(parts[0], "t2m", "raw", "mask", "lat2", "label")
    assert set(parts[0].coords) == {"time", "lat2", "label"}
    combined = xr.concat(parts, "time", **CONCAT)
    assert is_virtual(combined, "t2m", "raw", "mask", "lat2")
    assert combined.t2m.variable._data.chunk_lengths == ((31, 28, 31), (20, 20), (60,))
    xr.testing.assert_identical(read(combined, tmp_path), truth(files))
    made = varve_zarr.Manifest(tmp_path / "out.varve")
    written = {s.name for s in (tmp_path / "out.varve.references").iterdir()}
    assert {Path(s["url"]).name for s in made.sources} == written | {Path(f).name for f in files}
    assert len(written) == 1
    assert "unchanged" in varve_zarr.verify(made.path, deep=True)
    shutil.rmtree(tmp_path / "out.varve.references")
    xr.testing.assert_identical(made.open(chunks=None).load(), truth(files))


def test_order_is_that_of_the_user(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    got = read(xr.concat(parts[::-1], "time", **CONCAT), tmp_path)
    xr.testing.assert_identical(got, xr.concat([truth([f]) for f in files[::-1]], "time", **CONCAT))


def test_combine_nested_along_a_new_dimension(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    """Two members of two halves each, in a grid."""
    grid = [[parts[0][["t2m"]], parts[2][["t2m"]]], [parts[2][["t2m"]], parts[0][["t2m"]]]]
    grid = [[p.drop_vars(["time", "lat2", "label"]) for p in row] for row in grid]
    whole = [truth([f])[["t2m"]].drop_vars(["time", "lat2", "label"]) for f in files]
    combined = xr.combine_nested(grid, ["member", "time"])
    assert combined.t2m.variable._data.chunk_lengths == ((1, 1), (31, 31), (20, 20), (60,))
    want = xr.combine_nested([[whole[0], whole[2]], [whole[2], whole[0]]], ["member", "time"])
    xr.testing.assert_identical(read(combined, tmp_path), want)


def test_methods_stay_virtual(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    def change(ds: xr.Dataset) -> xr.Dataset:
        ds = ds.rename(t2m="temperature").drop_vars(["raw", "label"])
        ds = ds.assign_coords(height=("z", np.array([2.0], "f4"), {"units": "m"})).assign_attrs(source="station")
        ds["temperature"] = ds.temperature.expand_dims(z=1, axis=1).assign_attrs(standard_name="air_temperature")
        return ds.isel(y=slice(20, 40))

    half = parts[0].drop_vars("lat2").drop_vars("mask")
    got, want = change(half), change(truth(files[:1]).drop_vars(["lat2", "mask"]))
    assert is_virtual(got, "temperature")
    xr.testing.assert_identical(read(got, tmp_path), want)


def test_merge(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    a, b = parts[0][["t2m"]], parts[0][["raw"]].rename(raw="other")
    xr.testing.assert_identical(read(xr.merge([a, b]), tmp_path), truth(files[:1])[["t2m", "raw"]].rename(raw="other"))


def test_rows_of_a_chunk_without_compression(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    some = parts[1][["raw"]].isel(time=slice(3, 9))
    xr.testing.assert_identical(read(some, tmp_path), truth(files[1:2])[["raw"]].isel(time=slice(3, 9)))
    assert some.varve.refs("raw").length.tolist() == [6 * 60 * 4]
    both = xr.concat([parts[0][["raw"]].isel(time=slice(30, 31)), parts[1][["raw"]].isel(time=slice(0, 2))], "time", **CONCAT)
    want = truth(files)[["raw"]].isel(time=slice(30, 33))
    xr.testing.assert_identical(both.varve.build(tmp_path / "both.varve").open(chunks=None).load(), want)
    with pytest.raises(varve_zarr.Unsupported, match="compressed"):
        parts[0].t2m.isel(time=slice(3, 9))
    with pytest.raises(varve_zarr.Unsupported, match="step"):
        parts[0].raw.isel(time=slice(0, 9, 2))


def test_transpose(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    got = parts[0][["t2m"]].transpose("x", "time", "y")
    xr.testing.assert_identical(read(got, tmp_path), truth(files[:1])[["t2m"]].transpose("x", "time", "y"))


def test_reindex_with_missing_chunks(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    days = np.arange("2021-01-01", "2021-04-01", dtype="M8[D]").astype("M8[ns]")
    gap = xr.concat([parts[0][["t2m"]], parts[2][["t2m"]]], "time", **CONCAT).reindex(time=days, fill_value={"t2m": -32768})
    assert gap.varve.refs("t2m").kind.value_counts().to_dict() == {"range": 4, "missing": 2}
    want = truth([files[0], files[2]])[["t2m"]].reindex(time=days)
    xr.testing.assert_allclose(read(gap, tmp_path), want, rtol=0)
    with pytest.raises(varve_zarr.Usage, match="fill_value=-32768"):
        parts[0][["t2m"]].reindex(time=days)
    with pytest.raises(varve_zarr.Usage, match=r"fill_value=9\.96"):
        parts[0][["raw"]].reindex(time=days)
    with pytest.raises(varve_zarr.Usage, match="index of -1"):
        parts[0][["raw"]].isel(time=[-1, -1]).varve.build(tmp_path / "b.varve")


def test_selections_by_lists(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    raw = parts[0][["raw"]]
    days = [30, 1, 2, 3, 0]  # chunks of one row, because the rows are not compressed
    xr.testing.assert_identical(read(raw.isel(time=days), tmp_path), truth(files[:1])[["raw"]].isel(time=days))
    label = np.datetime64("2021-07-01", "ns")
    later = raw.reindex(time=[label], fill_value={"raw": np.float32(9.969209968386869e36)})
    assert later.varve.refs("raw").kind.tolist() == ["missing"]
    assert raw.isel(time=[]).sizes["time"] == 0


def test_broadcast(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    mask = parts[0].mask.reset_coords(drop=True).expand_dims(time=4)
    want = truth(files[:1]).mask.reset_coords(drop=True).expand_dims(time=4)
    xr.testing.assert_identical(read(mask.to_dataset(), tmp_path).mask, want)


def test_comparisons_read_nothing(parts: list[xr.Dataset], files: list[str]) -> None:
    again = varve_zarr.open_virtual(files[0])
    assert again.equals(parts[0])
    assert again.identical(parts[0])
    with pytest.raises(varve_zarr.Usage, match="compat='override'"):
        xr.merge([parts[0][["mask"]].reset_coords(drop=True), parts[1][["mask"]].reset_coords(drop=True)], compat="equals")
    with pytest.raises(varve_zarr.Unsupported, match="loadable_variables"):
        parts[0].t2m.mean()
    with pytest.raises(varve_zarr.Unsupported, match="loadable_variables"):
        parts[0].t2m.values  # noqa: B018


def test_packing_that_differs_is_refused(files: list[str], tmp_path: Path) -> None:
    """xr.concat takes the attributes of the first dataset, so other packing would give wrong values."""
    with xr.open_dataset(files[1]) as ds:
        ds.t2m.encoding["scale_factor"] = np.float32(0.02)
        ds.to_netcdf(tmp_path / "other.nc", engine="netcdf4", encoding={"raw": {"_FillValue": None}, "lat2": {"_FillValue": None}})
    both = [varve_zarr.open_virtual(f) for f in (files[0], tmp_path / "other.nc")]
    with pytest.raises(varve_zarr.Unsupported, match=r"scale_factor.*varve_zarr\.build"):
        xr.concat(both, "time", **CONCAT)
    assert varve_zarr.build(tmp_path / "a.varve", [files[0], tmp_path / "other.nc"]).open().sizes["time"] == 59


def test_loadable_variables(files: list[str], tmp_path: Path) -> None:
    vds = [varve_zarr.open_virtual(f, loadable_variables=["time", "label", "lat2", "mask"]) for f in files]
    assert is_virtual(vds[0], "t2m", "raw")
    assert vds[0].label.values[3] == "c3"
    got = read(xr.concat(vds, "time", data_vars="minimal", coords="minimal", compat="equals"), tmp_path)
    xr.testing.assert_identical(got, truth(files))
    with pytest.raises(varve_zarr.Usage, match="no variable nothing"):
        varve_zarr.open_virtual(files[0], loadable_variables=["nothing"])


def test_the_planner_judges(parts: list[xr.Dataset]) -> None:
    report = varve_zarr.check(xr.concat([parts[0], parts[0]], "time", **CONCAT))
    assert len(report.arrays) == 6
    assert varve_zarr.check(xr.concat(parts, "time", **CONCAT)).ok


def test_a_manifest(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "a.varve", files[:2])
    both = xr.concat([varve_zarr.open_virtual(made.path), parts[2]], "time", **CONCAT)
    xr.testing.assert_identical(read(both, tmp_path), truth(files))
    with xr.open_dataset(files[1]) as ds:
        ds.t2m.encoding["scale_factor"] = np.float32(0.02)
        ds.to_netcdf(tmp_path / "other.nc", engine="netcdf4", encoding={"raw": {"_FillValue": None}, "lat2": {"_FillValue": None}})
    made = varve_zarr.build(tmp_path / "b.varve", [files[0], tmp_path / "other.nc"])
    with pytest.raises(varve_zarr.Unsupported, match=r"/t2m: chunk .*re-encoded.*loadable_variables="):
        varve_zarr.open_virtual(made.path)
    assert varve_zarr.open_virtual(made.path, loadable_variables=["t2m", "time"]).t2m.shape == (59, 40, 60)


def test_changed_source(files: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "a.nc"
    copy.write_bytes(Path(files[0]).read_bytes())
    vds = varve_zarr.open_virtual(copy)
    with copy.open("ab") as file:
        file.write(b"more")
    with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc: source has changed: it has .* bytes"):
        vds.varve.build(tmp_path / "a.varve")
    shutil.copy(files[0], copy)
    os.utime(copy, (1_000_000_000, 1_000_000_000))  # the same size, and older
    with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc: source has changed: it was modified"):
        vds.varve.build(tmp_path / "b.varve")


def test_refresh_keeps_no_old_positions(files: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "a.nc"
    shutil.copy(files[0], copy)
    made = varve_zarr.open_virtual(copy).varve.build(tmp_path / "a.varve")
    shutil.copy(files[1], copy)
    os.utime(copy, (2_000_000_000, 2_000_000_000))
    with pytest.raises(varve_zarr.VarveError, match=r"a\.nc.*has changed"):
        varve_zarr.refresh(made.path, allow=[str(tmp_path)])
    with pytest.raises(varve_zarr.SourceChanged):
        varve_zarr.Manifest(made.path).open(chunks=None).t2m.load()


def test_padded_chunks(tmp_path: Path) -> None:
    """HDF5 stores a last chunk of 5 rows with room for 10."""
    values = np.arange(30 * 8, dtype="f4").reshape(30, 8)
    names = []
    for i in range(2):
        names.append(str(tmp_path / f"{i}.nc"))
        ds = xr.Dataset({"v": (("t", "x"), values[15 * i : 15 * (i + 1)])})
        ds.to_netcdf(names[-1], engine="netcdf4", encoding={"v": {"zlib": True, "chunksizes": (10, 8)}})
    combined = xr.concat([varve_zarr.open_virtual(n) for n in names], "t")
    assert combined.v.variable._data.chunk_lengths == ((10, 5, 10, 5), (8,))
    np.testing.assert_array_equal(read(combined, tmp_path).v.values, values)


def test_refs_and_pictures(parts: list[xr.Dataset], files: list[str]) -> None:
    table = xr.concat(parts, "time", **CONCAT).varve.refs("t2m")
    assert table.columns.tolist() == ["time", "y", "x", "kind", "source", "offset", "length"]
    assert table.kind.tolist() == ["range"] * 6
    assert table.source.tolist() == [f for f in files for _ in range(2)]
    with open(files[1], "rb") as file:
        file.seek(table.offset[2])
        assert file.read(2)[:1] == b"\x78", "the start of a zlib stream"
    with pytest.raises(varve_zarr.Usage, match="were loaded"):
        parts[0].varve.refs("time")
    picture = parts[0].varve.plot_chunks("t2m")
    assert picture._repr_html_() == picture
    assert "<svg" in picture
    assert "VirtualArray" in repr(parts[0].t2m.variable._data)
    assert "virtual chunks" in repr(parts[0])


def test_kerchunk(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    refs = parts[0].varve.to_kerchunk()
    with xr.open_dataset(refs, engine="kerchunk", chunks=None) as ds:
        np.testing.assert_allclose(ds.t2m.values, truth(files[:1]).t2m.values, rtol=1e-6)  # JSON has no float32
    path = parts[0].varve.to_kerchunk(tmp_path / "a.json")
    assert json.loads(Path(path).read_text())["refs"].keys() == refs["refs"].keys()


def test_pickle(parts: list[xr.Dataset], tmp_path: Path, files: list[str]) -> None:
    again = pickle.loads(pickle.dumps(parts[0]))
    assert again.identical(parts[0])
    xr.testing.assert_identical(read(again.copy(deep=True), tmp_path), truth(files[:1]))


def icechunk_session(files: list[str]) -> Any:
    """Return a repository in memory that may refer to the folder of the files, and a session of it."""
    icechunk = pytest.importorskip("icechunk")
    config = icechunk.RepositoryConfig.default()
    prefix = f"file://{Path(files[0]).parent.parent}/"  # Icechunk compares names that need escapes in two ways
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store("/")))
    repo = icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access={prefix: None})
    return repo, repo.writable_session("main")


def test_icechunk(parts: list[xr.Dataset], files: list[str]) -> None:
    zarr = pytest.importorskip("zarr")
    repo, session = icechunk_session(files)
    xr.concat(parts[:2], "time", **CONCAT).varve.to_icechunk(session)
    session.commit("two months")
    session = repo.writable_session("main")
    parts[2].varve.to_icechunk(session.store, append_dim="time")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        got = xr.open_zarr(session.store, consolidated=False, chunks=None).load()
        before = xr.open_zarr(repo.readonly_session("main").store, consolidated=False, chunks=None).load()
    want = truth(files)
    xr.testing.assert_allclose(got, want, rtol=1e-6)
    xr.testing.assert_allclose(before, want.isel(time=slice(59)), rtol=1e-6)
    assert got.attrs == want.attrs
    assert got.t2m.attrs["units"] == "K"


def test_icechunk_groups(parts: list[xr.Dataset], files: list[str]) -> None:
    repo, session = icechunk_session(files)
    parts[0].varve.to_icechunk(session)
    for n in (1, 2):
        parts[n].varve.to_icechunk(session, group=f"months/m{n}")
    session.commit("three months")
    store = repo.readonly_session("main").store
    for group, name in ((None, files[0]), ("months/m1", files[1]), ("months/m2", files[2])):
        got = xr.open_zarr(store, group=group, consolidated=False, chunks=None).load()
        xr.testing.assert_allclose(got, truth([name]), rtol=1e-6)


def test_icechunk_refusals(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    _, session = icechunk_session([str(tmp_path / "a" / "elsewhere.nc")])
    with pytest.raises(varve_zarr.NotAllowed, match=r"2021-01\.nc is below no virtual chunk container"):
        parts[0].varve.to_icechunk(session)
    _, session = icechunk_session(files)
    with pytest.raises(varve_zarr.Usage, match="no array"):
        parts[0].varve.to_icechunk(session, append_dim="time")
    parts[0].varve.to_icechunk(session)
    with pytest.raises(varve_zarr.Refused, match=r"has an array .* already"):
        parts[1].varve.to_icechunk(session)
    with pytest.raises(varve_zarr.Refused, match="chunks along axis 1"):
        parts[1].drop_vars(["mask", "lat2"]).isel(y=slice(0, 20)).varve.to_icechunk(session, append_dim="time")


def test_wrong_arguments(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    with pytest.raises(varve_zarr.Usage, match="attribute when is date"):
        parts[0].assign_attrs(when=datetime.date(2024, 1, 1)).varve.build(tmp_path / "a.varve")
    with pytest.raises(varve_zarr.Usage, match="parallel="):
        parts[0].varve.build(tmp_path / "a.varve", parallel="dask")
    with pytest.raises(varve_zarr.Usage, match="references="):
        varve_zarr.build(tmp_path / "a.varve", files, references=tmp_path / "refs")
    with pytest.raises(varve_zarr.Usage, match="local folder"):
        parts[0].varve.build("s3://bucket/a.varve")
    assert not list(tmp_path.iterdir())


def test_temporary_manifests_are_removed(files: list[str]) -> None:
    folder = Path(backend._temporary_folder())
    before = set(folder.iterdir())
    assert varve_zarr.open_virtual(files[0]).sizes["time"] == 31
    with pytest.raises(varve_zarr.Usage):
        varve_zarr.open_virtual(files[0], loadable_variables=["nothing"])
    assert set(folder.iterdir()) == before


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves ranges of files."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        data, status, shown = path.read_bytes(), 200, ""
        if asked := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            first, last = asked.groups()
            start = int(first) if first else len(data) - int(last)
            end = min(int(last) + 1, len(data)) if first and last else len(data)
            status, shown = 206, f"bytes {start}-{end - 1}/{len(data)}"
            data = data[start:end]
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.send_header("Content-Length", str(len(data)))
        if shown:
            self.send_header("Content-Range", shown)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_HEAD = do_GET  # noqa: N815


def test_files_of_a_server(files: list[str], tmp_path: Path) -> None:
    serve = functools.partial(Ranges, directory=str(Path(files[0]).parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        urls = [f"http://127.0.0.1:{server.server_port}/{Path(name).name}" for name in files]
        combined = xr.concat([varve_zarr.open_virtual(url) for url in urls], "time", **CONCAT)
        assert combined.varve.refs("t2m").source.unique().tolist() == urls
        xr.testing.assert_identical(read(combined, tmp_path), truth(files))
        server.shutdown()


def monthly(folder: Path) -> list[str]:
    """Two files with bounds of time that have no units of their own, and units of time that differ."""
    names = []
    for month in (1, 2):
        attrs = {"units": f"days since 2021-0{month}-01", "bounds": "bounds"}
        bounds = np.array([[0.0, 1], [1, 2], [2, 3]])
        ds = xr.Dataset({"v": ("t", np.arange(3.0)), "bounds": (("t", "n"), bounds)}, {"t": ("t", np.arange(3) + 0.5, attrs)})
        names.append(str(folder / f"{month}.nc"))
        ds.to_netcdf(names[-1], encoding={"bounds": {"_FillValue": None}})
    return names


def test_bounds_have_the_units_of_their_time(tmp_path: Path) -> None:
    names = monthly(tmp_path)
    parts = [varve_zarr.open_virtual(n) for n in names]
    with pytest.raises(varve_zarr.Unsupported, match=r"days since 2021-01-01 in one .*loadable_variables="):
        xr.concat(parts, "t", **CONCAT)
    want = xr.concat([xr.open_dataset(n) for n in names], "t", **CONCAT)
    loaded = [varve_zarr.open_virtual(n, loadable_variables=["t", "bounds"]) for n in names]
    xr.testing.assert_identical(read(xr.concat(loaded, "t", **CONCAT), tmp_path), want)
    later = parts[1].isel(t=slice(1, 3))
    later.t.encoding.clear()  # so that the time is written with other units
    np.testing.assert_array_equal(later.varve.build(tmp_path / "later.varve").open().bounds, want.bounds[4:])


def test_loaded_values_are_not_rounded(tmp_path: Path) -> None:
    """xarray would write all files with the packing and type of the first."""
    names = []
    for i, (scale, kind) in enumerate(((0.1, "i1"), (0.001, "i4"))):
        ds = xr.Dataset({"v": ("t", [1.0, 2.0]), "q": ("t", [1.234, np.nan])}, {"t": np.array([1, 2], kind) + np.array(1000 * i, kind)})
        names.append(str(tmp_path / f"{i}.nc"))
        ds.to_netcdf(names[-1], encoding={"q": {"dtype": "i2", "scale_factor": scale, "_FillValue": -1}})
    parts = [varve_zarr.open_virtual(n, loadable_variables=["t", "q"]) for n in names]
    want = xr.concat([xr.open_dataset(n) for n in names], "t", **CONCAT)
    got = read(xr.concat(parts, "t", **CONCAT).assign_coords(run=5), tmp_path)
    xr.testing.assert_identical(got, want.assign_coords(run=5))
    assert got.q.values[2] == want.q.values[2] == 1.234


def test_lists_of_indices(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    raw, want = parts[0][["raw"]].drop_vars(["time", "label"], errors="ignore"), truth(files[:1])[["raw"]].drop_vars(["time", "label"])
    some = {"time": [-3, -2]}
    xr.testing.assert_identical(read(raw.isel(some), tmp_path), want.isel(some))
    with pytest.raises(varve_zarr.Usage, match="index of -1"):
        raw.isel(time=[-2, -1]).varve.build(tmp_path / "b.varve")
    for outside in ([31], [-32, 0]):
        with pytest.raises(IndexError, match="out of bounds"):
            raw.isel(time=outside)
    with pytest.raises(varve_zarr.Unsupported, match="one dimension at a time"):
        raw.isel(time=xr.DataArray([[0, 1]], dims=("a", "b")))


def test_reindex_before_the_first_chunk(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    days = np.arange("2020-12-30", "2021-02-01", dtype="M8[D]").astype("M8[ns]")
    got = read(parts[0][["t2m"]].reindex(time=days, fill_value={"t2m": -32768}), tmp_path)
    xr.testing.assert_allclose(got, truth(files[:1])[["t2m"]].reindex(time=days), rtol=0)


def test_questions_about_missing_values_are_refused(parts: list[xr.Dataset], files: list[str]) -> None:
    for ask in (
        lambda ds: ds.raw.isnull().values,
        lambda ds: ds.raw.count(),
        lambda ds: ds.raw.fillna(0),
        lambda ds: ds.t2m.fillna(0),
        lambda ds: ds.t2m.count(),
        lambda ds: ds.dropna("x"),
    ):
        with pytest.raises(varve_zarr.Unsupported, match="no values"):
            ask(parts[0])
    with pytest.raises(varve_zarr.VarveError, match="no values"):
        parts[0].raw.drop_vars("time").combine_first(parts[2].raw.drop_vars("time"))
    with pytest.raises(varve_zarr.Usage, match="loaded ones"):
        xr.concat([truth(files[:1])[["raw"]], parts[0][["raw"]]], "time", **CONCAT)


def test_merge_of_equal_variables(parts: list[xr.Dataset], files: list[str], tmp_path: Path) -> None:
    """xarray fills missing values of one from the other, which needs no values if both are the same."""
    again = varve_zarr.open_virtual(files[0])[["raw", "t2m"]]
    merged = xr.merge([parts[0], again], compat="no_conflicts")
    xr.testing.assert_identical(read(merged, tmp_path), truth(files[:1]))
    assert parts[0].raw.combine_first(again.raw).identical(parts[0].raw)


def test_bytes(tmp_path: Path) -> None:
    want = xr.Dataset({"s": ("t", np.array([b"a", b"bb", b"", b"ccc"], "S3"))})
    want.to_netcdf(tmp_path / "a.nc")
    one = varve_zarr.open_virtual(tmp_path / "a.nc", loadable_variables=())
    np.testing.assert_array_equal(read(xr.concat([one, one], "t"), tmp_path).s, xr.concat([want, want], "t").s)


def test_icechunk_appends_what_fits(tmp_path: Path) -> None:
    """Loaded values are appended as the stored ones are encoded, or refused. Arrays that would be too short are refused."""
    zarr = pytest.importorskip("zarr")
    names: list[str] = []

    def write(packing: dict[str, Any], values: list[float]) -> xr.Dataset:
        first = 3 * len(names)
        ds = xr.Dataset({"v": ("t", np.arange(3.0)), "q": ("t", values)}, {"t": ("t", np.arange(3, dtype="i2") + first)})
        names.append(str(tmp_path / f"{len(names)}.nc"))
        ds.to_netcdf(names[-1], encoding={"q": packing})
        return varve_zarr.open_virtual(names[-1], loadable_variables=["t", "q"])

    packing = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}
    _, session = icechunk_session([str(tmp_path / "a" / "b")])
    write(packing, [1.0, np.nan, 3.0]).varve.to_icechunk(session)
    write(packing, [2.0, np.nan, 2.5]).varve.to_icechunk(session, append_dim="t")
    with pytest.raises(varve_zarr.Refused, match="q cannot be appended: its values would change"):
        write({}, [1.25, 2.0, 3.0]).varve.to_icechunk(session, append_dim="t")
    with pytest.raises(varve_zarr.Refused, match="no variable q, so that array q would be too short"):
        write(packing, [1.0, 2.0, 3.0]).drop_vars("q").varve.to_icechunk(session, append_dim="t")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        got = xr.open_zarr(session.store, consolidated=False, chunks=None).load()
    xr.testing.assert_identical(got, truth(names[:2]))


def test_icechunk_refuses_chunks_that_are_not_full(tmp_path: Path) -> None:
    name = tmp_path / "a.nc"
    xr.Dataset({"v": ("t", np.arange(5.0))}).to_netcdf(name, encoding={"v": {"zlib": True, "chunksizes": (3,)}})
    one = varve_zarr.open_virtual(name)
    _, session = icechunk_session([str(tmp_path / "a" / "b")])
    with pytest.raises(varve_zarr.Unsupported, match="v: a chunk that is not full"):
        xr.concat([one, one], "t").varve.to_icechunk(session)
    one.varve.to_icechunk(session)
    with pytest.raises(varve_zarr.Unsupported, match="v: a chunk that is not full"):
        one.varve.to_icechunk(session, append_dim="t")


def test_attributes_that_decode_values(tmp_path: Path) -> None:
    """Values are decoded in the type of scale_factor. Times stay times if xarray drops attributes."""
    names = []
    for scale in (np.float32(0.01), np.float64(0.01)):
        ds = xr.Dataset({"v": ("t", np.arange(4) * 0.01), "when": ("t", np.arange(4), {"units": "days since 2000-01-01"})})
        names.append(str(tmp_path / f"{len(names)}.nc"))
        ds.to_netcdf(names[-1], encoding={"v": {"dtype": "i2", "scale_factor": scale}})
    parts, loaded = [varve_zarr.open_virtual(n) for n in names], [xr.open_dataset(n).load() for n in names]
    with pytest.raises(varve_zarr.Unsupported, match=r"scale_factor is 0\.01 \(float32\) in one array and 0\.01 \(float64\)"):
        xr.concat(parts, "t")
    got = read(xr.concat([parts[0]] * 2, "t", combine_attrs="drop"), tmp_path)
    xr.testing.assert_identical(got, xr.concat([loaded[0]] * 2, "t", combine_attrs="drop"))


def test_loaded_numbers_with_units_of_time(files: list[str], tmp_path: Path) -> None:
    vds = varve_zarr.open_virtual(files[1], decode_times=False)
    assert vds.time.values[0] == 31
    xr.testing.assert_identical(read(vds, tmp_path), truth(files[1:2]))


def test_an_append_of_a_changed_source_is_taken_back(files: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "a.nc"
    copy.write_bytes(Path(files[1]).read_bytes())
    made = varve_zarr.open_virtual(files[0]).varve.build(tmp_path / "a.varve")
    later = varve_zarr.open_virtual(copy)
    with copy.open("ab") as file:
        file.write(b"more")
    with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc: source has changed: it has .* bytes"):
        varve_zarr.append(made.path, later, allow=[str(Path(files[0]).parent)])
    xr.testing.assert_identical(varve_zarr.Manifest(made.path).open(chunks=None).load(), truth(files[:1]))


def test_empty_arrays_are_stacked(tmp_path: Path) -> None:
    xr.Dataset({"v": (("t", "x"), np.zeros((0, 3)))}).to_netcdf(tmp_path / "a.nc")
    one = varve_zarr.open_virtual(tmp_path / "a.nc")
    assert xr.concat([one, one], "m").v.shape == (2, 0, 3)
    assert xr.concat([one, one], "x").v.shape == (0, 6)


def test_links(files: list[str], tmp_path: Path) -> None:
    link = tmp_path / "link.nc"
    link.symlink_to(files[0])
    xr.testing.assert_identical(read(varve_zarr.open_virtual(link), tmp_path), truth(files[:1]))


def test_attributes_with_nan(tmp_path: Path) -> None:
    other = np.array([0x7FF8000000000123]).view("f8")[0]  # NaN with other bits
    attrs = {"missing_value": np.nan, "valid_range": np.array([0.5, np.inf]), "other": other, "both": np.array([1.0, other])}
    xr.Dataset({"v": ("t", [1.0, np.nan], attrs)}).to_netcdf(tmp_path / "a.nc", encoding={"v": {"_FillValue": None}})
    want = truth([str(tmp_path / "a.nc")])
    xr.testing.assert_identical(varve_zarr.build(tmp_path / "b.varve", tmp_path / "a.nc").open(chunks=None).load(), want)
    xr.testing.assert_identical(read(varve_zarr.open_virtual(tmp_path / "a.nc"), tmp_path), want)
