from __future__ import annotations

import concurrent.futures
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from conftest import helpers, run_python

import varve_zarr
from varve_zarr import _command


def test_report(archive: list[str]) -> None:
    report = varve_zarr.check(archive)
    assert report.ok
    assert {a["path"] for a in report.arrays} >= {"/t2m", "/time"}
    assert "<iframe" in report._repr_html_()
    assert len(report.to_dataframe()) == len(report)
    assert "Report" in repr(report)


def test_refusal(archive: list[str], tmp_path: Path) -> None:
    xr.open_dataset(archive[1]).assign_coords(lat=lambda d: d.lat + 0.5).to_netcdf(tmp_path / "moved.nc", engine="netcdf4")
    report = varve_zarr.check([archive[0], tmp_path / "moved.nc"])
    assert not report.ok
    assert "lat" in repr(report)
    with pytest.raises(varve_zarr.Refused, match="lat") as caught:
        varve_zarr.build(tmp_path / "a.varve", [archive[0], tmp_path / "moved.nc"])
    assert caught.value.code == "refused"
    assert caught.value.findings
    assert not (tmp_path / "a.varve" / "current").exists()
    assert varve_zarr.build(tmp_path / "a.varve", [archive[0], tmp_path / "moved.nc"], coords="first").open().sizes["time"] == 59


def test_manifest(archive: list[str], tmp_path: Path, truth: xr.Dataset) -> None:
    made = varve_zarr.build(tmp_path / "m.varve", archive[:2])
    made = varve_zarr.append(made.path, archive[2:])
    same = varve_zarr.sync(made.path, archive)
    assert same.snapshots[0]["snapshot"] == made.snapshots[0]["snapshot"]
    assert varve_zarr.refresh(made.path).snapshots[0]["snapshot"] == made.snapshots[0]["snapshot"]
    assert [Path(s["url"]).name for s in made.sources] == [Path(a).name for a in archive]
    assert len(made.to_dataframe()) == 3
    assert [s["sources"] for s in made.snapshots] == [3, 2]
    assert "<svg" in made.mosaic("t2m")
    shown = made._repr_html_()
    assert "<svg" in shown
    assert "xr-" in shown
    with pytest.raises(varve_zarr.NotFound, match="/lat, /lon"):
        made.mosaic("nothing")
    assert "unchanged" in varve_zarr.verify(made.path, deep=True)
    xr.testing.assert_identical(made.open(chunks=None).load(), truth)


def test_flags() -> None:
    flags = {"new_dim": {"run": "list:f"}, "drop": ["a", "b"], "force": True, "strict": False, "pad": None, "workers": 3}
    assert _command.flags_of(flags) == ["--new-dim=run=list:f", "--drop=a", "--drop=b", "--force", "--workers=3"]


def test_usage(archive: list[str], tmp_path: Path) -> None:
    with pytest.raises(varve_zarr.Usage, match="no-such-flag"):
        varve_zarr.build(tmp_path / "a.varve", archive, no_such_flag=1)
    with pytest.raises(varve_zarr.Usage):
        varve_zarr.build(tmp_path / "a.varve", [])
    for wrong in (5, b"a.nc", [b"a.nc"], [archive[0], None]):
        with pytest.raises(varve_zarr.Usage):
            xr.open_dataset(wrong, engine="varve")  # type: ignore[arg-type]
    with open(archive[0], "rb") as file, pytest.raises(varve_zarr.Usage):
        xr.open_dataset(file, engine="varve")
    with pytest.raises(varve_zarr.NotFound, match=r"none\.nc"):
        varve_zarr.build(tmp_path / "a.varve", tmp_path / "none.nc")


def test_many_names(archive: list[str], tmp_path: Path) -> None:
    """More than a command line takes go through a list."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    names = [folder / f"{i:04}-{'x' * 80}.nc" for i in range(300)]
    for name in names:
        os.link(archive[0], name)
    report = varve_zarr.check(names, overlap="first")
    assert [(finding["code"], finding["count"]) for finding in report] == [("overlap", 300)]


def test_progress(archive: list[str], tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    varve_zarr.build(tmp_path / "p.varve", archive, progress=lambda *args: seen.append(args))
    assert ("scanning files", 3, 3) in seen


def test_exports(manifest: str, tmp_path: Path) -> None:
    assert Path(varve_zarr.export_kerchunk(manifest, tmp_path / "k.json")).is_file()
    assert Path(varve_zarr.export_icechunk(manifest, tmp_path / "ice")).is_dir()
    assert Path(varve_zarr.export_table(manifest, tmp_path / "t.parquet")).exists()


def test_demo(tmp_path: Path) -> None:
    assert varve_zarr.demo(tmp_path / "demo").open().sizes["time"] == 90


def tables(path: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path(path, "tables").iterdir()}


@pytest.mark.parametrize("kind", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_scans_by_executors(archive: list[str], manifest: str, tmp_path: Path, kind: type[concurrent.futures.Executor]) -> None:
    with kind(2) as pool:  # type: ignore[call-arg]
        made = varve_zarr.build(tmp_path / "a.varve", archive, parallel=pool, parts=tmp_path / "parts")
    assert tables(made.path) == tables(manifest)


def test_small_archives_are_scanned_here(archive: list[str], manifest: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Pool(concurrent.futures.ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args: Any, **kwargs: Any) -> Any:
            Pool.submitted += 1
            return super().submit(*args, **kwargs)

    with Pool(2) as pool, caplog.at_level("INFO", "varve_zarr"):
        made = varve_zarr.build(tmp_path / "a.varve", archive, parallel=pool)
        assert Pool.submitted == 0
        assert "3 files" in caplog.text
        varve_zarr.build(tmp_path / "b.varve", archive, parallel=pool, parts=tmp_path / "parts")
        assert Pool.submitted == 3
    assert tables(made.path) == tables(manifest)


def test_scans_of_a_folder(archive: list[str], tmp_path: Path) -> None:
    """Hidden files, and files that do not match, are left out, as without workers."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in archive:
        os.link(name, folder / Path(name).name)
    for name in (".hidden.nc", "notes.txt"):
        (folder / name).write_text("no data")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = varve_zarr.build(tmp_path / "a.varve", folder, match="*.nc", parallel=pool, parts=tmp_path / "parts")
    assert [Path(s["url"]).name for s in made.sources] == [Path(name).name for name in archive]


def test_failed_scans_are_named(archive: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.nc").write_bytes(b"\x89HDF\r\n\x1a\nnothing")
    with concurrent.futures.ThreadPoolExecutor(2) as pool, pytest.raises(varve_zarr.VarveError, match=r"1 of 4 scans failed(.|\n)*bad\.nc"):
        varve_zarr.build(tmp_path / "a.varve", [*archive, tmp_path / "bad.nc"], parallel=pool, parts=tmp_path / "parts")
    with pytest.raises(varve_zarr.Usage, match="parallel=3"):
        varve_zarr.build(tmp_path / "a.varve", archive, parallel=3)


def test_scans_by_lithops(archive: list[str], manifest: str, tmp_path: Path) -> None:
    """The localhost backend of lithops runs the "python" of the PATH, and keeps its state in TMPDIR and HOME."""
    (tmp_path / "lithops.yaml").write_text("lithops:\n  backend: localhost\n  storage: localhost\n")
    out = str(tmp_path / "a.varve")
    done = run_python(
        f"import varve_zarr; varve_zarr.build({out!r}, {archive!r}, parallel='lithops', parts={str(tmp_path / 'parts')!r})",
        LITHOPS_CONFIG_FILE=str(tmp_path / "lithops.yaml"),
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        TMPDIR=str(tmp_path),
        HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert tables(out) == tables(manifest)


def test_dask_distributed(archive: list[str], tmp_path: Path) -> None:
    """Four processes, one of which is killed in the middle of a scan, and again of a computation."""
    distributed = pytest.importorskip("distributed")
    folder = tmp_path / "files"
    folder.mkdir()
    names = []
    for i in range(40):
        with xr.open_dataset(archive[0], decode_times=False) as ds:
            names.append(str(folder / f"{i:02}.nc"))
            ds.assign_coords(time=("time", ds.time.values + 31 * i, ds.time.attrs)).to_netcdf(names[-1], engine="netcdf4")
    local = varve_zarr.build(tmp_path / "local.varve", names)
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill_one() -> None:
            time.sleep(0.2)
            os.kill(pids[0], 9)

        with concurrent.futures.ThreadPoolExecutor(1) as killer:
            killer.submit(kill_one)
            made = varve_zarr.build(tmp_path / "spread.varve", names, parallel=client, parts=tmp_path / "parts")
        assert tables(made.path) == tables(local.path)
        with made.open(chunks={}) as lazy, local.open(chunks=None) as whole:
            assert float(lazy.t2m.mean().compute()) == pytest.approx(float(whole.t2m.mean()))
        client.wait_for_workers(4)
        counts = client.run(lambda: len(helpers()))
        assert max(counts.values()) <= 1
