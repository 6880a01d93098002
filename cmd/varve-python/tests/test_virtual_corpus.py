"""Sample files of many formats, and random compositions: virtual datasets have the values of the files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import varve_zarr

FIXTURES = Path(__file__).parents[3] / "fixtures"
RAW: dict[str, Any] = {"mask_and_scale": False, "decode_times": False, "chunks": None, "allow": [str(FIXTURES)]}
NESTED: dict[str, Any] = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}


def sample(folder: str, most: int) -> list[Path]:
    """Return some of the files in a folder, evenly spread."""
    others = (".py", ".go", ".json", ".txt", ".md", ".sh", ".idx", ".index", ".yaml")
    files = sorted(
        p for p in (FIXTURES / folder).rglob("*") if p.is_file() and not p.name.endswith(others) and ".zarr" not in str(p.parent)
    )
    return files[:: max(1, len(files) // most)]


def values(name: Path, out: Path) -> xr.Dataset | None:
    """Return what a manifest of the file has, or None if varve cannot build or read it."""
    try:
        with varve_zarr.build(out, name, allow=[str(FIXTURES)]).open(**RAW) as ds:
            return ds.load()
    except varve_zarr.VarveError:
        return None


@pytest.mark.parametrize("folder", ["hdf5", "netcdf3", "fits", "tiff", "hdf4"])
def test_formats(folder: str, tmp_path: Path) -> None:
    compared, refusals = 0, []
    warnings.simplefilter("ignore")  # of xarray, about what the files have
    for number, name in enumerate(sample(folder, 20)):
        want = values(name, tmp_path / f"{number}.varve")
        if want is None:
            continue
        try:
            vds = varve_zarr.open_virtual(name, loadable_variables=(), decode_times=False, allow=[str(FIXTURES)])
        except varve_zarr.Unsupported as problem:
            refusals.append(str(problem))
            continue
        with vds.varve.build(tmp_path / f"{number}-virtual.varve", allow=[str(FIXTURES)]).open(**RAW) as got:
            for key, variable in want.variables.items():
                assert got.variables[key].dims == variable.dims, (name, key)
                assert got.variables[key].dtype == variable.dtype, (name, key)
                np.testing.assert_array_equal(got.variables[key].values, variable.values, f"{name} {key}")
                compared += 1
    assert compared > 0
    assert all("re-encoded" in text and "loadable_variables=" in text for text in refusals), refusals


def test_grib_is_refused() -> None:
    """Zarr has no codec for fields of GRIB, so varve always re-encodes them."""
    with pytest.raises(varve_zarr.Unsupported, match=r"other-codecs.*loadable_variables="):
        varve_zarr.open_virtual(FIXTURES / "grib/archives/era5/era5-single.grib")


def test_random_compositions(tmp_path: Path) -> None:
    """Split virtual and loaded datasets at random chunks, shuffle and combine the pieces, and compare."""
    seed = int(os.environ.get("VARVE_SEED", "1"))
    rng = np.random.default_rng(seed)
    for turn in range(int(os.environ.get("VARVE_TURNS", "12"))):
        lengths, width = rng.integers(1, 5, 4).tolist(), int(rng.integers(2, 6))
        parts, loaded = [], []
        for i, n in enumerate(lengths):
            name = tmp_path / f"{turn}-{i}.nc"
            shape, chunks = (n * 2, width * 2, 3), (int(rng.integers(1, n + 1)), width, 3)
            encoding = {"zlib": bool(turn % 2), "chunksizes": chunks} if turn % 3 else {"contiguous": True}
            xr.Dataset({"v": (("t", "y", "x"), rng.integers(0, 99, shape).astype(">i4"))}).to_netcdf(name, encoding={"v": encoding})
            parts.append(varve_zarr.open_virtual(name))
            loaded.append(xr.open_dataset(name).load())
        if turn % 3:  # every chunk has the same length along y, and any along t
            cut = slice(0, width) if rng.random() < 0.5 else slice(width, None)
            parts, loaded = [p.isel(y=cut) for p in parts], [p.isel(y=cut) for p in loaded]
        else:  # without compression, any rows
            rows = [slice(*sorted(rng.choice(n * 2 + 1, 2, replace=False).tolist())) for n in lengths]
            parts = [p.isel(t=r) for p, r in zip(parts, rows, strict=True)]
            loaded = [p.isel(t=r) for p, r in zip(loaded, rows, strict=True)]
        order = rng.permutation(4)
        both = []
        for pieces in (parts, loaded):
            one = xr.concat([pieces[k] for k in order], "t", **NESTED)
            two = xr.concat([one, one], "member") if turn % 4 == 1 else one.expand_dims(z=1)
            both.append(two.rename(v="w"))
        with both[0].varve.build(tmp_path / f"{turn}.varve").open(chunks=None) as got:
            np.testing.assert_array_equal(got.w.values, both[1].w.values, f"VARVE_SEED={seed}, turn {turn}")
            assert got.w.dims == both[1].w.dims
