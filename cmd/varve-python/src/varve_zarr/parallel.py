"""Parallel scans by dask, Spark, Flink, lithops or an executor. Workers get file names, and write scan parts to a folder."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Literal

from varve_zarr import _command, _dataset
from varve_zarr._command import Names
from varve_zarr.errors import Usage, VarveError

Parallel = Executor | Literal["dask", "spark", "flink", "lithops"] | Any
"""A dask client, a session or context of Spark, an environment of PyFlink, an executor of concurrent.futures, or a name.

"dask" and "spark" stand for the current client and session, "flink" for the cluster that runs the program.
"""

# Flags of varve build that varve scan also has. "match" is missing, because it was applied before.
_SCAN_FLAGS = ("allow", "download", "drop", "keep_scan", "skip_broken", "value_bytes", "workers")
_MAX_SLICE = 100  # files per task
# An archive is small if it has at most so many files, of at most so many bytes if they are local. The command scans
# them in about a second; a client of dask with idle workers needs as long for its first tasks.
_FEW, _FEW_BYTES = 200, 4 << 30

_log = logging.getLogger("varve_zarr")


def scan_slice(names: list[str], part: str, environment: dict[str, Any], flags: dict[str, Any]) -> tuple[str, str]:
    """Scan files into a part, in a worker. Return the name of the part and an error message, empty on success.

    No parameter may be called ``storage``, because lithops passes its own object in parameters of that name.
    """
    try:
        _command.run("scan", (), names, {"output": part, "quiet": True, **flags}, False, environment)
    except VarveError as problem:
        return part, str(problem)
    return part, ""


@contextlib.contextmanager
def scanned(
    files: Names, parallel: Parallel, parts: str | os.PathLike[str] | None, storage: Mapping[str, Any] | None, flags: Mapping[str, Any]
) -> Iterator[list[str]]:
    """Scan files with workers, and yield the names of the parts, in the order of the files.

    Without ``parts``, a small archive is not scanned, and the names of its files are yielded.
    All slices are tried, and the error names those that failed.
    """
    names = _expand(files, flags.get("match"), storage)
    taken = {k: v for k, v in flags.items() if k in _SCAN_FLAGS and v is not None}
    with contextlib.ExitStack() as stack:
        submit, workers = _submitter(parallel, stack)
        if parts is None and _is_small(names):
            _log.info("parallel= is not used: this process scans %d files faster than workers start", len(names))
            yield names
            return
        where = _dataset.absolute(parts) if parts is not None else stack.enter_context(_temporary_folder())
        if "://" not in where:
            os.makedirs(where, exist_ok=True)
        size = max(1, min(_MAX_SLICE, -(-len(names) // (4 * max(workers, 1)))))
        tasks = [
            (names[i : i + size], f"{where.rstrip('/')}/{i // size:06}.parquet", dict(storage or {}), taken)
            for i in range(0, len(names), size)
        ]
        results = submit(tasks)
        failed = [(task, message) for task, (_, message) in zip(tasks, results, strict=True) if message]
        if failed:
            listed = "\n".join(f"{_range_of(names)}: {message}" for (names, *_), message in failed)
            raise VarveError(f"{len(failed)} of {len(tasks)} scans failed; skip_broken=True leaves out files that cannot be read\n{listed}")
        yield [part for part, _ in results]


def _is_small(names: list[str]) -> bool:
    return len(names) <= _FEW and sum(os.path.getsize(n) for n in names if os.path.isfile(n)) <= _FEW_BYTES


@contextlib.contextmanager
def _temporary_folder() -> Iterator[str]:
    """Make a folder, and remove it afterwards.

    The command of a worker that was killed may still write into the folder while it is removed, so the removal is
    tried again. A command that comes later fails, because its folder is missing.
    """
    folder = tempfile.mkdtemp(prefix="varve-parts-")
    try:
        yield folder
    finally:
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.1)


def _range_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({len(names)} files)"


def _expand(files: Names, match: str | None, storage: Mapping[str, Any] | None) -> list[str]:
    """Return the absolute names of the files that the command would scan. Workers have other working directories."""
    return _command.run("sources", (), files, {"match": match}, False, storage).split("\0")[:-1]


Task = tuple[list[str], str, dict[str, Any], dict[str, Any]]
Submit = Callable[[list[Task]], list[tuple[str, str]]]


def _submitter(parallel: Parallel, stack: contextlib.ExitStack) -> tuple[Submit, int]:
    """Return a function that runs all tasks, and the number of workers."""
    others: Any = parallel  # of a type from a package on which this one does not depend
    if parallel == "lithops":
        import lithops

        return _of_lithops(stack.enter_context(lithops.FunctionExecutor())), 100
    if parallel == "dask":
        from dask.distributed import get_client

        others = get_client()
    if parallel == "spark":
        from pyspark import SparkContext

        others = SparkContext.getOrCreate()
    if parallel == "flink":
        others = _flink_environment()
    if hasattr(others, "scheduler_info") and hasattr(others, "gather"):
        return _of_dask(others), sum(others.nthreads().values())
    others = getattr(others, "sparkContext", others)
    if hasattr(others, "parallelize"):
        return _of_spark(others), others.defaultParallelism
    if hasattr(others, "from_collection") and hasattr(others, "set_runtime_mode"):
        return _of_flink(others), others.get_parallelism()
    if hasattr(others, "map") and hasattr(others, "get_result"):
        return _of_lithops(others), 100
    if hasattr(others, "submit"):
        return _of_executor(others), getattr(others, "_max_workers", None) or os.cpu_count() or 1
    known = "a dask client, a Spark session, a Flink environment, an executor of concurrent.futures, 'dask', 'spark', 'flink' or 'lithops'"
    raise Usage(f"parallel={parallel!r}: pass {known}")


def _of_dask(client: Any) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        # Scans may be repeated if a worker dies: they write the same part again.
        futures = [client.submit(scan_slice, *task, pure=False, retries=3) for task in tasks]
        done: list[tuple[str, str]] = client.gather(futures)
        return done

    return submit


def _of_spark(context: Any) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        done: list[tuple[str, str]] = context.parallelize(tasks, len(tasks)).map(_scan_task).collect()
        return done

    return submit


def _flink_environment() -> Any:
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    settings = Configuration()
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "10")
    settings.set_string("restart-strategy.fixed-delay.delay", "10 s")  # Flink learns of a dead worker after some seconds
    return StreamExecutionEnvironment.get_execution_environment(settings)


def _of_flink(environment: Any) -> Submit:
    def submit(tasks: list[Task]) -> list[tuple[str, str]]:
        from pyflink.datastream import RuntimeExecutionMode

        # In batch mode only the scans of a worker that dies are repeated, and results are collected afterwards.
        environment.set_runtime_mode(RuntimeExecutionMode.BATCH)
        scans = environment.from_collection(list(enumerate(tasks))).rebalance().map(_scan_numbered_task)
        scans.set_parallelism(environment.get_parallelism())  # else Flink takes one worker, because a list of names is small
        with scans.execute_and_collect("varve") as found:
            done: dict[int, tuple[str, str]] = dict(found)
        return [done[i] for i in range(len(tasks))]

    return submit


def _scan_task(task: Task) -> tuple[str, str]:
    return scan_slice(*task)


def _scan_numbered_task(numbered: tuple[int, Task]) -> tuple[int, tuple[str, str]]:
    number, task = numbered
    return number, scan_slice(*task)


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
