from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import xarray as xr

from varve_zarr import _binary

PAGE = Path(__file__).parents[3] / "docs/how-to/python.md"


def day(name: Path, number: int) -> None:
    time = ("time", [number], {"units": "days since 2024-01-01"})
    sst = (("time", "lat"), np.full((1, 3), number, "f4"))
    edges = (("lat", "edge"), np.zeros((3, 2)))
    xr.Dataset({"sst": sst, "lat_bnds": edges}, {"time": time, "lat": [-10.0, 0, 10]}).to_netcdf(name, unlimited_dims=["time"])


def test_how_to(tmp_path: Path) -> None:
    """Every block of the page runs as a script of its own, in order and in one folder."""
    for folder, days in (("archive", (0, 1, 2)), ("incoming", (3,))):
        (tmp_path / folder).mkdir()
        for number in days:
            day(tmp_path / folder / f"2024-01-0{number + 1}.nc", number)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    environment = {**os.environ, "VARVE_BINARY": _binary.find()}
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, block + done.stderr
