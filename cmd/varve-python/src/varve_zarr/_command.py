"""Runs the varve command and shows its progress."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from varve_zarr import _binary
from varve_zarr.errors import EngineError, Usage, from_exit

Progress = Callable[[str, int, int], None]
"""Called with a description ("scanning files"), the number done, and the total."""

Names = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_WANTED = "pass a file, folder, glob, URL, or a list of these"
_MAX_COMMAND_LINE = 30_000  # characters of file names; Windows allows 32,767 for the whole command line


def names_of(files: Names) -> list[str]:
    """Return file names as strings."""
    given = [files] if isinstance(files, str | os.PathLike) else files
    if hasattr(given, "read") or not isinstance(given, Iterable):
        raise Usage(f"{type(files).__name__} is not a file name: {_WANTED}")
    names = []
    for name in given:
        if not isinstance(name, str | os.PathLike) or not isinstance(os.fspath(name), str):
            raise Usage(f"{type(name).__name__} is not a file name: {_WANTED}")
        names.append(os.fspath(name))
    if not names:
        raise Usage(f"no files given: {_WANTED}")
    return names


def flags_of(options: Mapping[str, Any]) -> list[str]:
    """Return flags for keyword arguments: ``--new-dim=run=list:f`` for ``new_dim={"run": "list:f"}``."""
    flags = []
    for key, value in options.items():
        flag = "--" + key.rstrip("_").replace("_", "-")  # "from_" is --from, because "from" is a word of Python
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, Mapping):
            flags += [f"{flag}={k}={v}" for k, v in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            flags += [f"{flag}={v}" for v in value]
        else:
            flags.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return flags


def run(
    command: str,
    arguments: Sequence[str] = (),
    files: Names | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Run a command and return its standard output. If it fails, raise the exception for its exit code."""
    argv = [_binary.find(), *command.split(), *flags_of(options or {})]
    given = names_of(files) if files is not None else []
    # Many names are passed through standard input, one per line.
    if sum(len(n) + 3 for n in given) > _MAX_COMMAND_LINE and not any("\n" in n for n in given):
        listed, given = "\n".join(given) + "\n", ["@-"]
    else:
        listed = ""
    argv += ["--", *arguments, *given]
    environment = {**os.environ, "VARVE_PROGRESS": "events", **{str(k): str(v) for k, v in (storage_options or {}).items()}}
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except OSError as problem:
        raise EngineError(f"cannot start {argv[0]}: {problem}") from problem
    with process, _bar(progress) as show:
        messages: list[str] = []
        codes: list[str] = []
        watcher = threading.Thread(target=_watch, args=(process, show, messages, codes))
        watcher.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(listed)
            out = process.stdout.read()
            watcher.join()
            status = process.wait()
        except BaseException:  # on Ctrl-C, the command removes unfinished files before it ends
            process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            raise
    if status != 0:
        message = "".join(messages).strip().removeprefix("varve: ") or f"varve {command} failed with exit code {status}"
        raise from_exit(status, message, _findings(out), codes[0] if codes else "")
    return out


def _findings(out: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(out)["findings"]
    except (ValueError, KeyError, TypeError):
        return []
    return found


def _watch(process: subprocess.Popen[str], show: Progress | None, messages: list[str], codes: list[str]) -> None:
    """Read standard error: collect messages and the code of an error, and show the progress lines."""
    assert process.stderr is not None
    for line in process.stderr:
        words = line.split()
        if len(words) == 2 and words[0] == "failed":
            codes.append(words[1])
        elif len(words) != 5 or words[0] != "progress":
            messages.append(line)
        elif show is not None:
            show(f"{words[1]} {words[2]}", int(words[3]), int(words[4]))


class _Bar(Protocol):
    def __enter__(self) -> Progress | None: ...

    def __exit__(self, *exception: object) -> None: ...


def _bar(progress: bool | Progress | None) -> _Bar:
    """Return what shows progress: the function of the caller, a bar in a notebook or terminal, or nothing."""
    if callable(progress):
        return contextlib.nullcontext(progress)
    if progress is False:
        return contextlib.nullcontext()
    if _in_notebook():
        return _NotebookBar()
    if progress or (sys.stderr is not None and sys.stderr.isatty()):
        return _TerminalBar()
    return contextlib.nullcontext()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


class _TerminalBar:
    def __enter__(self) -> Progress:
        return self._show

    def _show(self, what: str, done: int, total: int) -> None:
        filled = 30 * done // max(total, 1)
        sys.stderr.write(f"\r\033[K{what}  {'█' * filled}{'░' * (30 - filled)}  {done:,} of {total:,}")
        sys.stderr.flush()

    def __exit__(self, *exception: object) -> None:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


class _NotebookBar:
    def __enter__(self) -> Progress:
        shown: Any = importlib.import_module("IPython.display")
        self._html = shown.HTML
        self._shown = shown.display(shown.HTML(""), display_id=True)
        return self._show

    def _show(self, what: str, done: int, total: int) -> None:
        self._shown.update(self._html(f'<progress value="{done}" max="{total}"></progress> {what}: {done:,} of {total:,}'))

    def __exit__(self, *exception: object) -> None:
        self._shown.update(self._html(""))
