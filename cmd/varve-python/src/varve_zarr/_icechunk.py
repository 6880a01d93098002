"""Writes virtual datasets into open sessions of Icechunk."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions
from xarray.backends.zarr import FillValueCoder

from varve_zarr import virtual
from varve_zarr._refs import Axis, Form, Source, VirtualArray, decoding_of
from varve_zarr.errors import NotAllowed, Refused, Unsupported, Usage


def write(dataset: xr.Dataset, store: Any, group: str, append_dim: str | None) -> None:
    """Write the metadata, inline chunks and references of a dataset. With ``append_dim``, add them to the arrays that are there."""
    from zarr.core.sync import sync

    sync(_write(dataset, store, group.strip("/"), append_dim))


async def _write(dataset: xr.Dataset, store: Any, group: str, append_dim: str | None) -> None:
    if append_dim is not None and append_dim not in dataset.dims:
        raise Usage(f"append_dim: the dataset has no dimension {append_dim}; it has {', '.join(map(str, dataset.dims))}")
    below = f"{group}/" if group else ""
    planned = []  # nothing is written before all is known to fit
    for name, variable in dataset.variables.items():
        there = await _get(store, f"{below}{name}/zarr.json")
        if append_dim is not None and there is None:
            raise Usage(f"append_dim: the store has no array {below}{name}")
        if append_dim is None and there is not None:
            raise Refused(f"the store has an array {below}{name} already: pass append_dim=, or group= with another name")
        if there is not None and append_dim not in variable.dims:
            continue  # as with append_dim of xarray's to_zarr
        if there is not None and not isinstance(variable._data, VirtualArray):
            variable = _encoded_like(str(name), variable, there)
        array, document = virtual.encoded(dataset, str(name), variable)
        first = [0] * array.ndim
        if there is not None:
            axis = variable.dims.index(append_dim)
            document, first[axis] = _appended(str(name), array, document, there, axis)
        if "encoded_chunk_shapes" in document["chunk_grid"]["configuration"]:
            raise Unsupported(
                f"{name}: a chunk that is not full is inside the array, which readers of Icechunk cannot decode:"
                " use varve build and varve export icechunk"
            )
        planned.append((f"{below}{name}", array, document, first))
    if append_dim is not None:
        async for name in store.list_dir(group):
            there = await _get(store, f"{below}{name}/zarr.json")
            if there and append_dim in (there.get("dimension_names") or ()) and name not in dataset.variables:
                raise Refused(f"append_dim: the dataset has no variable {name}, so that array {below}{name} would be too short")
    else:
        attributes, _ = virtual.json_attributes(dataset.attrs)
        for parent in itertools.accumulate(group.split("/")[:-1], "{}/{}".format) if group else ():
            if await _get(store, f"{parent}/zarr.json") is None:
                await _put(store, f"{parent}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
        await _put(store, f"{below}zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    for path, array, document, first in planned:
        await _put(store, f"{path}/zarr.json", document)
        await _put_chunks(store, path, array, first)


async def _get(store: Any, key: str) -> dict[str, Any] | None:
    from zarr.core.buffer import default_buffer_prototype

    found = await store.get(key, default_buffer_prototype())
    return None if found is None else json.loads(found.to_bytes())


async def _put(store: Any, key: str, document: dict[str, Any]) -> None:
    await _put_bytes(store, key, json.dumps(_plain(document)).encode())


async def _put_bytes(store: Any, key: str, data: bytes) -> None:
    from zarr.core.buffer import default_buffer_prototype

    await store.set(key, default_buffer_prototype().buffer.from_bytes(data))


def _plain(value: Any) -> Any:
    """Return a document without NaN and infinities, which Icechunk refuses. zarr-python writes them as texts too."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k != "attribute_types"}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _encoded_like(name: str, variable: xr.Variable, there: dict[str, Any]) -> xr.Variable:
    """Return loaded values with the encoding of the array to which they are appended: type, units and packing."""
    like = ("units", "calendar", "scale_factor", "add_offset")
    encoding: dict[str, Any] = {k: there["attributes"][k] for k in like if k in there["attributes"]}
    if variable.dtype.kind not in "OUT":
        encoding["dtype"] = np.dtype(there["data_type"])
    if "_FillValue" in there["attributes"] and variable.dtype.kind not in "OUT":
        encoding["_FillValue"] = FillValueCoder.decode(there["attributes"]["_FillValue"], there["data_type"])
    like_it = xr.Variable(variable.dims, variable.values, {k: v for k, v in variable.attrs.items() if k not in encoding}, encoding)
    with contextlib.suppress(OverflowError, ValueError):
        if virtual.has_values(conventions.encode_cf_variable(like_it, name=name), variable):
            return like_it
    raise Refused(f"{name} cannot be appended: its values would change if they were encoded as the stored ones are ({encoding})")


def _appended(name: str, array: VirtualArray, document: dict[str, Any], there: dict[str, Any], axis: int) -> tuple[dict[str, Any], int]:
    """Return the document of the array that is there, with more chunks along an axis, and the number of its chunks before."""
    pair = json.loads(json.dumps(_plain(document))), there
    new_form, old_form = (Form(d["data_type"], tuple(d["codecs"]), d["fill_value"], decoding_of(d["attributes"])) for d in pair)
    difference = new_form.difference(old_form)
    before = virtual.axes_of(there)
    for k, (a, b) in enumerate(zip(array.axes, before, strict=True)):
        if not difference and k != axis and a != b:
            difference = f"chunks along axis {k} have other lengths"
    if difference:
        raise Refused(
            f"{name} cannot be appended: {difference} (new and stored). varve build and varve export icechunk re-encode such chunks"
        )
    old, new = before[axis], array.axes[axis]
    along = Axis(old.lengths + new.lengths, old.encoded + new.encoded)
    axes = [along if k == axis else a for k, a in enumerate(array.axes)]
    grid = virtual.chunk_grid(axes)
    return {**there, "shape": [a.size for a in axes], "chunk_grid": grid}, len(old.lengths)


async def _put_chunks(store: Any, path: str, array: VirtualArray, first: list[int]) -> None:
    for position in np.ndindex(array.refs.shape):
        source = array.refs[position]["source"]
        if isinstance(source, bytes):
            where = "/".join(str(k + n) for k, n in zip(position, first, strict=True))
            await _put_bytes(store, f"{path}/c/{where}" if position else f"{path}/c", source)
    flat = array.refs.reshape(-1)
    times: dict[Any, list[int]] = {}  # one call for all sources with one time
    for i, source in enumerate(flat["source"]):
        if isinstance(source, Source):
            times.setdefault(_version(source), []).append(i)
    for checksum, chosen in times.items():
        locations = [""] * len(flat)
        for i in chosen:
            locations[i] = _url(flat["source"][i].url)
        refused = store.set_virtual_refs_arr(
            array_path=path,
            chunk_grid_shape=array.refs.shape,
            locations=locations,
            offsets=flat["offset"].astype("<u8"),
            lengths=flat["length"].astype("<u8"),
            validate_containers=True,
            arr_offset=tuple(first) if any(first) else None,
            checksum=checksum,
        )
        if refused:
            url = locations[int(np.ravel_multi_index(refused[0], array.refs.shape))]
            raise NotAllowed(f"{url} is below no virtual chunk container of the repository: add one with set_virtual_chunk_container")


def _url(name: str) -> str:
    return name if "://" in name else Path(name).as_uri()


def _version(source: Source) -> Any:
    """Return what Icechunk compares before it reads: an ETag, or a time in whole seconds."""
    if source.etag and source.url.startswith("s3://"):
        return source.etag
    if not source.modified:
        return None
    seconds, _, fraction = source.modified.rstrip("Z").partition(".")
    return datetime.fromisoformat(seconds + "+00:00") + timedelta(seconds=1 if int(fraction or 0) else 0)


__all__ = ["write"]
