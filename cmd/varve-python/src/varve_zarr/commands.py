"""varve's commands as functions. Keyword arguments are the flags: ``new_dim="run=list:f"`` is ``--new-dim run=list:f``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varve_zarr import _command, _dataset
from varve_zarr._command import Names, Progress
from varve_zarr.errors import Refused
from varve_zarr.report import Manifest, Report

if TYPE_CHECKING:
    from varve_zarr.parallel import Parallel

Path_ = str | os.PathLike[str]
Storage = Mapping[str, Any] | None


def check(files: Names, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Any) -> Report:
    """Say what ``build`` would do with files, and write nothing. What it would refuse is in the report, and no exception."""
    with tempfile.TemporaryDirectory() as room:
        page = Path(room, "report.html")
        options = {"json": True, "html": page, **flags}
        refusal = ""
        try:
            found = json.loads(_command.run("check", (), files, options, progress, storage_options))
        except Refused as refused:
            if not refused.findings:
                raise
            found, refusal = {"findings": refused.findings, "arrays": []}, str(refused)
        return Report(found["findings"], found["arrays"], page.read_text(encoding="utf-8") if page.exists() else "", refusal)


def build(
    out: Path_,
    files: Names,
    *,
    parallel: Parallel | None = None,
    parts: Path_ | None = None,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Any,
) -> Manifest:
    """Make one virtual dataset of all files, which stay where they are and as they are.

    With ``parallel`` (a dask client or ``"dask"``, ``"lithops"``, or an executor of ``concurrent.futures``) the files are
    scanned by its workers, which keep what they find in ``parts``, a folder or prefix that all of them see.
    """
    if parallel is not None:
        from varve_zarr.parallel import scanned

        with scanned(files, parallel, parts, storage_options, flags) as found:
            return _publish("build", out, found, progress, storage_options, flags)
    return _publish("build", out, files, progress, storage_options, flags)


def append(out: Path_, files: Names, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Any) -> Manifest:
    """Add files to a virtual dataset, wherever their coordinates put them."""
    return _publish("append", out, files, progress, storage_options, flags)


def _publish(
    command: str, out: Path_, files: Names, progress: bool | Progress | None, storage: Storage, flags: Mapping[str, Any]
) -> Manifest:
    path = _dataset.absolute(out)
    said = json.loads(_command.run(command, [path], files, {"json": True, **flags}, progress, storage))
    return Manifest(path, report=Report(said["findings"]), storage_options=storage)


def scan(files: Names, part: Path_, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Any) -> str:
    """Scan files into one part, which ``build`` and ``append`` take in their place. Return its name."""
    name = _dataset.absolute(part)
    _command.run("scan", (), files, {"output": name, **flags}, progress, storage_options)
    return name


def verify(out: Path_, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Any) -> str:
    """Hold a manifest and its sources against what was scanned; with ``deep=True`` read every chunk. What fails is raised."""
    return _command.run("verify", [_dataset.absolute(out)], None, flags, progress, storage_options).strip()


def history(out: Path_, *, storage_options: Storage = None) -> list[dict[str, Any]]:
    """Return the snapshots of a manifest, the newest first."""
    return Manifest(out, storage_options=storage_options).snapshots


def export_kerchunk(out: Path_, dest: Path_, **options: Any) -> str:
    """Write kerchunk references, as JSON or Parquet by the suffix of ``dest``. Return its name."""
    return _export("kerchunk", out, dest, **options)


def export_icechunk(out: Path_, dest: Path_, **options: Any) -> str:
    """Write an Icechunk repository. Return its name."""
    return _export("icechunk", out, dest, **options)


def export_zarr(out: Path_, dest: Path_, **options: Any) -> str:
    """Write a copy as real Zarr. Return its name."""
    return _export("zarr", out, dest, **options)


def export_table(out: Path_, dest: Path_, **options: Any) -> str:
    """Write tables. Return the name."""
    return _export("table", out, dest, **options)


def _export(
    kind: str, out: Path_, dest: Path_, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Any
) -> str:
    name = _dataset.absolute(dest)
    _command.run(f"export {kind}", [_dataset.absolute(out), name], None, flags, progress, storage_options)
    return name


def demo(folder: Path_ | None = None) -> Manifest:
    """Write a small archive whose files disagree into a new folder, and make one dataset of it."""
    where = _dataset.absolute(folder if folder is not None else tempfile.mkdtemp(prefix="varve-demo-"))
    _command.run("demo", [where])
    return Manifest(os.path.join(where, "t2m.varve"))
