"""Errors of the right kind, and nothing that stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import helpers

import varve_zarr
from varve_zarr import _engine


@pytest.mark.parametrize(
    "call",
    [
        lambda: xr.open_dataset("mistyped.nc", engine="varve"),
        lambda: varve_zarr.build("a.varve", "mistyped.nc"),
        lambda: varve_zarr.check("mistyped*.nc"),
        lambda: varve_zarr.append("mistyped.varve", __file__),
        lambda: varve_zarr.verify("mistyped.varve"),
        lambda: varve_zarr.history("mistyped.varve"),
        lambda: varve_zarr.export_kerchunk("mistyped.varve", "a.json"),
    ],
)
def test_a_mistyped_name_is_not_found(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(varve_zarr.NotFound, match="mistyped") as caught:
        call()
    assert isinstance(caught.value, FileNotFoundError)
    assert not list(tmp_path.iterdir())


def test_a_missing_source_is_no_mistyped_name(archive: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "a.nc"
    copy.write_bytes(Path(archive[0]).read_bytes())
    made = varve_zarr.build(tmp_path / "a.varve", copy)
    copy.unlink()
    with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc"):
        varve_zarr.verify(made.path)


def test_build_flags_of_a_manifest(manifest: str, tmp_path: Path) -> None:
    with pytest.raises(varve_zarr.Usage, match="leave out manifest=, coords="):
        xr.open_dataset(manifest, engine="varve", manifest=tmp_path / "b.varve", coords="first")
    assert not list(tmp_path.iterdir())


def test_file_urls(manifest: str, tmp_path: Path) -> None:
    spaced = tmp_path / "a b.varve"
    spaced.symlink_to(manifest)
    with xr.open_dataset(spaced.as_uri(), engine="varve") as ds:
        assert "%20" in spaced.as_uri()
        assert ds.sizes["time"] == 90
    assert varve_zarr.Manifest(spaced.as_uri()).path == str(spaced)


def test_options_of_a_manifest(archive: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "a.varve", archive)
    assert made.open(allow=[str(Path(archive[0]).parent)], storage_options={"AWS_REGION": "eu-north-1"}).sizes["time"] == 90
    assert made.open_datatree(allow="/").sizes["time"] == 90
    assert varve_zarr.remove(made.path, archive[2], storage_options={"AWS_REGION": "eu-north-1"}).open().sizes["time"] == 59
    assert "2021-01-31" in made._repr_html_(), "times are decoded"


def test_names() -> None:
    assert {n for n in dir(varve_zarr) if not n.startswith("__")} == {n for n in varve_zarr.__all__ if not n.startswith("__")}


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_types_are_those_of_netcdf(archive: list[str], manifest: str, engine: str, tmp_path: Path) -> None:
    for options in ({}, {"decode_cf": False}):
        want, got = xr.open_dataset(archive[0], engine=engine, **options), xr.open_dataset(manifest, engine="varve", **options)
        for name, v in want.variables.items():
            assert got[name].dtype == v.dtype, name
            assert got[name].attrs.keys() == v.attrs.keys()
            for key, value in v.attrs.items():
                assert type(got[name].attrs[key]) is type(value) or isinstance(value, np.float64), (name, key)
    got = xr.open_dataset(manifest, engine="varve")
    got.to_netcdf(tmp_path / "copy.nc", engine=engine)
    xr.testing.assert_identical(xr.open_dataset(tmp_path / "copy.nc", engine=engine).load(), got.load())


def shared() -> list[int]:
    """The number of mapped pieces of shared memory, of this process and of the varve process."""
    pids = ["self", *map(str, helpers())]
    return [Path(f"/proc/{pid}/maps").read_text().count("memfd:varve") for pid in pids]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_goes_back(tmp_path: Path) -> None:
    values = np.arange(16 * 300_000, dtype="f4").reshape(16, 300_000)
    xr.Dataset({"v": (("t", "x"), values)}).to_netcdf(tmp_path / "a.nc")
    made = varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.nc")
    _engine.stop()
    ds = made.open(chunks=None, cache=False)
    start, got = threading.Barrier(16), np.zeros((16, 300_000), "f4")

    def read(i: int) -> None:
        start.wait()
        got[i] = ds.v[i].values

    threads = [threading.Thread(target=read, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(got, values)
    assert shared()[0] > 1
    ds.close()
    assert shared()[0] == 0
    with made.open(chunks=None) as again:
        np.testing.assert_array_equal(again.v[3].values, values[3])
        assert shared() == [1, 1]


def test_idle_connections_are_closed(manifest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    with xr.open_dataset(manifest, engine="varve", chunks=None, cache=False) as ds:
        engine = _engine.get()
        connections = [engine._take() for _ in range(8)]
        for c in connections:
            engine._keep(c)
        assert len(engine._idle) == 8
        monkeypatch.setattr(_engine, "_MAX_IDLE", 0.0)
        ds.t2m[0, 0, 1].values  # noqa: B018
        assert len(engine._idle) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_manifests_of_killed_processes(archive: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import xarray as xr; ds = xr.open_dataset({archive[0]!r}, engine='varve'); print('open', flush=True); input()"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    running = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for p in running:
        assert p.stdout is not None
        assert p.stdout.readline() == "open\n"
    assert len(list(tmp_path.glob("varve-manifests-*"))) == 2
    running[0].send_signal(signal.SIGKILL)
    running[0].communicate()
    assert len(list(tmp_path.glob("varve-manifests-*"))) == 2
    done = subprocess.run([sys.executable, "-c", code], input="\n", capture_output=True, text=True, check=True)
    assert done.stdout == "open\n"
    assert len(list(tmp_path.glob("varve-manifests-*"))) == 1, "of the process that still runs"
    running[1].communicate("\n")
    assert not list(tmp_path.glob("varve-manifests-*"))
