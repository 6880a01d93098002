"""Datasets that are open in the varve process, and reading their arrays."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.request import url2pathname

import numpy as np
import numpy.typing as npt

from varve_zarr import _engine
from varve_zarr._engine import DRAW, GET, LIST, NO_KEY, OPEN, READ, REFS, SOURCES, Engine
from varve_zarr.errors import Closed, Usage

Axis = int | np.integer[Any] | slice | npt.NDArray[np.integer[Any]]
NDArray = npt.NDArray[Any]

_READ = struct.Struct("<IBBBB")
_AT = struct.Struct("<Bq")
_SLICE = struct.Struct("<Bqqq")
_LIST = struct.Struct("<BQ")
_ORTHOGONAL, _POINTS = 0, 1
_ALL, _FLIPPED = slice(None), slice(None, None, -1)


@dataclass(frozen=True)
class Options:
    """The options with which a manifest is opened."""

    allow: tuple[str, ...] = ()
    download: bool = False
    storage: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_arguments(cls, allow: str | Iterable[str] | None, download: bool, storage_options: Mapping[str, Any] | None) -> Options:
        """Return the options for the arguments of ``open_dataset`` and ``Store``."""
        allowed = (allow,) if isinstance(allow, str) else tuple(allow or ())
        storage = tuple(sorted((str(k), str(v)) for k, v in (storage_options or {}).items()))
        return cls(tuple(absolute(a) for a in allowed), download, storage)


def absolute(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file name or a ``file://`` URL. Other URLs are returned unchanged.

    The varve process has another working directory, so relative paths mean nothing to it.
    """
    text = os.fspath(name)
    if text.startswith("file:///"):
        return url2pathname(text.removeprefix("file://"))
    return text if "://" in text else os.path.abspath(os.path.expanduser(text))


@dataclass(frozen=True)
class ArrayInfo:
    """The description of an array. ``chunks`` has one length for each axis, or all lengths where chunks differ."""

    number: int
    path: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int | tuple[int, ...], ...]
    attributes: dict[str, Any]
    is_text: bool


@dataclass(frozen=True)
class Contents:
    """The groups of a dataset, as attributes by path, and its arrays."""

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrays: tuple[ArrayInfo, ...] = ()


def _dtype(text: str | list[Any]) -> np.dtype[Any]:
    if isinstance(text, list):
        return np.dtype([(name, _dtype(kind)) for name, kind in text])
    return np.dtype(object) if text in ("T", "O") else np.dtype(text)


def _typed(described: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a group or an array. Numbers whose type JSON does not show get it back."""
    attributes: dict[str, Any] = described["attributes"]
    for name, kind in described.get("types", {}).items():
        given = attributes[name]
        numbers = [_number(n) for n in given] if isinstance(given, list) else _number(given)
        value = np.array(numbers, dtype=np.float64).astype(kind)
        attributes[name] = value if value.ndim else value[()]
    return attributes


def _number(value: Any) -> float:
    """Return a number of an attribute. Texts are NaN and infinities, and for NaN with other bits, these in base 16."""
    return float("nan") if isinstance(value, str) and value.startswith("0x") else float(value)


def _chunks(runs: int | list[list[int]]) -> int | tuple[int, ...]:
    if isinstance(runs, int):
        return runs
    if len(runs) == 1 and runs[0][1] > 0:
        return runs[0][0]
    return tuple(length for length, count in runs for _ in range(count))


class Dataset:
    """A snapshot of a manifest. It is opened in the varve process on first use, and again if that process was restarted."""

    def __init__(self, name: str, snapshot: str, options: Options) -> None:
        self.name, self.snapshot, self.options = name, snapshot, options
        self._at: tuple[Engine, int] | None = None
        self._openers = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared, (self.name, self.snapshot, self.options)

    def __del__(self) -> None:
        self.close()

    def opened(self) -> None:
        """Count one more user. The dataset stays open until all users have released it."""
        with _lock:
            self._openers += 1

    def release(self) -> None:
        """Count one user less, and close the dataset after the last one."""
        with _lock:
            self._openers -= 1
            others = self._openers > 0
        if not others:
            self.close()

    def close(self) -> None:
        """Close the dataset in the varve process. A later read opens it again."""
        at, self._at = self._at, None
        if at is not None:
            at[0].drop(at[1])

    def handle(self, engine: Engine) -> int:
        at = self._at
        if at is None or at[0] is not engine:
            number, _ = open_in(engine, self.name, self.snapshot, self.options)
            at = self._at = (engine, number)
        return at[1]

    def ask(self, op: int, body: bytes, into: npt.NDArray[np.uint8] | None = None) -> tuple[int, bytes]:
        """Send a request about this dataset. The body is sent after the handle of the dataset."""

        def do(engine: Engine) -> tuple[int, bytes]:
            return engine.ask(op, struct.pack("<I", self.handle(engine)) + body, into)

        for _ in range(9):
            at = self._at  # use the same process again: to look it up would take as long as a small read
            with contextlib.suppress(Closed):  # another thread closed the dataset just now: open it again
                return _engine.ask_retrying(self.options.storage, do, at[0] if at else None)
            self._at = None
        return _engine.ask_retrying(self.options.storage, do)

    def get(self, key: str, kind: int = 0, a: int = 0, b: int = 0) -> bytes | None:
        """Return the value of a Zarr key, or a byte range of it. Return None if the key does not exist."""
        status, payload = self.ask(GET, struct.pack("<Bqq", kind, a, b) + key.encode())
        return None if status == NO_KEY else payload

    def keys(self, prefix: str, start: int, most: int) -> tuple[list[str], int]:
        """Return at most ``most`` keys below a prefix, and the start of the next page (0 after the last)."""
        answer = json.loads(self.ask(LIST, struct.pack("<qq", start, most) + prefix.encode())[1])
        return answer["keys"], answer["next"]

    def sources(self) -> Iterator[dict[str, Any]]:
        """Yield the sources, in scan order."""
        start = 0
        while True:
            answer = json.loads(self.ask(SOURCES, struct.pack("<qq", start, 10_000))[1])
            yield from answer["sources"]
            start = answer.get("next", 0)
            if start == 0:
                return

    def refs(self, array: int) -> tuple[list[dict[str, Any]], NDArray, bytes]:
        """Return the sources of an array, the columns source, offset and size of its chunks, and the bytes of inline chunks."""
        payload = self.ask(REFS, struct.pack("<I", array))[1]
        start = 4 + int.from_bytes(payload[:4], "little")
        answer = json.loads(payload[4:start])
        end = start + 24 * answer["chunks"]
        return answer["sources"], np.frombuffer(payload[start:end], "<i8").reshape(3, -1), payload[end:]

    def draw(self, array: int) -> str:
        """Return a picture of the chunks of an array, as SVG."""
        return self.ask(DRAW, struct.pack("<I", array))[1].decode()


_lock = threading.Lock()


def _forked() -> None:
    """Replace the lock in a forked child, because another thread may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
_datasets: weakref.WeakValueDictionary[tuple[str, str, Options], Dataset] = weakref.WeakValueDictionary()


def _shared(name: str, snapshot: str, options: Options) -> Dataset:
    """Return the dataset that this process already has, or a new one. So all tasks of a dask worker share one."""
    key = (name, snapshot, options)
    found = _datasets.get(key)
    if found is None:
        found = _datasets.setdefault(key, Dataset(name, snapshot, options))
    return found


def open_in(engine: Engine, name: str, snapshot: str, options: Options) -> tuple[int, dict[str, Any]]:
    ask = {"manifest": name, "snapshot": snapshot, "allow": options.allow, "download": options.download}
    answer: dict[str, Any] = json.loads(engine.ask(OPEN, json.dumps(ask).encode())[1])
    engine.add(answer["dataset"])
    return answer["dataset"], answer


def open_dataset(name: str | os.PathLike[str], snapshot: str | None, options: Options) -> tuple[Dataset, Contents]:
    """Open a manifest: the snapshot whose id begins with ``snapshot``, or the current one."""
    where = absolute(name)

    def do(engine: Engine) -> tuple[Engine, int, dict[str, Any]]:
        return engine, *open_in(engine, where, snapshot or "", options)

    engine, number, answer = _engine.ask_retrying(options.storage, do)
    dataset = _shared(where, answer["snapshot"], options)
    if dataset._at is None:
        dataset._at = (engine, number)
    else:
        engine.drop(number)
    groups = {g["path"]: _typed(g) for g in answer["groups"]}
    arrays = tuple(
        ArrayInfo(
            i,
            a["path"],
            tuple(a["dims"]),
            tuple(a["shape"]),
            _dtype(a["dtype"]),
            tuple(_chunks(c) for c in a["chunks"]),
            _typed(a),
            a["dtype"] == "T",
        )
        for i, a in enumerate(answer["arrays"])
    )
    return dataset, Contents(groups, arrays)


@dataclass(frozen=True)
class Reader:
    """Reads selections of one array."""

    dataset: Dataset
    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_text: bool = False

    def orthogonal(self, key: Sequence[Axis]) -> NDArray:
        """Return the elements that one index, slice or array of indices for each axis selects."""
        shape, parts, flips = [], [], []
        for axis, length in zip(key, self.shape, strict=True):
            if isinstance(axis, slice):
                start, stop, step = axis.indices(length)
                count = len(range(start, stop, step))
                flips.append(_FLIPPED if step < 0 else _ALL)
                if step < 0:
                    start, step = start + (count - 1) * step, -step
                shape.append(count)
                parts.append(_SLICE.pack(1, start, count, step))
            elif isinstance(axis, np.ndarray):
                flips.append(_ALL)
                shape.append(len(axis))
                parts.append(_LIST.pack(2, len(axis)) + np.ascontiguousarray(axis, "<i8").tobytes())
            else:
                parts.append(_AT.pack(0, axis + length if axis < 0 else axis))
        values = self._read(_ORTHOGONAL, b"".join(parts), tuple(shape))
        return values[tuple(flips)] if _FLIPPED in flips else values

    def points(self, key: Sequence[NDArray | slice]) -> NDArray:
        """Return the elements at points, given by one array of indices for each axis.

        The arrays are broadcast against each other. Axes with slices come last in the result.
        """
        slices = sum(isinstance(k, slice) for k in key)
        rank = max(k.ndim for k in key if not isinstance(k, slice))
        spread, behind = [], slices
        for k, length in zip(key, self.shape, strict=True):
            if isinstance(k, slice):
                behind -= 1
                spread.append(np.arange(length)[k].reshape((-1,) + (1,) * behind))
            else:
                spread.append(k.reshape((1,) * (rank - k.ndim) + k.shape + (1,) * slices))
        indices = np.broadcast_arrays(*spread)
        wrapped = [np.where(k < 0, k + n, k) for k, n in zip(indices, self.shape, strict=True)]
        body = struct.pack("<q", indices[0].size) + b"".join(np.ascontiguousarray(k, "<i8").tobytes() for k in wrapped)
        return self._read(_POINTS, body, (indices[0].size,)).reshape(indices[0].shape)

    def _read(self, kind: int, body: bytes, shape: tuple[int, ...]) -> NDArray:
        if 0 in shape:
            return np.empty(shape, self.dtype)
        if self.dtype.hasobject:
            return self._read_varying(kind, body, shape)
        size = math.prod(shape) * self.dtype.itemsize
        if size > np.iinfo(np.intp).max:
            raise Usage(f"the selection has {size} bytes, more than an array can have; select less")
        values = np.empty(shape, self.dtype)
        self._ask(kind, body, values.reshape(-1).view("u1") if shape else np.ndarray(size, "u1", values.data))
        return values

    def _ask(self, kind: int, body: bytes, into: npt.NDArray[np.uint8] | None) -> bytes:
        return self.dataset.ask(READ, _READ.pack(self.number, kind, len(self.shape), 0, 0) + body, into)[1]

    def _read_varying(self, kind: int, body: bytes, shape: tuple[int, ...]) -> NDArray:
        payload = self._ask(kind, body, None)
        count = math.prod(shape)
        ends = np.cumsum(np.frombuffer(payload, "<u4", count), dtype="i8") + 4 * count
        values = np.empty(count, object)
        start = 4 * count
        for i, end in enumerate(ends.tolist()):
            element = payload[start:end]
            values[i] = element.decode("utf-8", "surrogateescape") if self.is_text else element
            start = end
        return values.reshape(shape)


__all__ = ["ArrayInfo", "Contents", "Dataset", "Options", "Reader", "absolute", "open_dataset"]
