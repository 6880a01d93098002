"""The commands that look at manifests and files, and keep manifests in order."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import flags as generator
import varve_zarr


@pytest.fixture
def made(archive: list[str], tmp_path: Path) -> varve_zarr.Manifest:
    folder = tmp_path / "old"
    folder.mkdir()
    return varve_zarr.build(tmp_path / "m.varve", [shutil.copy(name, folder) for name in archive])


def test_looking(made: varve_zarr.Manifest, archive: list[str]) -> None:
    assert {a["path"] for a in varve_zarr.info(made.path)["arrays"]} == {"/t2m", "/name", "/time", "/lat", "/lon"}
    assert varve_zarr.info(made.path, "t2m", why=True)["counts"]["verbatim"] == 12
    first, second = varve_zarr.inspect(archive[:2])
    assert [first["kind"], Path(second["file"]).name] == ["hdf5", "2021-02.nc"]
    assert "units" in varve_zarr.explain("units-differ")
    assert "units-differ" in varve_zarr.explain()
    with pytest.raises(varve_zarr.NotFound, match=r"none\.varve"):
        varve_zarr.info("none.varve")


def test_snapshots(made: varve_zarr.Manifest, archive: list[str]) -> None:
    varve_zarr.tag(made.path, "v1")
    varve_zarr.remove(made.path, [made.sources[2]["url"].removeprefix("file://")])
    assert made.open().sizes["time"] == 59
    assert [t["tag"] for t in varve_zarr.tag(made.path)] == ["v1"]
    assert varve_zarr.restore(made.path, "v1").open().sizes["time"] == 90
    assert varve_zarr.gc(made.path, keep=1, dry_run=True)["removed"] > 0
    varve_zarr.gc(made.path, keep=1)
    assert len(made.snapshots) == 2, "the current one, and that with a tag"
    assert len(archive) == 3


def test_relocate(made: varve_zarr.Manifest, tmp_path: Path, truth: xr.Dataset) -> None:
    (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(varve_zarr.SourceChanged):
        varve_zarr.verify(made.path)
    varve_zarr.relocate(made.path, {tmp_path / "old": tmp_path / "new"})
    xr.testing.assert_identical(made.open(chunks=None).load(), truth)


def test_trust(made: varve_zarr.Manifest) -> None:
    assert varve_zarr.trust(made.path, dry_run=True)["places"] == [str(Path(made.path).parent / "old")]


def test_repair(made: varve_zarr.Manifest, truth: xr.Dataset) -> None:
    for table in Path(made.path, "tables").glob("refs-*"):
        table.unlink()
    assert varve_zarr.repair(made.path)["tables"]
    xr.testing.assert_identical(made.open(chunks=None).load(), truth)


def test_compact_and_index(tmp_path: Path) -> None:
    values = np.arange(900_000, dtype="f8").reshape(3, 300_000)
    for i in range(3):
        ds = xr.Dataset({"v": (("t", "x"), values[i : i + 1])}, {"t": [i]})
        ds.to_netcdf(
            tmp_path / f"{i}.nc", engine="netcdf4", encoding={"v": {"zlib": True, "complevel": 1 + i % 2, "chunksizes": (1, 300_000)}}
        )
    made = varve_zarr.build(tmp_path / "m.varve", tmp_path / "*.nc")
    assert varve_zarr.index(made.path, "v", every="256KiB")["points"] > 0
    assert varve_zarr.compact(made.path, chunks={"t": 3})["merged"]
    np.testing.assert_array_equal(made.open(chunks=None).v.values, values)


def test_serve(made: varve_zarr.Manifest, truth: xr.Dataset) -> None:
    zarr = pytest.importorskip("zarr")
    with varve_zarr.serve(made.path) as url:
        assert b"zarr_format" in urllib.request.urlopen(url.rstrip("/") + "/zarr.json").read()
        with zarr.config.set({"array.rectilinear_chunks": True}):
            xr.testing.assert_equal(xr.open_zarr(url, chunks=None).load(), truth)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url)
    with pytest.raises(varve_zarr.VarveError, match=r"none\.varve"), varve_zarr.serve("none.varve"):
        pass


def test_flags_are_those_of_the_command() -> None:
    """Run flags.py if this fails."""
    written = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-"], input=generator.text(), capture_output=True, text=True, check=True
    )
    assert generator.FILE.read_text(encoding="utf-8") == written.stdout


def test_flags_have_types(tmp_path: Path) -> None:
    code = """
import varve_zarr
varve_zarr.build("a.varve", "*.nc", drop=["*_bnds"], new_dim={"run": "x"}, tolerance=0.1, workers=3, skip_broken=True, from_="a.json")
varve_zarr.build("a.varve", "*.nc", skip_brokn=True)
varve_zarr.build("a.varve", "*.nc", workers="many")
varve_zarr.gc("a.varve", keep=3, drop="x")
"""
    (tmp_path / "a.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", tmp_path / "a.py"], capture_output=True, text=True, check=False
    )
    wrong = sorted(line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line)
    assert wrong == ["4", "5", "6"], done.stdout + done.stderr
