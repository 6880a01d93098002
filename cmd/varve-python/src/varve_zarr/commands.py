"""The commands of varve as functions. Keyword arguments are flags: ``new_dim="run=list:f"`` is ``--new-dim run=list:f``."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from varve_zarr import _command, _dataset
from varve_zarr._command import Names, Progress
from varve_zarr.errors import Refused, Usage
from varve_zarr.report import Manifest, Report

__all__ = [
    "append", "build", "check", "demo", "export_icechunk", "export_kerchunk", "export_table", "export_zarr", "history", "refresh",
    "remove", "scan", "sync", "verify",
]  # fmt: skip

if TYPE_CHECKING:
    import xarray as xr
    from typing_extensions import TypeIs

    from varve_zarr import _flags
    from varve_zarr.parallel import Parallel
    from varve_zarr.parsers import Parser

Path_ = str | os.PathLike[str]
Storage = Mapping[str, Any] | None


def check(
    files: Names,
    *,
    parser: str | Parser | None = None,
    preprocess: Callable[[xr.Dataset], xr.Dataset] | None = None,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.CheckFlags],
) -> Report:
    """Report what ``build`` would do, without writing anything. A refusal is part of the report, not an exception.

    ``files`` may be a virtual dataset. ``parser`` and ``preprocess`` are those of ``build``.
    """
    more = {"parser": parser, "preprocess": preprocess, **flags}
    with tempfile.TemporaryDirectory() as room, _files_of(files, more, storage_options) as (names, taken):
        page = Path(room, "report.html")
        options = {"json": True, "html": page, **taken}
        refusal = ""
        try:
            found = json.loads(_command.run("check", (), names, options, progress, storage_options))
        except Refused as refused:
            if not refused.findings:
                raise
            found, refusal = {"findings": refused.findings, "arrays": []}, str(refused)
        return Report(found["findings"], found["arrays"], page.read_text(encoding="utf-8") if page.exists() else "", refusal)


def _is_dataset(files: Any) -> TypeIs[xr.Dataset]:
    """Whether this is an xarray dataset, without an import of xarray."""
    return hasattr(files, "data_vars") and hasattr(files, "variables")


@contextlib.contextmanager
def _files_of(files: Any, flags: Mapping[str, Any], storage: Storage, folder: Path_ | None = None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the names of files, and flags for the command.

    A virtual dataset, and files with ``parser=`` or ``preprocess=``, become files of references in a folder. If there is
    an error they are removed, and without a folder always.
    """
    rest = dict(flags)
    parser, preprocess = rest.pop("parser", None), rest.pop("preprocess", None)
    if not _is_dataset(files) and parser is None and preprocess is None:
        yield files, rest
        return
    from varve_zarr.virtual import write_references

    where = None if folder is None else _dataset.absolute(folder)
    if where is not None and "://" in where:
        raise Usage(f"{where}: references can be written to a local folder only: pass references=")
    names: list[str] = []
    with contextlib.ExitStack() as stack:
        if where is None:
            where = stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(where, exist_ok=True)
        try:
            allowed = write_references(files, where, names, parser, preprocess, storage, rest)
            given = rest.get("allow") or []
            rest["allow"] = [*([given] if isinstance(given, str | os.PathLike) else given), *sorted(allowed)]
            yield names, rest
        except BaseException:
            for name in names:
                os.remove(name)
            with contextlib.suppress(OSError):
                os.rmdir(where)
            raise


def build(
    out: Path_,
    files: Names,
    *,
    parallel: Parallel | None = None,
    parts: Path_ | None = None,
    references: Path_ | None = None,
    parser: str | Parser | None = None,
    preprocess: Callable[[xr.Dataset], xr.Dataset] | None = None,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.BuildFlags],
) -> Manifest:
    """Combine files into one virtual dataset. The files are not copied or changed.

    ``parallel`` is a dask client, a Spark session, an environment of PyFlink, an executor of ``concurrent.futures``,
    ``"dask"``, ``"spark"``, ``"flink"`` or ``"lithops"``. Its workers scan the files and write scan parts to ``parts``,
    a folder or prefix that all workers can access. Without ``parts``, up to 200 files (4 GiB of local files) are scanned
    by this process instead, because that is faster. The log ``varve_zarr`` says so.

    ``files`` may be a virtual dataset. ``parser`` is a function or name: see ``register_parser``. ``preprocess`` changes
    the virtual dataset of each file; it is called once for all files with the same metadata, and without values. For
    these three, references are written to the folder ``references``, by default ``out`` with ``.references``.
    ``varve verify`` expects them; reading does not.
    """
    if parallel is not None:
        if _is_dataset(files) or parser is not None or preprocess is not None:
            raise Usage("parallel= scans files with the command: leave it out for a virtual dataset, parser= and preprocess=")
        from varve_zarr.parallel import scanned

        with scanned(files, parallel, parts, storage_options, flags) as found:
            return _publish("build", out, found, progress, storage_options, flags)
    more = {"references": references, "parser": parser, "preprocess": preprocess}
    return _publish("build", out, files, progress, storage_options, {**more, **flags})


def append(
    out: Path_,
    files: Names,
    *,
    references: Path_ | None = None,
    parser: str | Parser | None = None,
    preprocess: Callable[[xr.Dataset], xr.Dataset] | None = None,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.AppendFlags],
) -> Manifest:
    """Add files to a virtual dataset. Coordinates give their positions. Arguments are those of ``build``."""
    more = {"references": references, "parser": parser, "preprocess": preprocess}
    return _publish("append", out, files, progress, storage_options, {**more, **flags})


def sync(
    out: Path_, files: Names, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Unpack[_flags.SyncFlags]
) -> Manifest:
    """Make a virtual dataset hold exactly some files: add new ones, scan changed ones again, remove the others."""
    return _publish("sync", out, files, progress, storage_options, flags)


def refresh(
    out: Path_,
    files: Names | None = None,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.RefreshFlags],
) -> Manifest:
    """Scan the files of a virtual dataset again that changed: all, or some."""
    return _publish("refresh", out, files, progress, storage_options, flags)


def remove(out: Path_, files: Names | None = None, *, storage_options: Storage = None, **flags: Unpack[_flags.RemoveFlags]) -> Manifest:
    """Remove files from a virtual dataset: by name, or all with no time at or after the date ``before``."""
    return _publish("remove", out, files, False, storage_options, flags)


def _publish(
    command: str, out: Path_, files: Names | None, progress: bool | Progress | None, storage: Storage, flags: Mapping[str, Any]
) -> Manifest:
    path, flags = _dataset.absolute(out), dict(flags)
    folder = flags.pop("references", None)
    with _files_of(files, flags, storage, folder or f"{path}.references") as (names, taken):
        if folder is not None and names is files:
            raise Usage("references= is the folder for a virtual dataset, parser= and preprocess=: leave it out")
        said = json.loads(_command.run(command, [path], names, {"json": True, **taken}, progress, storage))
    return Manifest(path, report=Report(said["findings"]), storage_options=storage)


def scan(
    files: Names,
    part: Path_,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.ScanFlags],
) -> str:
    """Scan files into one scan part, and return its name. Pass it to ``build`` or ``append`` in place of the files."""
    name = _dataset.absolute(part)
    _command.run("scan", (), files, {"output": name, **flags}, progress, storage_options)
    return name


def verify(
    out: Path_, *, progress: bool | Progress | None = None, storage_options: Storage = None, **flags: Unpack[_flags.VerifyFlags]
) -> str:
    """Check that a manifest is undamaged and its sources are unchanged. With ``deep=True`` also read every chunk."""
    return _command.run("verify", [_dataset.absolute(out)], None, flags, progress, storage_options).strip()


def history(out: Path_, *, storage_options: Storage = None) -> list[dict[str, Any]]:
    """Return the snapshots of a manifest, newest first."""
    return Manifest(out, storage_options=storage_options).snapshots


def export_kerchunk(
    out: Path_,
    dest: Path_,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.ExportKerchunkFlags],
) -> str:
    """Write kerchunk references: JSON if ``dest`` ends in ``.json``, else Parquet. Return the absolute name."""
    return _export("kerchunk", out, dest, progress, storage_options, flags)


def export_icechunk(
    out: Path_,
    dest: Path_,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.ExportIcechunkFlags],
) -> str:
    """Write an Icechunk repository. Return its absolute name."""
    return _export("icechunk", out, dest, progress, storage_options, flags)


def export_zarr(
    out: Path_,
    dest: Path_,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.ExportZarrFlags],
) -> str:
    """Copy the data to a Zarr store. Return its absolute name."""
    return _export("zarr", out, dest, progress, storage_options, flags)


def export_table(
    out: Path_,
    dest: Path_,
    *,
    progress: bool | Progress | None = None,
    storage_options: Storage = None,
    **flags: Unpack[_flags.ExportTableFlags],
) -> str:
    """Write the values as a Parquet table. Return its absolute name."""
    return _export("table", out, dest, progress, storage_options, flags)


def _export(
    kind: str, out: Path_, dest: Path_, progress: bool | Progress | None, storage_options: Storage, flags: Mapping[str, Any]
) -> str:
    name = _dataset.absolute(dest)
    _command.run(f"export {kind}", [_dataset.absolute(out), name], None, flags, progress, storage_options)
    return name


def demo(folder: Path_ | None = None) -> Manifest:
    """Write a sample archive whose files disagree into a new folder, and build a virtual dataset from it."""
    where = _dataset.absolute(folder if folder is not None else tempfile.mkdtemp(prefix="varve-demo-"))
    _command.run("demo", [where])
    return Manifest(os.path.join(where, "t2m.varve"))
