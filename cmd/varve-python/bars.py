"""Compares reading through xarray with engine="varve" and with what users have today: bars.py DIR [--quick] [ROW ...].

Makes archives in DIR, or takes those that are there. All contestants of a row take turns, and the medians are compared.
READ names a command that prints the seconds of one read by varve's library: READ MANIFEST ARRAY.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("ICECHUNK_LOG", "error")
import h5py
import hdf5plugin
import numpy as np
import xarray as xr

import varve_zarr

ROUNDS = 5
Job = Callable[[], Any]


class Bench:
    """The archives, and what is made of them."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.files, self.refs = folder, 3 if quick else 12, 1000 if quick else 10_000

    def archive(self, kind: str) -> list[Path]:
        """Files of 21 steps of 1024 x 1024 float32, rounded to 1/64, in chunks of 1 MiB."""
        made = [self.folder / f"{kind}-{self.files}" / f"tas_{i:02}.nc" for i in range(self.files)]
        made[0].parent.mkdir(parents=True, exist_ok=True)
        filters: dict[str, Any] = {
            "deflate": {"compression": "gzip", "shuffle": True},
            "zstd": {**hdf5plugin.Zstd(3), "shuffle": True},
            "raw": {},
        }
        rng = np.random.default_rng(1)
        noise = rng.normal(0, 0.25, (1024, 1024))
        y, x = np.mgrid[0:1024, 0:1024] / 1024
        for i, path in enumerate(made):
            if path.exists():
                continue
            with h5py.File(path.with_suffix(".part"), "w", libver="latest") as f:
                tas = f.create_dataset("tas", (21, 1024, 1024), "f4", chunks=(1, 512, 512), **filters[kind])
                scales = {"time": np.arange(21) + 21.0 * i, "lat": np.linspace(-90, 90, 1024), "lon": np.arange(1024) * 0.35}
                for axis, (name, values) in enumerate(scales.items()):
                    f[name] = values
                    f[name].make_scale(name)
                    tas.dims[axis].attach_scale(f[name])
                f["time"].attrs["units"] = "days since 2015-01-01"
                for step in range(21):
                    field = 280 + 15 * np.sin(3 * x + (21 * i + step) / 5) * np.cos(2 * y) + np.roll(noise, 37 * step, 1)
                    tas[step] = np.round(field * 64) / 64
            path.with_suffix(".part").rename(path)
        return made

    def many_refs(self) -> list[Path]:
        """One file of 100 chunks a step."""
        path = self.folder / f"refs-{self.refs}" / "refs.nc"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with h5py.File(path, "w", libver="latest") as f:
                v = f.create_dataset("v", (self.refs, 160, 160), "i2", chunks=(1, 16, 16), maxshape=(None, 160, 160))
                for axis, (name, n) in enumerate({"time": self.refs, "y": 160, "x": 160}.items()):
                    f[name] = np.arange(n)
                    f[name].make_scale(name)
                    v.dims[axis].attach_scale(f[name])
                for step in range(0, self.refs, 100):
                    v[step : step + 100] = np.arange(100 * 160 * 160, dtype="i2").reshape(100, 160, 160)
        return [path]

    def stores(self, files: list[Path]) -> dict[str, Callable[..., xr.Dataset]]:
        """What opens the files, by the name of the contestant."""
        manifest = varve_zarr.build(files[0].parent / "m.varve", files, force=True, quiet=True).path
        self.manifest = manifest
        import icechunk

        where = varve_zarr.export_icechunk(manifest, files[0].parent / "icechunk", force=True)
        storage = icechunk.local_filesystem_storage(where)
        config = icechunk.Repository.fetch_config(storage)
        allow = dict.fromkeys((config and config.virtual_chunk_containers) or {}, icechunk.Credentials.LocalFileSystemAccess())
        refs = varve_zarr.export_kerchunk(manifest, files[0].parent / "refs.parquet", force=True)

        def by_icechunk(**how: Any) -> xr.Dataset:
            store = icechunk.Repository.open(storage, authorize_virtual_chunk_access=allow).readonly_session("main").store
            return xr.open_dataset(store, engine="zarr", consolidated=False, **how)

        return {
            "varve": lambda **how: xr.open_dataset(manifest, engine="varve", **how),
            "xarray + Icechunk": by_icechunk,
            "xarray + kerchunk": lambda **how: xr.open_dataset(refs, engine="kerchunk", storage_options={"remote_protocol": "file"}, **how),
        }

    def library(self) -> float:
        """The seconds that varve's library takes to read all of tas into one buffer."""
        done = subprocess.run([*shlex.split(os.environ["READ"]), self.manifest, "tas"], capture_output=True, text=True, check=True)
        return float(done.stdout)


def turns(jobs: dict[str, Job], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median of each job, which take turns. A job that returns seconds has measured itself."""
    spent: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            begun = time.perf_counter()
            own = job()
            spent[name].append(own if isinstance(own, float) else time.perf_counter() - begun)
    return {name: statistics.median(s) for name, s in spent.items()}


Row = tuple[str, dict[str, float], str, float]  # name, seconds of all, whom varve is compared with, the most that varve / theirs may be


def read_full(b: Bench, kind: str) -> Iterator[Row]:
    files = b.archive(kind)
    opened = b.stores(files)
    jobs: dict[str, Job] = {name: lambda o=o: check(o(chunks=None).tas.values) for name, o in opened.items()}
    for engine in ("netcdf4", "h5netcdf"):
        jobs[f"open_mfdataset, {engine}"] = lambda engine=engine: check(
            xr.open_mfdataset(
                files, engine=engine, combine="nested", concat_dim="time", data_vars="minimal", coords="minimal", compat="override"
            ).tas.values
        )
    if "READ" in os.environ:
        jobs["varve's library"] = b.library
    got = turns(jobs)
    yield f"read_full/{kind}", got, "xarray + Icechunk", 1 / 5
    if "READ" in os.environ:
        yield f"read_full/{kind}", got, "varve's library", 1.25


def check(values: Any) -> None:
    assert values.dtype == "f4"
    assert 200 < values[-1, -1, -1] < 400


def timeseries(b: Bench) -> Iterator[Row]:
    opened = b.stores(b.archive("deflate"))
    yield (
        "timeseries",
        turns({n: lambda o=o: o(chunks=None).tas[:, 300, 700].values for n, o in opened.items()}),
        "xarray + Icechunk",
        1 / 4,
    )


def from_start(b: Bench) -> Iterator[Row]:
    b.stores(b.archive("deflate"))
    ours = f"import xarray as xr; xr.open_dataset({b.manifest!r}, engine='varve', chunks=None).tas[30, 200:800, 300:900].values"
    theirs = """
import numpy as np, xarray as xr, zarr
store = zarr.storage.MemoryStore()
group = zarr.create_group(store)
group.create_array("tas", data=np.zeros((600, 600), "f4"), dimension_names=("lat", "lon"))
xr.open_dataset(store, engine="zarr", consolidated=False, chunks=None).tas.values
"""

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)

    yield "slice, from the start", turns({"varve": lambda: run(ours), "a Zarr in memory": lambda: run(theirs)}), "a Zarr in memory", 1.1


def open_refs(b: Bench) -> Iterator[Row]:
    opened = b.stores(b.many_refs())
    yield f"open, {b.refs * 100:,} refs", turns({n: lambda o=o: o(chunks=None) for n, o in opened.items()}), "xarray + Icechunk", 1 / 4


def dask_mean(b: Bench) -> Iterator[Row]:
    opened = b.stores(b.archive("deflate"))
    lazy = opened["varve"](chunks={"time": 21, "lat": 512, "lon": 512}).tas

    def in_turn() -> None:
        opened["varve"](chunks=None).tas.values.mean(axis=0)

    jobs: dict[str, Job] = {"varve": lambda: lazy.mean("time").compute(scheduler="threads", num_workers=4), "read, then NumPy": in_turn}
    yield "dask, 4 threads, mean", turns(jobs), "read, then NumPy", 1.2


def small_reads(b: Bench) -> Iterator[Row]:
    opened = {n: o(chunks=None).tas for n, o in b.stores(b.archive("deflate")).items()}

    def reads(tas: xr.DataArray, n: int) -> float:
        begun = time.perf_counter()
        for i in range(n):
            tas[i % 20, (7 * i) % 500, (13 * i) % 500 : (13 * i) % 500 + 8].values  # noqa: B018
        return (time.perf_counter() - begun) * 1000 / n

    yield (
        "1,000 small reads",
        turns({n: lambda t=t, n=n: reads(t, 1000 if n == "varve" else 50) for n, t in opened.items()}),
        "xarray + Icechunk",
        1 / 10,
    )


ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    **{f"read_full/{kind}": lambda b, kind=kind: read_full(b, kind) for kind in ("deflate", "zstd", "raw")},
    "timeseries": timeseries, "from_start": from_start, "open_refs": open_refs, "dask_mean": dask_mean, "small_reads": small_reads,
}  # fmt: skip


def main() -> None:
    """Print a line a row, and end with 1 if one misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", nargs="*", help=", ".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="a quarter of the archives")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    bench, missed = Bench(asked.folder.resolve(), asked.quick), 0
    print(f"load average {os.getloadavg()[0]:.1f}; medians of {ROUNDS}, in seconds")
    for name, rows in ROWS.items():
        if asked.rows and not any(name.startswith(r) for r in asked.rows):
            continue
        for label, got, other, most in rows(bench):
            ratio = got["varve"] / got[other]
            missed += ratio > most
            shown = ", ".join(f"{who} {seconds:.3f}" for who, seconds in got.items())
            print(f"{label:26} {'ok   ' if ratio <= most else 'BELOW'} {ratio:.3f} of {other}, at most {most:.3g}: {shown}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
