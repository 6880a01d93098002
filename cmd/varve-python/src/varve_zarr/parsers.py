"""Parsers in Python: functions that return references to the chunks of a file, such as the parsers of VirtualiZarr."""

from __future__ import annotations

import base64
import inspect
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from varve_zarr import _dataset
from varve_zarr.errors import Usage

__all__ = ["register_parser"]

Parser = Callable[..., Any]
"""Called with a URL, and with a registry of object stores if it has a second parameter. Returns a ``ManifestStore`` of
VirtualiZarr, or references as kerchunk has them in a dict."""

_parsers: dict[str, Parser] = {}


def register_parser(name: str, function: Parser) -> None:
    """Give a parser a name, for ``parser=`` of ``open_virtual``, ``build``, ``check`` and ``append``."""
    if not callable(function):
        raise Usage(f"parser {name}: {type(function).__name__} is not a function")
    _parsers[name] = function


def parse(parser: str | Parser, file: str, to: IO[str]) -> set[str]:
    """Write the references of a file as JSON, and return the places that they may refer to: the folder of the file."""
    function = _parsers.get(parser) if isinstance(parser, str) else parser
    if function is None:
        raise Usage(
            f"parser={parser!r}: there is no parser with this name; register_parser adds one. There are: {', '.join(_parsers) or 'none'}"
        )
    where = _dataset.absolute(file)
    url = where if "://" in where else f"file://{where}"
    found = function(url, _registry(url)) if _parameters(function) > 1 else function(url)
    if isinstance(found, Mapping):
        refs = dict(found.get("refs", found))
    elif hasattr(found, "_group"):
        refs = dict(_of_group(found._group, ""))
    else:
        raise Usage(
            f"parser={parser!r} returned {type(found).__name__} for {file}: return a ManifestStore of VirtualiZarr, or a dict of references"
        )
    refs = {key: "base64:" + base64.b64encode(value).decode() if isinstance(value, bytes) else value for key, value in refs.items()}
    json.dump({"version": 1, "refs": refs}, to, default=operator.index)  # NumPy's integers
    return {where}


def _parameters(function: Parser) -> int:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in inspect.signature(function).parameters.values())


def _registry(url: str) -> Any:
    """Return a registry of obspec-utils with the store of a URL, from which VirtualiZarr's parsers read."""
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import from_url

    scheme, _, rest = url.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}"
    return ObjectStoreRegistry({root: from_url("file:///" if scheme == "file" else root)})


def _of_group(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a ``ManifestGroup``: documents as text, and chunks as bytes or ranges."""
    yield f"{path}zarr.json", _document(group.metadata)
    for name, below in group.groups.items():
        yield from _of_group(below, f"{path}{name}/")
    for name, array in group.arrays.items():
        yield f"{path}{name}/zarr.json", _document(array.metadata)
        for key, entry in array.manifest.dict().items():
            chunk = "/".join((f"{path}{name}/c", *key.split("."))) if array.ndim else f"{path}{name}/c"
            if "data" in entry:
                yield chunk, "base64:" + base64.b64encode(entry["data"]).decode()
            else:
                yield chunk, [entry["path"], entry["offset"], entry["length"]]


def _document(metadata: Any) -> str:
    from zarr.core.buffer import default_buffer_prototype

    text: str = metadata.to_buffer_dict(default_buffer_prototype())["zarr.json"].to_bytes().decode()
    return text
