"""Arrays of references: where the chunks of an array are stored, without their values."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from varve_zarr.errors import Unsupported, Usage

Json = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A file or object, and the version of it that was scanned."""

    url: str
    size: int | None = None
    modified: str | None = None
    etag: str | None = None

    @functools.cached_property
    def quoted(self) -> str:
        """The URL as JSON. It is kept, because most chunks have few sources."""
        return json.dumps(self.url)


REF = np.dtype([("source", object), ("offset", "<i8"), ("length", "<i8")])
"""A stored chunk. The source is a ``Source``, the bytes themselves, None if the chunk is missing, or ``MASKED``."""

MASKED = "masked"
"""The source of chunks that a selection with the index -1 asks for. xarray masks them when it aligns datasets."""


@dataclass(frozen=True)
class Axis:
    """The lengths of the chunks along an axis: of their data, and of what their bytes decode to."""

    lengths: tuple[int, ...]
    encoded: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.lengths)

    @property
    def regular(self) -> int | None:
        """The length of all chunks, of which the last may be cut, or None."""
        first = self.encoded[0] if self.encoded else 1
        full = set(self.encoded) <= {first} and set(self.lengths[:-1]) <= {first}
        return first if full else None


@dataclass(frozen=True)
class Form:
    """What chunks must share to be in one array: type, codecs, fill value, and the attributes that say how to decode values."""

    data_type: str | Json
    codecs: tuple[Json, ...]
    fill_value: Any
    decoding: tuple[tuple[str, Any], ...] = ()

    def difference(self, other: Form) -> str:
        """Describe the first difference, or return an empty text."""
        ours, theirs = dict(self.decoding), dict(other.decoding)
        for name in _DECODING:
            a, b = (_described(name, of[name]) if name in of else "missing" for of in (ours, theirs))
            if a != b:
                return f"attribute {name} is {a} in one array and {b} in another"
        for name in ("data_type", "codecs", "fill_value"):
            a, b = getattr(self, name), getattr(other, name)
            if repr(a) != repr(b):  # NaN equals itself here
                return f"{name.replace('_', ' ')} is {a!r} in one array and {b!r} in another"
        return ""


PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
_DECODING = (*PACKING, "units", "calendar")


def _described(name: str, value: Any) -> str:
    """Return an attribute as text, with the type if values are decoded in that."""
    return f"{value!s} ({np.asarray(value).dtype})" if name in ("scale_factor", "add_offset") else str(value)


def decoding_of(attributes: Json) -> tuple[tuple[str, Any], ...]:
    """Return the attributes that say how to decode values."""
    return tuple((name, attributes[name]) for name in _DECODING if name in attributes)


_NO_VALUES = "A virtual array has no values: name the variable in loadable_variables= of open_virtual, or build a manifest and open that"


class _Unread:
    """Which values are missing. xarray asks when it compares and merges, and needs no answer if references are equal."""

    dtype = np.dtype(bool)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.ndim = shape, len(shape)

    def __and__(self, other: object) -> _Unread:
        return self

    def __invert__(self) -> _Unread:
        return self

    def astype(self, dtype: Any, **options: Any) -> _Unread:  # noqa: ARG002
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        raise Unsupported(_NO_VALUES)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.bitwise_or:
            return inputs[0]
        if ufunc is np.logical_not:
            return self
        raise Unsupported(_NO_VALUES)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where:
            return where(*args, **options)
        raise Unsupported(_NO_VALUES)


class VirtualArray:
    """An array whose chunks are ranges of files. It can be combined and cut at chunks, but has no values."""

    __slots__ = ("axes", "dtype", "form", "refs")

    def __init__(self, dtype: np.dtype[Any], form: Form, axes: Sequence[Axis], refs: npt.NDArray[Any]) -> None:
        self.dtype, self.form, self.axes, self.refs = dtype, form, tuple(axes), refs
        if refs.shape != tuple(len(a.lengths) for a in self.axes):
            raise ValueError(f"{refs.shape} references for chunks of {self.axes}")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(a.size for a in self.axes)

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def chunk_lengths(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the chunks along each axis. xarray takes a member called ``chunks`` for that of dask."""
        return tuple(a.lengths for a in self.axes)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"VirtualArray<shape={self.shape}, dtype={self.dtype}, chunks={self.refs.shape}, missing={self._missing()}>"

    def _repr_inline_(self, max_width: int) -> str:
        return f"{self.refs.size} virtual chunks"[:max_width]

    def _missing(self) -> int:
        return sum(source is None for source in self.refs["source"].flat)

    def with_parts(self, axes: Sequence[Axis], refs: npt.NDArray[Any], form: Form | None = None) -> VirtualArray:
        return VirtualArray(self.dtype, form or self.form, axes, refs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        raise Unsupported(_NO_VALUES)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc in (np.isnan, np.isnat):
            return _Unread(self.shape)
        return NotImplemented

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        handler = _HANDLERS.get(function)
        if handler is None:
            raise Unsupported(f"numpy.{function.__name__} needs values. {_NO_VALUES}")
        return handler(*args, **options)

    def __eq__(self, other: object) -> Any:
        """Compare references, never values. Arrays with other references may have equal values, so that is an error."""
        if not isinstance(other, VirtualArray):
            return NotImplemented
        if self.shape == other.shape and self.is_same(other):
            return np.broadcast_to(np.True_, self.shape)
        raise Usage(
            "virtual arrays are not read to compare them: pass compat='override' to take the first,"
            " or name the variable in loadable_variables= of open_virtual"
        )

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    __hash__ = None  # type: ignore[assignment]

    def is_same(self, other: VirtualArray) -> bool:
        """Whether both have the same references, and decode them alike."""
        return self.axes == other.axes and not self.form.difference(other.form) and bool(np.all(self.refs == other.refs))

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> VirtualArray:  # noqa: ARG002
        wanted = np.dtype(dtype)
        if wanted != self.dtype and not (wanted.kind == self.dtype.kind and wanted.itemsize == 0):  # bytes of any length
            raise Unsupported(f"a virtual array of {self.dtype} cannot be converted to {wanted}: build a manifest, and convert that")
        return self

    def transpose(self, *order: Any) -> VirtualArray:
        given = order[0] if len(order) == 1 and not isinstance(order[0], int) else order
        wanted = tuple(range(self.ndim))[::-1] if not given else tuple(int(k) % self.ndim for k in given)
        if wanted == tuple(range(self.ndim)):
            return self
        codec = {"name": "transpose", "configuration": {"order": [int(k) for k in np.argsort(wanted)]}}
        form = replace(self.form, codecs=(codec, *self.form.codecs))
        return self.with_parts([self.axes[k] for k in wanted], self.refs.transpose(wanted), form)

    def __getitem__(self, key: Any) -> VirtualArray:
        parts = list(key) if isinstance(key, tuple) else [key]
        if any(p is Ellipsis for p in parts):
            at = next(i for i, p in enumerate(parts) if p is Ellipsis)
            parts[at : at + 1] = [slice(None)] * (self.ndim + 1 - len(parts) + sum(p is None for p in parts))
        out, axis = self, 0
        for part in parts:
            if part is None:
                out, axis = expand_dims(out, axis=axis), axis + 1
                continue
            if isinstance(part, slice):
                out = out._slice(axis, part)
            elif np.ndim(part) > 1:
                raise Unsupported(
                    "virtual arrays have selections along one dimension at a time only: build a manifest, and select from that"
                )
            elif np.ndim(part):
                out = out._gather(axis, np.asarray(part))
            else:
                out = out._at(axis, int(part))._squeeze(axis)
                continue
            axis += 1
        return out

    def _at(self, axis: int, index: int) -> VirtualArray:
        size = self.axes[axis].size
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for an axis of {size}")
        return self._slice(axis, slice(index % size, index % size + 1))

    def _squeeze(self, axis: int) -> VirtualArray:
        if self.axes[axis].encoded != (1,):
            raise Unsupported(
                f"{self._position(axis)} is a row of a longer chunk: select it with slice(i, i + 1), which keeps the dimension"
            )
        _check_flat(self.form, "drop a dimension")
        return self.with_parts([a for k, a in enumerate(self.axes) if k != axis], self.refs.squeeze(axis))

    def _position(self, axis: int) -> str:
        return f"the selection along axis {axis}"

    def _slice(self, axis: int, part: slice) -> VirtualArray:
        along = self.axes[axis]
        start, stop, step = part.indices(along.size)
        if step != 1:
            raise Unsupported("virtual arrays have slices of step 1 only: build a manifest, and select from that")
        ends = np.cumsum(along.lengths, dtype=np.int64)
        starts = ends - np.asarray(along.lengths, np.int64)
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, max(stop, start), "left"))
        if stop <= start:
            last = first
        refs = self.refs[(slice(None),) * axis + (slice(first, last),)]
        lengths, encoded = list(along.lengths[first:last]), list(along.encoded[first:last])
        for n in sorted({0, last - first - 1}) if last > first else ():
            begin, end = max(start - int(starts[first + n]), 0), min(stop, int(ends[first + n])) - int(starts[first + n])
            if (begin, end) == (0, lengths[n]):
                continue
            refs = self._cut(refs, axis, n, begin, end, encoded[n])
            lengths[n] = encoded[n] = end - begin
        axes = [*self.axes[:axis], Axis(tuple(lengths), tuple(encoded)), *self.axes[axis + 1 :]]
        return self.with_parts(axes, refs)

    def _cut(self, refs: npt.NDArray[Any], axis: int, n: int, begin: int, end: int, whole: int) -> npt.NDArray[Any]:
        """Return references with only some rows of the n-th chunks along an axis. The chunks must be stored without compression."""
        if [c["name"] for c in self.form.codecs] != ["bytes"] or any(set(a.encoded) - {1} for a in self.axes[:axis]):
            lengths = _short(self.axes[axis].lengths)
            raise Unsupported(
                f"rows {begin} to {end} of a chunk of {whole} along axis {axis} cannot be virtual, because the chunk is compressed or has"
                f" other axes outside: select whole chunks (lengths {lengths}), or build a manifest and select from that"
            )
        row = np.asarray(self.dtype.itemsize, np.int64)
        for later in self.axes[axis + 1 :]:
            row = row[..., None] * np.asarray(later.encoded, np.int64)
        refs = refs.copy()
        some = refs[(slice(None),) * axis + (slice(n, n + 1),)]
        for position in np.ndindex(some.shape):
            size = int(row[position[axis + 1 :]])
            one = some[position]
            if isinstance(one["source"], bytes):
                some[position] = (one["source"][begin * size : end * size], 0, (end - begin) * size)
            elif isinstance(one["source"], Source):
                some[position] = (one["source"], one["offset"] + begin * size, (end - begin) * size)
            elif one["source"] is not None and not isinstance(one["source"], str):
                raise Unsupported("preprocess= is called without positions in files, so it can select whole chunks only")
        return refs

    def _gather(self, axis: int, indices: npt.NDArray[Any]) -> VirtualArray:
        """Select runs of whole chunks. A run of -1 becomes one chunk that xarray is to mask."""
        size = self.axes[axis].size
        if indices.dtype == bool:
            indices = np.flatnonzero(indices)
        if len(outside := indices[(indices < -size) & (indices != -1) | (indices >= size)]):
            raise IndexError(f"index {outside[0]} is out of bounds for an axis of {size}")
        indices = np.where(indices < -1, indices + size, indices)
        masked = indices == -1
        breaks = np.flatnonzero((masked[1:] != masked[:-1]) | ~masked[1:] & (np.diff(indices) != 1)) + 1
        pieces = []
        for run in np.split(indices, breaks) if len(indices) else ():
            if run[0] == -1:
                missing = np.zeros([1 if k == axis else len(a.lengths) for k, a in enumerate(self.axes)], REF)
                missing["source"] = MASKED
                axes = [Axis((len(run),), (len(run),)) if k == axis else a for k, a in enumerate(self.axes)]
                pieces.append(self.with_parts(axes, missing))
            else:
                pieces.append(self._slice(axis, slice(int(run[0]), int(run[-1]) + 1)))
        return concatenate(pieces, axis=axis) if pieces else self._slice(axis, slice(0, 0))


def _short(lengths: tuple[int, ...]) -> str:
    return ", ".join(map(str, lengths[:6])) + (", …" if len(lengths) > 6 else "")


def _check_flat(form: Form, doing: str) -> None:
    for codec in form.codecs:
        if codec["name"] in ("transpose", "sharding_indexed"):
            raise Unsupported(f"cannot {doing}, because codec {codec['name']} depends on the number of dimensions: build the files instead")


def _combinable(arrays: Sequence[VirtualArray], but: int | None) -> VirtualArray:
    """Return the first array, after a check that the others can be beside it along an axis."""
    if not all(isinstance(a, VirtualArray) for a in arrays):
        raise Usage("virtual arrays cannot be combined with loaded ones: open all with the same loadable_variables")
    first = arrays[0]
    for other in arrays[1:]:
        difference = first.form.difference(other.form)
        if not difference and first.ndim != other.ndim:
            difference = f"one array has {first.ndim} dimensions and another {other.ndim}"
        for k, (a, b) in enumerate(zip(first.axes, other.axes, strict=False)):
            if not difference and k != but and a != b:
                difference = f"chunks along axis {k} have lengths {_short(a.encoded)} in one array and {_short(b.encoded)} in another"
        if difference:
            raise Unsupported(
                f"virtual arrays cannot be combined: {difference}. Pass the files to varve_zarr.build, which re-encodes"
                " chunks that differ, or name the variable in loadable_variables= of open_virtual"
            )
    return first


def concatenate(arrays: Sequence[VirtualArray], axis: int = 0, **options: Any) -> VirtualArray:  # noqa: ARG001
    if axis is None:
        raise Unsupported("virtual arrays cannot be flattened")
    arrays = [a for a in arrays if not (isinstance(a, VirtualArray) and a.ndim and a.shape[axis] == 0)] or list(arrays[:1])
    axis %= arrays[0].ndim
    first = _combinable(arrays, axis)
    along = Axis(*(tuple(n for a in arrays for n in getattr(a.axes[axis], part)) for part in ("lengths", "encoded")))
    return first.with_parts([*first.axes[:axis], along, *first.axes[axis + 1 :]], np.concatenate([a.refs for a in arrays], axis=axis))


def expand_dims(array: VirtualArray, axis: int = 0) -> VirtualArray:
    _check_flat(array.form, "add a dimension")
    axis %= array.ndim + 1
    return array.with_parts([*array.axes[:axis], Axis((1,), (1,)), *array.axes[axis:]], np.expand_dims(array.refs, axis))


def stack(arrays: Sequence[VirtualArray], axis: int = 0, **options: Any) -> VirtualArray:  # noqa: ARG001
    return concatenate([expand_dims(a, axis=axis) for a in arrays], axis=axis % (arrays[0].ndim + 1))


def broadcast_to(array: VirtualArray, shape: Sequence[int], **options: Any) -> VirtualArray:  # noqa: ARG001
    """Repeat the references along new axes, and along axes of one element."""
    while array.ndim < len(shape):
        array = expand_dims(array)
    axes, counts = list(array.axes), list(array.refs.shape)
    for k, (a, n) in enumerate(zip(array.axes, shape, strict=True)):
        if a.size == n:
            continue
        if a.encoded != (1,):
            raise Usage(f"an axis of {a.size} in chunks of {_short(a.encoded)} cannot be broadcast to {n}")
        axes[k], counts[k] = Axis((1,) * n, (1,) * n), n
    return array.with_parts(axes, np.broadcast_to(array.refs, counts))


def full_like(array: VirtualArray, fill_value: Any, dtype: Any = None, **options: Any) -> Any:  # noqa: ARG001
    """Return one value in the shape of an array, without its memory. xarray asks so which integers are missing."""
    if (
        fill_value is False
        and dtype is not None
        and np.dtype(dtype) == bool
        and {"_FillValue", "missing_value"} & dict(array.form.decoding).keys()
    ):
        return _Unread(array.shape)
    return np.broadcast_to(np.asarray(fill_value, dtype or array.dtype), array.shape)


def where(condition: Any, array: Any, other: Any) -> VirtualArray:
    """Make the chunks missing that xarray masks when it aligns datasets. Missing chunks read as the fill value."""
    if isinstance(condition, _Unread):
        if isinstance(array, VirtualArray) and isinstance(other, VirtualArray) and array.is_same(other):
            return array
        raise Unsupported(_NO_VALUES)
    if isinstance(array, VirtualArray) and np.all(condition):
        return array
    if not isinstance(array, VirtualArray) or np.ndim(other) != 0:
        raise Unsupported("virtual arrays have no values that where() could choose: build a manifest, and use that")
    keep = np.broadcast_to(np.asarray(condition, bool), array.shape)
    masked = np.reshape([source == MASKED if isinstance(source, str) else False for source in array.refs["source"].flat], array.refs.shape)
    for k, a in enumerate(array.axes):
        masked = np.repeat(masked, a.lengths, axis=k)
    if not np.array_equal(~keep, masked):
        raise Unsupported("virtual arrays have no values that where() could choose: build a manifest, and use that")
    fill = fill_of(array)
    value = np.asarray(getattr(other, "value", other))
    if not np.array_equal(value, fill, equal_nan=value.dtype.kind == "f"):
        raise Usage(f"missing chunks of this array read as {fill}, not as {value[()]}: pass fill_value={fill}")
    refs = array.refs.copy()
    for position in np.ndindex(refs.shape):
        if refs[position]["source"] is not None and isinstance(refs[position]["source"], str):
            refs[position] = (None, 0, 0)
    return array.with_parts(array.axes, refs)


def fill_of(array: VirtualArray) -> Any:
    """Return the value of missing chunks."""
    value = array.form.fill_value
    if isinstance(value, str) and array.dtype.kind == "f":
        value = float(value.replace("Infinity", "inf"))
    return array.dtype.type(value)


def result_type(*given: Any) -> np.dtype[Any]:
    """Return the type of the virtual arrays. A scalar that fills missing chunks does not change it."""
    types = {g.dtype for g in given if isinstance(g, VirtualArray)}
    if len(types) > 1:
        named = ", ".join(sorted(map(str, types)))
        raise Unsupported(f"virtual arrays of {named} cannot be combined: pass the files to varve_zarr.build, which converts them")
    array = next(g for g in given if isinstance(g, VirtualArray))
    for g in given:
        if isinstance(g, float | np.floating) and np.isnan(g) and array.dtype.kind != "f":
            raise Usage(
                f"an array of {array.dtype} has no NaN for missing chunks: pass fill_value={fill_of(array)}, as the chunks are encoded"
            )
    return types.pop()


_HANDLERS: dict[Any, Callable[..., Any]] = {
    np.concatenate: concatenate,
    np.stack: stack,
    np.expand_dims: expand_dims,
    np.broadcast_to: broadcast_to,
    np.full_like: full_like,
    np.where: where,
    np.result_type: result_type,
    np.transpose: lambda array, axes=None: array.transpose(axes if axes is not None else ()),
}
