"""Scans by the workers of dask, lithops or an executor. Only names travel: what is found goes into a folder of parts."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Literal

from varve_zarr import _command, _dataset
from varve_zarr._command import Names
from varve_zarr.errors import Usage, VarveError

Parallel = Executor | Literal["dask", "lithops"] | Any
"""A dask client, "dask" for the current one, "lithops", or an executor of concurrent.futures."""

# Of the flags of a build those that a scan takes as well.
_OF_SCAN = ("allow", "download", "drop", "keep_scan", "skip_broken", "value_bytes", "workers")
_SLICE = 100  # files that one task scans, at most


def scan_slice(names: list[str], part: str, storage: dict[str, Any], flags: dict[str, Any]) -> tuple[str, str]:
    """Scan some files into a part, in a worker. Return the part, and what went wrong, if anything did."""
    try:
        _command.run("scan", (), names, {"output": part, "quiet": True, **flags}, False, storage)
    except VarveError as problem:
        return part, str(problem)
    return part, ""


@contextlib.contextmanager
def scanned(
    files: Names, parallel: Parallel, parts: str | os.PathLike[str] | None, storage: Mapping[str, Any] | None, flags: Mapping[str, Any]
) -> Iterator[list[str]]:
    """Have files scanned by workers, and yield the parts, in the order of the files."""
    names = _expand(files)
    taken = {k: v for k, v in flags.items() if k in _OF_SCAN and v is not None}
    with contextlib.ExitStack() as stack:
        where = _dataset.absolute(parts) if parts is not None else stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-parts-"))
        if "://" not in where:
            os.makedirs(where, exist_ok=True)
        submit, workers = _submitter(parallel, stack)
        size = max(1, min(_SLICE, -(-len(names) // (4 * max(workers, 1)))))
        tasks = [
            (names[i : i + size], f"{where.rstrip('/')}/{i // size:06}.parquet", dict(storage or {}), taken)
            for i in range(0, len(names), size)
        ]
        results = submit(tasks)
        failed = [(task, said) for task, (_, said) in zip(tasks, results, strict=True) if said]
        if failed:
            listed = "\n".join(f"{task[0][0]} … {task[0][-1]} ({len(task[0])} files): {said}" for task, said in failed)
            raise VarveError(f"{len(failed)} of {len(tasks)} scans failed; skip_broken=True leaves out files that cannot be read\n{listed}")
        yield [part for part, _ in results]


def _expand(files: Names) -> list[str]:
    """Return absolute names of all files, since workers run in other folders."""
    out: list[str] = []
    for given in _command.names_of(files):
        if "://" in given:
            if "*" in given:
                raise Usage(f"{given}: workers take names of objects, and no globs of them; list the names")
            out.append(given)
            continue
        if given.startswith("@"):
            with open(given[1:], encoding="utf-8") as listed:
                out += [_dataset.absolute(line) for line in listed.read().splitlines() if line]
        elif (
            os.path.isdir(given)
            and not os.path.exists(os.path.join(given, "zarr.json"))
            and not os.path.exists(os.path.join(given, ".zgroup"))
        ):
            out += sorted(os.path.join(folder, name) for folder, _, found in os.walk(os.path.abspath(given)) for name in found)
        elif os.path.exists(given):
            out.append(os.path.abspath(given))
        else:
            found = sorted(glob.glob(os.path.abspath(given), recursive=True))
            if not found:
                raise Usage(f"{given}: there is no such file, and nothing matches it")
            out += found
    return out


Task = tuple[list[str], str, dict[str, Any], dict[str, Any]]
Submit = Callable[[list[Task]], list[tuple[str, str]]]


def _submitter(parallel: Parallel, stack: contextlib.ExitStack) -> tuple[Submit, int]:
    """Return what runs all tasks, and how many workers there are."""
    others: Any = parallel  # which this package does not depend on
    if parallel == "lithops":
        import lithops

        return _of_lithops(stack.enter_context(lithops.FunctionExecutor())), 100
    if parallel == "dask":
        from dask.distributed import get_client

        others = get_client()
    if hasattr(others, "scheduler_info") and hasattr(others, "gather"):
        return _of_dask(others), sum(others.nthreads().values())
    if hasattr(others, "map") and hasattr(others, "get_result"):
        return _of_lithops(others), 100
    if hasattr(others, "submit"):
        return _of_executor(others), getattr(others, "_max_workers", None) or os.cpu_count() or 1
    raise Usage(f"parallel={parallel!r}: pass a dask client, 'dask', 'lithops', or an executor of concurrent.futures")


def _of_dask(client: Any) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        # A scan that is begun again, because its worker died, makes the same part.
        futures = [client.submit(scan_slice, *task, pure=False, retries=3) for task in tasks]
        done: list[tuple[str, str]] = client.gather(futures)
        return done

    return submit


def _of_lithops(executor: Any) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        executor.map(scan_slice, tasks)
        done: list[tuple[str, str]] = executor.get_result()
        return done

    return submit


def _of_executor(executor: Executor) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        futures = [executor.submit(scan_slice, *task) for task in tasks]
        return [f.result() for f in futures]

    return submit
