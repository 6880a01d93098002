"""Attributes whose types JSON does not show, and texts in arrays of characters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from varve_zarr import _binary


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A file, and its manifest."""
    folder = tmp_path_factory.mktemp("typed")
    file, out = str(folder / "a.nc"), str(folder / "a.varve")
    stored = np.arange(-40, 80, dtype="i2").reshape(3, 40) * 97
    with netCDF4.Dataset(file, "w") as f:
        for name, length in (("time", 3), ("x", 40), ("n", 5)):
            f.createDimension(name, length)
        for name, kind, scale, offset in (
            ("scale32", "i2", np.float32(0.01), None),
            ("both32", "i2", np.float32(0.01), np.float32(271.3)),
            ("both64", "i2", 0.01, 271.3),
            ("masked32", "i2", np.float32(0.01), np.float32(0.1)),
            ("bytes32", "i1", np.float32(0.1), np.float32(1)),
        ):
            v = f.createVariable(name, kind, ("time", "x"), fill_value=97 if name == "masked32" else None)
            v.set_auto_maskandscale(False)
            v[:] = stored.astype(kind)
            v.scale_factor = scale
            if offset is not None:
                v.add_offset = offset
        v = f.createVariable("plain", "f4", ("time",))
        v[:] = 1
        v.largest, v.missing, v.values = np.float32("inf"), np.nan, np.array([1, np.nan, -np.inf], "f4")
        f.number, f.least, f.text = np.float32(0.1), -np.inf, "NaN"
        for name, texts in (("long", [b"abcde", b"b", b""]), ("short", [b"ab", b"c", b"d"])):
            f.createVariable(name, "S1", ("time", "n"))[:] = netCDF4.stringtochar(np.array(texts, "S5"))
        f["short"]._Encoding = "utf-8"
    subprocess.run([_binary.find(), "build", "--quiet", out, file], check=True, capture_output=True)
    return file, out


def same(got: object, want: object) -> bool:
    a, b = np.asarray(got), np.asarray(want)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def test_packed_values(typed: tuple[str, str], tmp_path: Path) -> None:
    want, got = xr.open_dataset(typed[0]), xr.open_dataset(typed[1], engine="varve")
    for name in ("scale32", "both32", "both64", "masked32", "bytes32"):
        assert same(got[name].values, want[name].values), name
        assert same(got[name].encoding["scale_factor"], want[name].encoding["scale_factor"]), name
        read = tmp_path / f"{name}.npy"
        subprocess.run([_binary.find(), "read", typed[1], name, "--decode", "-o", str(read)], check=True, capture_output=True)
        assert same(np.load(read), want[name].values), name


def test_attributes(typed: tuple[str, str]) -> None:
    want, got = xr.open_dataset(typed[0]), xr.open_dataset(typed[1], engine="varve")
    for a, b in ((got.plain.attrs, want.plain.attrs), (got.attrs, want.attrs)):
        assert a.keys() == b.keys()
        for name in b:
            assert same(a[name], b[name]), name


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_characters_are_written(typed: tuple[str, str], tmp_path: Path, engine: str) -> None:
    got = xr.open_dataset(typed[1], engine="varve")[["long", "short"]]
    got.to_netcdf(tmp_path / "copy.nc", engine=engine)  # type: ignore[call-overload]
    for name in ("long", "short"):
        assert same(xr.open_dataset(tmp_path / "copy.nc")[name].values, got[name].values)
