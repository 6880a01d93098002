"""Compares engine="varve" with other ways to read the same files in xarray: bars.py DIR [--quick] [--library CMD] [ROW ...].

The archives are made in DIR, unless they are there. The contestants of a row take turns. The median of their wall-clock
times must reach the bar of the row. CPU times, which include the varve process, are printed because other programs on
the machine affect them less. ``CMD MANIFEST ARRAY`` prints the seconds of one read by varve's Go library.
"""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("ICECHUNK_LOG", "error")
import h5py
import hdf5plugin
import icechunk
import numpy as np
import psutil
import xarray as xr

import varve_zarr
from varve_zarr import _engine

ROUNDS = 5
VARVE, ICECHUNK, LIBRARY = "varve", "xarray + Icechunk", "varve's library"

Job = Callable[[], Any]
Opener = Callable[..., xr.Dataset]


class Time(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float


class Row(NamedTuple):
    """The times of all contestants, and the largest ratio of varve's time to another contestant's that is accepted."""

    name: str
    times: dict[str, Time]
    other: str
    bar: float


class Bench:
    """The archives, and the manifests and references made from them."""

    def __init__(self, folder: Path, quick: bool, library: str | None) -> None:
        self.folder, self.library = folder, library
        self.files, self.steps = (3, 1000) if quick else (12, 10_000)
        self.size = self.files * 21 * 1024 * 1024 * 4  # bytes of tas

    @functools.cache  # noqa: B019
    def archive(self, kind: str) -> list[Path]:
        """Make files of 21 steps of 1024 x 1024 float32, rounded to 1/64, in chunks of 1 MiB."""
        paths = [self.folder / f"{kind}-{self.files}" / f"tas_{i:02}.nc" for i in range(self.files)]
        filters: dict[str, Any] = {
            "deflate": {"compression": "gzip", "shuffle": True},
            "zstd": {**hdf5plugin.Zstd(3), "shuffle": True},
            "raw": {},
        }
        noise = np.random.default_rng(1).normal(0, 0.25, (1024, 1024))
        y, x = np.mgrid[0:1024, 0:1024] / 1024

        def write(f: h5py.File, i: int) -> None:
            tas = f.create_dataset("tas", (21, 1024, 1024), "f4", chunks=(1, 512, 512), **filters[kind])
            scales = {"time": np.arange(21) + 21.0 * i, "lat": np.linspace(-90, 90, 1024), "lon": np.arange(1024) * 0.35}
            add_dimensions(tas, scales)
            f["time"].attrs["units"] = "days since 2015-01-01"
            for step in range(21):
                field = 280 + 15 * np.sin(3 * x + (21 * i + step) / 5) * np.cos(2 * y) + np.roll(noise, 37 * step, 1)
                tas[step] = np.round(field * 64) / 64

        for i, path in enumerate(paths):
            make(path, lambda f, i=i: write(f, i))
        return paths

    @functools.cache  # noqa: B019
    def many_chunks(self) -> list[Path]:
        """Make one file with 100 chunks for each step."""

        def write(f: h5py.File) -> None:
            v = f.create_dataset("v", (self.steps, 160, 160), "i2", chunks=(1, 16, 16), maxshape=(None, 160, 160))
            add_dimensions(v, {"time": np.arange(self.steps), "y": np.arange(160), "x": np.arange(160)})
            for step in range(0, self.steps, 100):
                v[step : step + 100] = np.arange(100 * 160 * 160, dtype="i2").reshape(100, 160, 160)

        path = self.folder / f"refs-{self.steps}" / "refs.nc"
        make(path, write)
        return [path]

    @staticmethod
    def manifest(files: list[Path]) -> str:
        return str(files[0].parent / "m.varve")

    @functools.cache  # noqa: B019
    def contestants(self, kind: str) -> dict[str, Opener]:
        """Return functions that open an archive, by contestant."""
        files = self.archive(kind) if kind != "many chunks" else self.many_chunks()
        manifest = varve_zarr.build(self.manifest(files), files, force=True, quiet=True).path
        storage = icechunk.local_filesystem_storage(varve_zarr.export_icechunk(manifest, files[0].parent / "icechunk", force=True))
        config = icechunk.Repository.fetch_config(storage)
        access = dict.fromkeys((config and config.virtual_chunk_containers) or {}, icechunk.Credentials.LocalFileSystemAccess())
        refs = varve_zarr.export_kerchunk(manifest, files[0].parent / "refs.parquet", force=True)

        def with_icechunk(**options: Any) -> xr.Dataset:
            repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
            return xr.open_dataset(repository.readonly_session("main").store, engine="zarr", consolidated=False, **options)

        def with_kerchunk(**options: Any) -> xr.Dataset:
            return xr.open_dataset(refs, engine="kerchunk", storage_options={"remote_protocol": "file"}, **options)

        def with_files(engine: str, **options: Any) -> xr.Dataset:
            how: Any = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal", "coords": "minimal", "compat": "override"}
            return xr.open_mfdataset(files, engine=engine, **how, **options)

        return {
            VARVE: lambda **options: xr.open_dataset(manifest, engine="varve", **options),
            ICECHUNK: with_icechunk,
            "xarray + kerchunk": with_kerchunk,
            "h5netcdf": functools.partial(with_files, "h5netcdf"),
            "netCDF4": functools.partial(with_files, "netcdf4"),
        }

    def read_by_library(self, kind: str) -> float:
        """Return the seconds that varve's library takes to read tas into one buffer."""
        assert self.library is not None
        command = [*shlex.split(self.library), self.manifest(self.archive(kind)), "tas"]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def make(path: Path, write: Callable[[h5py.File], None]) -> None:
    """Write an HDF5 file, unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        part = path.with_suffix(".part")
        with h5py.File(part, "w", libver="latest") as f:
            write(f)
        part.rename(path)


def add_dimensions(variable: h5py.Dataset, scales: dict[str, Any]) -> None:
    for axis, (name, values) in enumerate(scales.items()):
        variable.file[name] = values
        variable.file[name].make_scale(name)
        variable.dims[axis].attach_scale(variable.file[name])


def cpu_seconds() -> float:
    """Return the CPU time of this process, its varve process, and children that ended."""
    used = sum(os.times()[:4])
    for engine in _engine._engines.values():
        used += sum(psutil.Process(engine.process.pid).cpu_times()[:2])
    return used


def take_turns(jobs: dict[str, Job], size: int = 0) -> dict[str, Time]:
    """Return the medians of each job. A job that returns a float gives its own wall-clock time.

    Before each job, ``size`` bytes of memory are written and freed. A virtual machine may return freed memory to its
    host within seconds, and its first use then takes up to 2 s for 1 GB. Otherwise only the job would be fast that
    follows a job which used as much memory.
    """
    times: dict[str, list[Time]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            np.ones(size, "u1")
            cpu, begun = cpu_seconds(), time.perf_counter()
            own = job()
            wall, used = time.perf_counter() - begun, cpu_seconds() - cpu
            times[name].append(Time(own, used * own / wall) if isinstance(own, float) else Time(wall, used))
    return {name: Time(*map(statistics.median, zip(*taken, strict=True))) for name, taken in times.items()}


def read_full(b: Bench, kind: str) -> Iterator[Row]:
    def read(opener: Opener) -> None:
        values = opener(chunks=None).tas.values
        assert values.dtype == "f4"
        assert values.shape == (21 * b.files, 1024, 1024)
        assert 200 < values[-1, -1, -1] < 400

    jobs: dict[str, Job] = {name: functools.partial(read, opener) for name, opener in b.contestants(kind).items()}
    if b.library:
        jobs[LIBRARY] = lambda: b.read_by_library(kind)
    times = take_turns(jobs, b.size)
    yield Row(f"read_full, {kind}", times, ICECHUNK, 1 / 5)
    if b.library:
        yield Row(f"read_full, {kind}", times, LIBRARY, 1.25)


def timeseries(b: Bench) -> Iterator[Row]:
    jobs = {n: lambda o=o: o(chunks=None).tas[:, 300, 700].values for n, o in b.contestants("deflate").items()}
    yield Row("time series", take_turns(jobs), ICECHUNK, 1 / 4)


def from_start(b: Bench) -> Iterator[Row]:
    """Read a slice in a new Python process. The Zarr in memory has the same coordinates, which xarray decodes too."""
    b.contestants("deflate")
    manifest = b.manifest(b.archive("deflate"))
    code = {
        VARVE: f"import xarray as xr; xr.open_dataset({manifest!r}, engine='varve', chunks=None).tas[30, 200:800, 300:900].values",
        "Zarr in memory": """
import numpy as np, xarray as xr, zarr
store = zarr.storage.MemoryStore()
group = zarr.create_group(store)
group.create_array("tas", data=np.zeros((1, 600, 600), "f4"), dimension_names=("time", "lat", "lon"))
group.create_array("time", data=np.array([30.0]), dimension_names=("time",), attributes={"units": "days since 2015-01-01"})
group.create_array("lat", data=np.zeros(600), dimension_names=("lat",))
group.create_array("lon", data=np.zeros(600), dimension_names=("lon",))
xr.open_dataset(store, engine="zarr", consolidated=False, chunks=None).tas[0].values
""",
    }

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)

    yield Row("one slice, from the start of Python", take_turns({n: lambda c=c: run(c) for n, c in code.items()}), "Zarr in memory", 1.1)


def open_refs(b: Bench) -> Iterator[Row]:
    jobs = {n: lambda o=o: o(chunks=None) for n, o in b.contestants("many chunks").items()}
    yield Row(f"open, {b.steps * 100:,} refs", take_turns(jobs), ICECHUNK, 1 / 4)


def dask_mean(b: Bench) -> Iterator[Row]:
    openers = b.contestants("deflate")

    def mean(opener: Opener) -> None:
        opener(chunks={"time": 21, "lat": 512, "lon": 512}).tas.mean("time").compute(scheduler="threads", num_workers=4)

    jobs: dict[str, Job] = {name: functools.partial(mean, opener) for name, opener in openers.items()}
    jobs["read, then NumPy"] = lambda: openers[VARVE](chunks=None).tas.values.mean(axis=0)
    yield Row("dask, 4 threads, mean over time", take_turns(jobs, b.size), "read, then NumPy", 1.2)


def small_reads(b: Bench) -> Iterator[Row]:
    opened = {n: o(chunks=None).tas for n, o in b.contestants("deflate").items()}

    def read(tas: xr.DataArray, n: int) -> float:
        """Return the seconds of 1,000 reads, estimated from n."""
        begun = time.perf_counter()
        for i in range(n):
            tas[i % 20, (7 * i) % 500, (13 * i) % 500 : (13 * i) % 500 + 8].values  # noqa: B018
        return (time.perf_counter() - begun) * 1000 / n

    jobs = {n: lambda t=t, n=n: read(t, 1000 if n == VARVE else 50) for n, t in opened.items()}
    yield Row("1,000 small reads", take_turns(jobs), ICECHUNK, 1 / 10)


ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    **{f"read_full/{kind}": functools.partial(read_full, kind=kind) for kind in ("deflate", "zstd", "raw")},
    "timeseries": timeseries, "from_start": from_start, "open_refs": open_refs, "dask_mean": dask_mean, "small_reads": small_reads,
}  # fmt: skip


def main() -> None:
    """Print one line for each bar. The exit code is 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", nargs="*", help=", ".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="use a quarter of the archives")
    parser.add_argument("--library", help="command that reads an array with varve's library and prints the seconds")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    bench, missed = Bench(asked.folder.resolve(), asked.quick, asked.library), 0
    print(f"load average {os.getloadavg()[0]:.1f}; medians of {ROUNDS} in seconds: wall clock (CPU)")
    for name, rows in ROWS.items():
        if asked.rows and not any(name.startswith(r) for r in asked.rows):
            continue
        for row in rows(bench):
            ratio = row.times[VARVE].wall / row.times[row.other].wall
            missed += ratio > row.bar
            verdict = "ok    " if ratio <= row.bar else "MISSED"
            shown = ", ".join(f"{who} {t.wall:.3f} ({t.cpu:.2f})" for who, t in row.times.items())
            print(f"{row.name:36} {verdict} {ratio:.3f} of {row.other}, bar {row.bar:.3g}: {shown}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
