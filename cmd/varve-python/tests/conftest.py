from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import varve_zarr
from varve_zarr import _binary, _engine


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three months of unequal lengths, packed otherwise in each, in two groups' worth of variables."""
    folder = tmp_path_factory.mktemp("archive")
    rng = np.random.default_rng(1)
    names, day = [], 0
    for month, days in enumerate((31, 28, 31), 1):
        values = rng.normal(280, 5, (days, 60, 80)).round(2)
        values[0, 0, 0] = np.nan
        ds = xr.Dataset(
            {"t2m": (("time", "lat", "lon"), values, {"units": "K"}), "name": ("lat", np.array([f"row {i}" for i in range(60)], object))},
            {
                "time": ("time", np.arange(day, day + days), {"units": "days since 2021-01-01"}),
                "lat": np.linspace(-59, 59, 60),
                "lon": np.arange(80) * 4.5,
            },
            {"title": "made for tests"},
        )
        encoding = {
            "t2m": {
                "dtype": "i2",
                "scale_factor": 0.01,
                "add_offset": 280.0,
                "_FillValue": -32768,
                "zlib": True,
                "chunksizes": (days, 30, 40),
            }
        }
        names.append(str(folder / f"2021-{month:02}.nc"))
        ds.to_netcdf(names[-1], engine="netcdf4", encoding=encoding)
        day += days
    return names


@pytest.fixture(scope="session")
def truth(archive: list[str]) -> xr.Dataset:
    return xr.open_mfdataset(archive, data_vars="minimal", coords="minimal", compat="override", join="exact", chunks=None).load()


@pytest.fixture(scope="session")
def manifest(archive: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("manifest") / "t2m.varve")
    subprocess.run([_binary.find(), "build", "--quiet", out, *archive], check=True, capture_output=True)
    return out


@pytest.fixture
def opened(manifest: str) -> Iterator[xr.Dataset]:
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        yield ds


def helpers(parent: int | None = None) -> list[int]:
    """The varve processes that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if status[0] != "Z" and line[1:2] == [b"engine"] and int(status[1]) == (parent or os.getpid()):
            found.append(int(entry.name))
    return found


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


__all__ = ["_engine", "helpers", "run_python", "varve_zarr"]
