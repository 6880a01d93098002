"""The commands that look at manifests and files, keep manifests in order, and serve them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from varve_zarr import _binary, _command, _dataset
from varve_zarr._command import Names, Progress
from varve_zarr.commands import Path_, Storage
from varve_zarr.errors import from_exit
from varve_zarr.report import Manifest

if TYPE_CHECKING:
    from varve_zarr import _flags

__all__ = [
    "compact", "explain", "gc", "index", "info", "inspect", "relocate", "repair", "restore", "serve", "tag", "trust",
]  # fmt: skip


def info(
    out: Path_, array: str | None = None, chunk: str | None = None, *, storage_options: Storage = None, **flags: Unpack[_flags.InfoFlags]
) -> dict[str, Any]:
    """Return what a manifest holds, or an array of it. With ``why=True``, return why chunks are re-encoded."""
    return _json("info", [_dataset.absolute(out), *(a for a in (array, chunk) if a is not None)], flags, storage_options)


def inspect(files: Names, *, storage_options: Storage = None, **flags: Unpack[_flags.InspectFlags]) -> list[dict[str, Any]]:
    """Return the contents of files and how they are stored, one mapping for each file."""
    said = _command.run("inspect", (), files, {"json": True, **flags}, False, storage_options)
    return [json.loads(line) for line in said.splitlines()]


def explain(code: str | None = None) -> str:
    """Return what a finding means and what to do about it, or a list of all codes."""
    return _command.run("explain", [] if code is None else [code]).strip()


def index(
    out: Path_,
    *arrays: str,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.IndexFlags],
) -> dict[str, Any]:
    """Make large compressed chunks readable in parts: store access points of all arrays, or of some."""
    return _json("index", [_dataset.absolute(out), *arrays], flags, storage_options, progress)


def relocate(
    out: Path_,
    moves: Mapping[Path_, Path_],
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.RelocateFlags],
) -> dict[str, Any]:
    """Record the new location of sources that moved. ``moves`` has the new folder or prefix for each old one."""
    places = [_dataset.absolute(place) for move in moves.items() for place in move]
    return _json("relocate", [_dataset.absolute(out), *places], flags, storage_options, progress)


def restore(out: Path_, snapshot: str, *, storage_options: Storage = None) -> Manifest:
    """Make an earlier snapshot the current one: a tag, or the first characters of an id."""
    _json("restore", [_dataset.absolute(out), snapshot], {}, storage_options)
    return Manifest(out, storage_options=storage_options)


def gc(out: Path_, *, storage_options: Storage = None, **flags: Unpack[_flags.GcFlags]) -> dict[str, Any]:
    """Remove old snapshots, and files that no snapshot needs. ``dry_run=True`` only lists them."""
    return _json("gc", [_dataset.absolute(out)], flags, storage_options)


def tag(
    out: Path_, name: str | None = None, snapshot: str | None = None, *, storage_options: Storage = None, **flags: Unpack[_flags.TagFlags]
) -> Any:
    """Name a snapshot, by default the current one, so that it is kept. Without a name, return all tags."""
    return _json("tag", [_dataset.absolute(out), *(a for a in (name, snapshot) if a is not None)], flags, storage_options)


def trust(out: Path_, *places: Path_, storage_options: Storage = None, **flags: Unpack[_flags.TrustFlags]) -> dict[str, Any]:
    """Let a manifest of someone else read its sources. ``dry_run=True`` only returns the places."""
    return _json("trust", [_dataset.absolute(out), *map(_dataset.absolute, places)], flags, storage_options)


def compact(
    out: Path_, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Unpack[_flags.CompactFlags]
) -> dict[str, Any]:
    """Store re-encoded chunks in the manifest, and merge short ones, so that reads do not encode them again."""
    return _json("compact", [_dataset.absolute(out)], flags, storage_options, progress)


def repair(
    out: Path_,
    files: Names | None = None,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.RepairFlags],
) -> dict[str, Any]:
    """Make lost tables of a manifest again, from its sources."""
    return _json("repair", [_dataset.absolute(out)], flags, storage_options, progress, files)


def _json(
    command: str,
    arguments: list[str],
    flags: Mapping[str, Any],
    storage: Storage,
    progress: bool | Progress | None = False,
    files: Names | None = None,
) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(_command.run(command, arguments, files, {"json": True, **flags}, progress, storage))
    return said


@contextlib.contextmanager
def serve(*out: Path_, storage_options: Storage = None, **flags: Unpack[_flags.ServeFlags]) -> Iterator[str]:
    """Serve manifests as Zarr over HTTP while the ``with`` block runs, and yield the URL. The default port is a free one."""
    given: dict[str, Any] = {"listen": "127.0.0.1:0", **flags}
    argv = [_binary.find(), "serve", *_command.flags_of(given), "--", *map(_dataset.absolute, out)]
    environment = {**os.environ, **{str(k): str(v) for k, v in (storage_options or {}).items()}}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        messages: list[str] = []
        watcher = threading.Thread(target=messages.extend, args=(process.stderr,))
        watcher.start()
        try:
            line = process.stdout.readline()
            if not line.startswith("listening on "):
                status = process.wait()
                watcher.join()
                raise from_exit(status, "".join(messages).strip().removeprefix("varve: "))
            yield line.removeprefix("listening on ").strip()
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            watcher.join()
