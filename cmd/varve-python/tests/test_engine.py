from __future__ import annotations

import gc
import json
import multiprocessing
import os
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
from varve_zarr import _engine, _memory


def test_one_process_for_all_threads(manifest: str, truth: xr.Dataset) -> None:
    def read(i: int) -> bool:
        with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
            return np.array_equal(ds.t2m[i % 90].values, truth.t2m[i % 90].values, equal_nan=True)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(200)))
    assert len(helpers()) == 1


def test_is_started_anew_when_it_was_killed(manifest: str, truth: xr.Dataset) -> None:
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        ds.t2m[0].values  # noqa: B018
        (pid,) = helpers()
        os.kill(pid, signal.SIGKILL)
        np.testing.assert_array_equal(ds.t2m.values, truth.t2m.values)
    assert helpers() != [pid]
    assert len(helpers()) == 1


def test_says_so_when_it_dies_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.stop()
    script = tmp_path / "varve"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("VARVE_BINARY", str(script))
    with pytest.raises(varve_zarr.EngineError, match=r"exit code 3.*reinstall varve-zarr"):
        xr.open_dataset("nothing.varve", engine="varve")
    assert helpers() == []


def test_no_binary(manifest: str) -> None:
    done = run_python(f"import xarray as xr; xr.open_dataset({manifest!r}, engine='varve')", VARVE_BINARY="/nowhere/varve")
    assert "VARVE_BINARY=/nowhere/varve: there is no program" in done.stderr
    code = (
        f"import varve_zarr._binary as b; b._places = lambda: iter(()); import xarray as xr; xr.open_dataset({manifest!r}, engine='varve')"
    )
    done = run_python(code, VARVE_BINARY="", PATH="/nowhere")
    assert "pip install --force-reinstall varve-zarr" in done.stderr


def test_another_version(manifest: str) -> None:
    done = run_python(f"import varve_zarr._engine as e; e.VERSION = 99; import xarray as xr; xr.open_dataset({manifest!r}, engine='varve')")
    assert "the client speaks version 99" in done.stderr
    assert "install both from one wheel" in done.stderr


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
        raise OSError(28, "No space left on device", name)

    _engine.stop()
    monkeypatch.setattr(os, "memfd_create", full)
    monkeypatch.setattr(_memory, "SMALLEST", 1000)
    with xr.open_dataset(manifest, engine="varve", chunks=None) as ds:
        np.testing.assert_array_equal(ds.t2m.values, truth.t2m.values)
    _engine.stop()


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
    first = varve_zarr.build(tmp_path / "0.varve", archive[0]).path
    opened = []
    for i in range(1000):
        if i < 60:  # as many folders, so that not all stay open
            shutil.copytree(first, tmp_path / f"{i}.copy.varve")
        opened.append(xr.open_dataset(tmp_path / f"{i % 60}.copy.varve", engine="varve", chunks=None, decode_times=False))
    values = {float(ds.t2m[3, 4, 5]) for ds in opened[::13]}
    assert len(values) == 1


def test_no_leak(manifest: str) -> None:
    def descriptors(pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    def memory(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096

    def opens(n: int) -> tuple[int, int, int]:
        for _ in range(n):
            dataset = varve_zarr._dataset.open_dataset(manifest, None, varve_zarr._dataset.Options())[0]  # type: ignore[attr-defined]
            dataset.close()
        gc.collect()
        (pid,) = helpers()
        return descriptors(os.getpid()), descriptors(pid), memory(pid)

    before = opens(1000)
    after = opens(9000)
    assert after[0] <= before[0] + 2
    assert after[1] <= before[1] + 2
    assert after[2] <= before[2] + (32 << 20)


def test_ctrl_c(tmp_path: Path) -> None:
    """It ends a read that takes long, and the next read works."""
    values = np.random.default_rng(1).integers(0, 9, (400, 500, 500), dtype="i2")
    xr.Dataset({"v": (("t", "y", "x"), values)}).to_netcdf(
        tmp_path / "a.nc", engine="netcdf4", encoding={"v": {"zlib": True, "complevel": 1}}
    )
    out = varve_zarr.build(tmp_path / "a.varve", tmp_path / "a.nc").path
    with xr.open_dataset(out, engine="varve", chunks=None) as ds:
        ds.v[0, 0, 0].load()
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            for _ in range(100):
                xr.open_dataset(out, engine="varve", chunks=None).v.values  # noqa: B018
        np.testing.assert_array_equal(ds.v[7].values, values[7])
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


def test_manifest_of_somebody_else(archive: list[str], tmp_path: Path) -> None:
    made = varve_zarr.build(tmp_path / "a.varve", archive[0])
    code = f"import xarray as xr; print(float(xr.open_dataset({made.path!r}, engine='varve').t2m[1, 1, 1]))"
    done = run_python(code, XDG_CONFIG_HOME=str(tmp_path / "other"))
    assert "NotAllowed" in done.stderr
    assert str(Path(archive[0]).parent) in done.stderr
    done = run_python(
        code.replace("engine='varve'", f"engine='varve', allow={str(Path(archive[0]).parent)!r}"), XDG_CONFIG_HOME=str(tmp_path / "other")
    )
    assert done.returncode == 0, done.stderr


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


def test_errors_travel_between_processes() -> None:
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
