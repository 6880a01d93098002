from __future__ import annotations

import errno
import gc
import gzip
import json
import multiprocessing
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import helpers, run_python

import varve_zarr
from varve_zarr import _binary, _engine, _memory


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a manifest of one file of 100 MB, with 100 chunks."""
    folder = tmp_path_factory.mktemp("large")
    values = np.random.default_rng(1).integers(0, 9, (100, 1000, 500), dtype="i2")
    encoding = {"v": {"zlib": True, "complevel": 1, "chunksizes": (1, 1000, 500)}}
    xr.Dataset({"v": (("t", "y", "x"), values)}).to_netcdf(folder / "a.nc", engine="netcdf4", encoding=encoding)
    return varve_zarr.build(folder / "a.varve", folder / "a.nc").path


def test_one_process_for_all_threads(manifest: str, truth: xr.Dataset) -> None:
    def read(i: int) -> bool:
        with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
            return np.array_equal(ds.t2m[i % 90].values, truth.t2m[i % 90].values, equal_nan=True)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(200)))
    assert len(helpers()) == 1


def test_restart_after_kill(manifest: str, truth: xr.Dataset) -> None:
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        ds.t2m[0].values  # noqa: B018
        (pid,) = helpers()
        os.kill(pid, signal.SIGKILL)
        np.testing.assert_array_equal(ds.t2m.values, truth.t2m.values)
    assert helpers() != [pid]
    assert len(helpers()) == 1


def test_kill_while_threads_read(large: str) -> None:
    """Reads that a kill interrupts are repeated. There is one kill, so none of them fails."""
    with xr.open_dataset(large, engine="varve", chunks=None, cache=False) as ds, ThreadPoolExecutor(4) as pool:
        want = ds.v.values
        (pid,) = helpers()
        reads = [pool.submit(lambda: np.array_equal(ds.v.values, want)) for _ in range(12)]
        reads[0].result()
        os.kill(pid, signal.SIGKILL)
        assert all(r.result() for r in reads)
        ds.v[0, 0, 0].values  # noqa: B018
    assert helpers() != [pid]
    assert len(helpers()) == 1


def test_process_that_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    script = tmp_path / "varve"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("VARVE_BINARY", str(script))
    with pytest.raises(varve_zarr.EngineError, match=re.escape(str(script))):
        xr.open_dataset("nothing.varve", engine="varve")
    assert helpers() == []


def test_process_that_is_killed_on_every_read(manifest: str) -> None:
    """The second end of the process is an error, not an endless loop."""
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        done = threading.Event()

        def kill() -> None:
            while not done.wait(0.001):
                for pid in helpers():
                    os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with pytest.raises(varve_zarr.EngineError):  # noqa: PT012
                for _ in range(1000):
                    ds.t2m[0].values  # noqa: B018
        finally:
            done.set()
            killer.join()
        ds.t2m[0].values  # noqa: B018


def test_no_binary(manifest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = str(tmp_path / "varve")
    monkeypatch.setenv("VARVE_BINARY", missing)
    with pytest.raises(varve_zarr.EngineError, match=re.escape(missing)):
        xr.open_dataset(manifest, engine="varve")
    with pytest.raises(varve_zarr.EngineError, match=re.escape(missing)):
        varve_zarr.check(manifest)
    monkeypatch.delenv("VARVE_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_binary, "_places", lambda: iter(()))
    with pytest.raises(varve_zarr.EngineError, match="pip install --force-reinstall varve-zarr"):
        xr.open_dataset(manifest, engine="varve")


def test_binary_of_another_version(manifest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    monkeypatch.setattr(_engine, "VERSION", 99)
    with pytest.raises(varve_zarr.EngineError, match="pip install --force-reinstall varve-zarr"):
        xr.open_dataset(manifest, engine="varve")
    assert helpers() == []


@pytest.mark.parametrize("ending", ["pass", "import os; os._exit(1)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "1/0"])
def test_no_orphans(manifest: str, ending: str) -> None:
    code = f"""
import xarray as xr, sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from conftest import helpers
xr.open_dataset({manifest!r}, engine="varve").t2m[0].load()
print(helpers()[0], flush=True)
{ending}
"""
    pid = int(run_python(code).stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the varve process outlives its Python process")


def _in_child(ds: xr.Dataset, want: float, results: multiprocessing.SimpleQueue[tuple[bool, int]]) -> None:
    results.put((float(ds.t2m[5, 6, 7]) == want, len(helpers())))


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_processes_have_their_own(manifest: str, truth: xr.Dataset, way: str) -> None:
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        ds.t2m[1].values  # noqa: B018
        context = multiprocessing.get_context(way)
        results = context.SimpleQueue()
        children = [context.Process(target=_in_child, args=(ds, float(truth.t2m[5, 6, 7]), results)) for _ in range(2)]
        for child in children:
            child.start()
        assert [results.get() for _ in children] == [(True, 1)] * 2
        for child in children:
            child.join()
        np.testing.assert_array_equal(ds.t2m[2].values, truth.t2m[2].values)
    assert len(helpers()) == 1


def test_without_shared_memory(manifest: str, truth: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(name: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)

    _engine.stop()
    monkeypatch.setattr(os, "memfd_create", full)
    monkeypatch.setattr(_memory, "MIN_SIZE", 1000)
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        np.testing.assert_array_equal(ds.t2m.values, truth.t2m.values)
    _engine.stop()


def test_full_dev_shm(large: str) -> None:
    """A full /dev/shm does not matter. The test fills one of 4 KiB, in a mount namespace that only it sees."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a file system (unshare -m)")
    code = f"import xarray as xr; print(xr.open_dataset({large!r}, engine='varve', chunks=None).v.values.sum())"
    fill = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && ! head -c 8192 /dev/zero 2>/dev/null >/dev/shm/full && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", fill, "sh", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == xr.open_dataset(large, engine="varve", chunks=None).v.values.sum()


def test_over_loopback(manifest: str, truth: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    monkeypatch.setattr(_engine, "_LOOPBACK", True)
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        np.testing.assert_array_equal(ds.t2m.values, truth.t2m.values)
        with pytest.raises(varve_zarr.NotFound):
            xr.open_dataset(manifest + "x.varve", engine="varve")
    _engine.stop()
    assert helpers() == []


def test_many_datasets(archive: list[str], tmp_path: Path) -> None:
    """400 datasets are open, each of its own manifest."""
    first = varve_zarr.build(tmp_path / "0.varve", archive[0]).path
    opened = []
    for i in range(400):
        copy = shutil.copytree(first, tmp_path / f"copy-{i}.varve")
        opened.append(xr.open_dataset(copy, engine="varve", chunks=None, decode_times=False))
    assert len({float(ds.t2m[3, 4, 5]) for ds in opened}) == 1
    (pid,) = helpers()
    assert descriptors(pid) < 300
    for ds in opened:
        ds.close()


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_leak(manifest: str) -> None:
    """Opening and closing leaks no descriptors, and with VARVE_OPENS=1000, so often, no memory."""

    def opens(n: int) -> list[int]:
        for _ in range(n):
            with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
                ds.t2m[0, 0, 0].values  # noqa: B018
        gc.collect()
        (pid,) = helpers()
        return [descriptors(os.getpid()), descriptors(pid), memory(os.getpid()), memory(pid)]

    n = int(os.environ.get("VARVE_OPENS", "200"))
    before, after = opens(n // 5), opens(n - n // 5)
    growth = [b - a for a, b in zip(before, after, strict=True)]
    assert max(growth[:2]) <= 2, growth
    if "VARVE_OPENS" in os.environ:
        assert max(growth[2:]) <= 16 << 20, growth


def test_ctrl_c(large: str, request: pytest.FixtureRequest) -> None:
    """Ctrl-C ends a long read, and the next read works."""
    # A shell ignores SIGINT in jobs that it starts in the background, and then Python does too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with xr.open_dataset(large, engine="varve", chunks=None, cache=False) as ds:
        want = ds.v[7].values
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            for _ in range(1000):
                ds.v.values  # noqa: B018
        np.testing.assert_array_equal(ds.v[7].values, want)
    assert len(helpers()) == 1


def test_source_that_changes(archive: list[str], tmp_path: Path) -> None:
    copy = shutil.copy(archive[0], tmp_path / "a.nc")
    made = varve_zarr.build(tmp_path / "a.varve", copy)
    with made.open(chunks={}) as ds:
        with open(copy, "ab") as file:
            file.write(b"more")
        with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc") as caught:
            ds.t2m.mean().compute(scheduler="threads")
        assert caught.value.code == "source_changed"
        os.remove(copy)
        with pytest.raises(varve_zarr.SourceChanged, match=r"a\.nc"):
            ds.t2m[0, 0, 0].compute()


def test_source_that_changes_while_a_dask_graph_runs(large: str) -> None:
    """The first block that is read changes the source. Blocks that are read later raise the exception."""
    source = varve_zarr.Manifest(large).sources[0]["url"].removeprefix("file://")
    copy = Path(source).with_name("changing.nc")
    shutil.copy(source, copy)
    blocks = []

    def change(block: np.ndarray) -> np.ndarray:
        if not blocks:
            with open(copy, "ab") as file:
                file.write(b"more")
        blocks.append(block.shape)
        return block

    with varve_zarr.build(copy.with_suffix(".varve"), copy).open(chunks={}) as ds:
        lazy = ds.v.data.map_blocks(change, dtype=ds.v.dtype, meta=np.empty((0, 0, 0), ds.v.dtype))
        blocks.clear()
        with pytest.raises(varve_zarr.SourceChanged, match=r"changing\.nc"):
            lazy.sum().compute(scheduler="threads", num_workers=2)
    assert 0 < len(blocks) < ds.v.data.npartitions


def test_manifest_of_someone_else(archive: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "a.varve", archive[0])
    allowed = str(Path(archive[0]).parent)
    code = f"""
import varve_zarr, xarray as xr
try:
    xr.open_dataset({made.path!r}, engine="varve").t2m[1, 1, 1].load()
except varve_zarr.NotAllowed as error:
    print(error.code, {allowed!r} in str(error))
print(float(xr.open_dataset({made.path!r}, engine="varve", allow={allowed!r}).t2m[1, 1, 1]))
"""
    done = run_python(code, XDG_CONFIG_HOME=str(tmp_path / "other"))
    assert done.stdout.split() == ["not_allowed", "True", str(float(made.open().t2m[1, 1, 1]))], done.stderr


def test_damaged_manifest(archive: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "a.varve", archive[0])
    (snapshot,) = (tmp_path / "a.varve" / "snapshots").iterdir()
    snapshot.write_text("{}")
    with pytest.raises(varve_zarr.ManifestDamaged):
        made.open()


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(varve_zarr.NotFound, match="varve build"):
        xr.open_dataset(tmp_path / "none.varve", engine="varve")
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "none.varve", engine="varve")


def test_errors_can_be_pickled() -> None:
    import pickle

    again = pickle.loads(pickle.dumps(varve_zarr.Refused("no", findings=[{"code": "codecs-differ"}])))
    assert isinstance(again, varve_zarr.Refused)
    assert str(again) == "no"
    assert again.findings == [{"code": "codecs-differ"}]


def test_the_socket_is_private() -> None:
    """No socket has a name that others could connect to."""
    _engine.get()
    names = Path("/proc/net/unix").read_text()
    assert "varve" not in names
    (pid,) = helpers()
    sockets = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
    assert any(s.startswith("socket:") for s in sockets)
    assert not any(stat.S_ISSOCK(os.stat(p).st_mode) for p in Path("/tmp").glob("*varve*"))


@pytest.mark.skipif(sys.platform != "linux", reason="tests the environment of the process by /proc")
def test_storage_options_are_the_environment(manifest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    xr.open_dataset(manifest, engine="varve").close()
    xr.open_dataset(manifest, engine="varve", storage_options={"AWS_REGION": "eu-north-1"}).close()
    assert len(helpers()) == 2
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    xr.open_dataset(manifest, engine="varve").close()
    assert len(helpers()) == 2, "the same environment has the same process"
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    xr.open_dataset(manifest, engine="varve").close()
    assert len(helpers()) == 3
    _engine.stop()
    assert helpers() == []


def test_hello_has_the_commit() -> None:
    assert set(_engine.get().hello) == {"version", "commit"}
    assert json.dumps(_engine.get().hello)
    assert subprocess.run([_engine.get().binary, "version"], capture_output=True, text=True, check=True).stdout.startswith("varve ")


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return files with a field of 16 MB, each stored as one chunk."""
    folder = tmp_path_factory.mktemp("fields")
    rng, names = np.random.default_rng(2), []
    for day in range(4):
        field = (280 + rng.normal(0, 1, (1, 1600, 2500)).cumsum(axis=2) / 50).round(2).astype("f4")
        ds = xr.Dataset({"v": (("time", "y", "x"), field)}, {"time": ("time", [day], {"units": "days since 2000-01-01"})})
        names.append(folder / f"{day}.nc")
        encoding = {"v": {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": field.shape}}
        ds.to_netcdf(names[-1], engine="netcdf4", encoding=encoding)
    return names


def pixel(manifest: str) -> tuple[list[float], int]:
    """Read one element of each file in a new process, and return the values and the number of bytes that it read."""
    _engine.stop()
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        ds.time.values  # noqa: B018
        (pid,) = helpers()

        def read() -> int:
            return int(re.search(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])

        before = read()
        values = ds.v[:, 900, 77].values
        return values.tolist(), read() - before


def test_pixel_of_large_chunks(fields: list[Path], tmp_path: Path) -> None:
    """With access points, one element needs a small part of each chunk."""
    want = [float(xr.open_dataset(name).v[0, 900, 77]) for name in fields]
    out = str(tmp_path / "v.varve")
    varve_zarr.build(out, [str(name) for name in fields])
    stored = sum(name.stat().st_size for name in fields)
    whole, read = pixel(out)
    assert whole == want
    assert read > stored * 0.9
    subprocess.run([_binary.find(), "index", "--every", "128KiB", out], check=True, capture_output=True)
    part, read = pixel(out)
    assert part == want
    assert 0 < read < stored / 4


def test_pixel_of_compressed_files(fields: list[Path], tmp_path: Path) -> None:
    """Files that are compressed as a whole are decompressed from the nearest access point."""
    want, stored = [], 0
    for name in fields:
        ds = xr.open_dataset(name).load()
        want.append(float(ds.v[0, 900, 77]))
        ds.to_netcdf(tmp_path / name.name, format="NETCDF3_64BIT", engine="netcdf4")
        packed = tmp_path / f"{name.name}.gz"
        packed.write_bytes(gzip.compress((tmp_path / name.name).read_bytes(), 1))
        stored += packed.stat().st_size
    out = str(tmp_path / "v.varve")
    varve_zarr.build(out, str(tmp_path / "*.nc.gz"))
    values, read = pixel(out)
    assert values == want
    assert 0 < read < stored / 4
