"""Virtual datasets in xarray: open files as references, combine them with xarray, and build a manifest of the result."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray import conventions
from xarray.backends import StoreBackendEntrypoint
from xarray.backends.zarr import FillValueCoder

from varve_zarr import backend, commands, parallel, parsers
from varve_zarr._dataset import ArrayInfo, Dataset, Options, absolute
from varve_zarr._refs import PACKING, REF, Axis, Form, Source, VirtualArray, decoding_of
from varve_zarr.errors import Unsupported, Usage

if TYPE_CHECKING:
    import pandas as pd

    from varve_zarr.report import Manifest

__all__ = ["open_virtual"]


def open_virtual(
    files: Any,
    *,
    loadable_variables: Iterable[str] | None = None,
    drop_variables: str | Iterable[str] | None = None,
    decode_times: Any = True,
    group: str | None = None,
    snapshot: str | None = None,
    allow: str | Iterable[str] | None = None,
    download: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    parser: Any = None,
    **flags: Any,
) -> xr.Dataset:
    """Open files or a manifest as a dataset of references, which ``xr.concat``, ``xr.merge`` and so on combine.

    ``loadable_variables`` are read and decoded; by default these are the coordinates of dimensions. All others keep their
    encoded values and attributes. ``parser`` reads one file: see ``register_parser``. Other keyword arguments are flags of
    ``varve build``, for several files.
    """
    if parser is not None:
        with commands._files_of(files, {"parser": parser, "allow": allow}, storage_options) as (names, access):
            if len(names) != 1:
                raise Usage(f"parser= opens one file at a time, not {len(names)}: combine them with xr.concat, or pass parser= to build")
            return open_virtual(
                names[0],
                loadable_variables=loadable_variables,
                drop_variables=drop_variables,
                decode_times=decode_times,
                group=group,
                allow=access["allow"],
                download=download,
                storage_options=storage_options,
                **flags,
            )
    options = Options.from_arguments(allow, download, storage_options)
    dataset, contents = backend._opened(files, snapshot, options, None, flags)
    store = backend.VarveStore(dataset, contents, group or "/")
    try:
        decoded = StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, decode_times=decode_times)
        loaded = set(decoded.dims) if loadable_variables is None else set(loadable_variables)
        if loaded - set(decoded.variables) - set(decoded.dims):
            missing = ", ".join(sorted(map(str, loaded - set(decoded.variables))))
            raise Usage(f"loadable_variables: no variable {missing}; there are {', '.join(map(str, decoded.variables))}")
        below = ("/" + (group or "").strip("/")).rstrip("/") + "/"
        infos = {a.path.removeprefix(below): a for a in contents.arrays if a.path.startswith(below)}
        return _virtual_of(decoded, loaded, store, infos)
    finally:
        dataset.release()
        backend.discard(dataset)


def _virtual_of(decoded: xr.Dataset, loaded: set[Any], store: backend.VarveStore, infos: Mapping[str, ArrayInfo]) -> xr.Dataset:
    """Return a dataset with the values of some variables, and references instead of those of the others."""
    variables = {}
    inherited: dict[Any, dict[str, Any]] = {}  # bounds have the units of their time, which may be loaded and get others
    for variable in decoded.variables.values():
        of = {**variable.encoding, **variable.attrs}
        if "bounds" in of and "since" in str(of.get("units")):
            inherited[of["bounds"]] = {k: of[k] for k in ("units", "calendar") if k in of}
    for name, variable in decoded.variables.items():
        if name in loaded:
            variables[name] = variable.load()
            continue
        raw = store._variable(infos[str(name)])
        raw.attrs = {**inherited.get(name, {}), **raw.attrs}
        attributes = {k: v for k, v in raw.attrs.items() if k != "coordinates" or "coordinates" not in variable.encoding}
        variables[name] = xr.Variable(raw.dims, _array_of(store._dataset, infos[str(name)], raw.attrs), attributes)
    coords = {name: variables.pop(name) for name in decoded.coords}
    indexed = {name: v for name, v in coords.items() if not isinstance(v._data, VirtualArray)}
    made = xr.Dataset(variables, indexed, decoded.attrs)
    others = {name: v for name, v in coords.items() if name not in indexed}
    return made.assign_coords(xr.Coordinates(others, indexes={})) if others else made


def _array_of(dataset: Dataset, info: ArrayInfo, attributes: Mapping[str, Any]) -> VirtualArray:
    """Return the references of an array of an open dataset."""
    document = json.loads(dataset.get(info.path.strip("/") + "/zarr.json") or b"{}")
    axes = axes_of(document)
    form = Form(document["data_type"], tuple(document["codecs"]), document["fill_value"], decoding_of(dict(attributes)))
    try:
        sources, columns, inline = dataset.refs(info.number)
    except Unsupported as problem:
        raise Unsupported(f"{problem}. Open the files one by one, or name it in loadable_variables= or drop_variables=") from None
    table = np.empty(len(sources) + 2, object)
    table[: len(sources)] = [Source(s["url"], s["size"], s.get("modified"), s.get("etag")) for s in sources]
    refs = np.empty(columns.shape[1], REF)
    refs["source"], refs["offset"], refs["length"] = table[np.where(columns[0] < 0, len(sources), columns[0])], columns[1], columns[2]
    for at in np.flatnonzero(columns[0] == -2):
        start, length = columns[1:, at]
        refs[at] = (inline[start : start + length], 0, length)
    return VirtualArray(info.dtype, form, axes, refs.reshape([len(a.lengths) for a in axes]))


def axes_of(document: Mapping[str, Any]) -> list[Axis]:
    """Return the chunks along each axis of a zarr.json."""
    settings = document["chunk_grid"]["configuration"]
    shapes = settings.get("chunk_shape", settings.get("chunk_shapes"))
    encoded = settings.get("encoded_chunk_shapes", shapes)
    axes = []
    for size, lengths, codec in zip(document["shape"], shapes, encoded, strict=True):
        ends = _lengths(lengths, size)
        data, begin = [], 0
        for n in ends:
            data.append(min(n, size - begin))
            begin += n
        axes.append(Axis(tuple(data), tuple(_lengths(codec, size)[: len(data)] if encoded is not shapes else ends)))
    return axes


def _lengths(lengths: Any, size: int) -> list[int]:
    """Return the length of each chunk. An integer is that of all; a pair in a list is a length and how often it repeats."""
    if isinstance(lengths, int):
        return [lengths] * -(-size // lengths) if lengths else []
    return [n for one in lengths for n in ([one[0]] * one[1] if isinstance(one, list) else [one])]


@xr.register_dataset_accessor("varve")  # type: ignore[no-untyped-call]
class VirtualDataset:
    """What to do with a virtual dataset: ``ds.varve``."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def build(self, out: commands.Path_, **options: Any) -> Manifest:
        """Build a manifest. Options are those of ``varve_zarr.build``."""
        return commands.build(out, self._dataset, **options)

    def to_kerchunk(self, dest: commands.Path_ | dict[str, Any] | None = None, **flags: Any) -> dict[str, Any] | str:
        """Write kerchunk references to a path, and return that; or into a dict, by default a new one."""
        with tempfile.TemporaryDirectory() as room:
            made = self.build(Path(room, "a.varve"))
            if dest is not None and not isinstance(dest, dict):
                return commands.export_kerchunk(made.path, dest, **flags)
            commands.export_kerchunk(made.path, Path(room, "a.json"), inline=1 << 62, **flags)
            filled: dict[str, Any] = {} if dest is None else dest
            filled.update(json.loads(Path(room, "a.json").read_text(encoding="utf-8")))
            return filled

    def to_icechunk(self, session: Any, *, group: str = "", append_dim: str | None = None) -> None:
        """Write the references into an open session of Icechunk, or its store. You commit the session."""
        from varve_zarr._icechunk import write

        write(self._dataset, getattr(session, "store", session), group, append_dim)

    def refs(self, name: str) -> pd.DataFrame:
        """Return a table with a row for each chunk of a virtual variable: coordinates, source, offset and length."""
        import pandas as pd

        variable = self._dataset.variables[name]
        array = variable._data
        if not isinstance(array, VirtualArray):
            raise Usage(f"{name} is not virtual: its values were loaded")
        index = np.indices(array.refs.shape).reshape(array.ndim, array.refs.size)
        flat = array.refs.reshape(-1)
        kinds = ["missing" if s is None else "inline" if isinstance(s, bytes) else "range" for s in flat["source"]]
        urls = [s.url if isinstance(s, Source) else None for s in flat["source"]]
        columns = {str(d): index[k] for k, d in enumerate(variable.dims)}
        return pd.DataFrame({**columns, "kind": kinds, "source": urls, "offset": flat["offset"], "length": flat["length"]})

    def plot_chunks(self, name: str) -> Picture:
        """Return a picture of the chunks of a virtual variable and of how they would be served. Notebooks show it."""
        with tempfile.TemporaryDirectory() as room:
            return Picture(self.build(Path(room, "a.varve")).mosaic(name))


class Picture(str):
    """A picture as SVG."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def _entries(dataset: xr.Dataset) -> Iterator[str]:
    """Yield the references of a dataset as members of a JSON object: documents as Zarr 3 has them, and chunks."""
    attributes, types = json_attributes(dataset.attrs)
    yield _entry("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes, **types})
    for name, variable in dataset.variables.items():
        array, document = encoded(dataset, str(name), variable)
        yield _entry(f"{name}/zarr.json", document)
        start = json.dumps(f"{name}/c")[:-1]
        positions = itertools.product(*([f"/{k}" for k in range(n)] for n in array.refs.shape))
        flat = array.refs.reshape(-1)
        for position, source, offset, length in zip(
            positions, flat["source"].tolist(), flat["offset"].tolist(), flat["length"].tolist(), strict=True
        ):
            if isinstance(source, Source):
                yield f'{start}{"".join(position)}":[{source.quoted},{offset},{length}]'
            elif isinstance(source, bytes):
                yield f'{start}{"".join(position)}":"base64:{base64.b64encode(source).decode()}"'


def _entry(key: str, document: Mapping[str, Any]) -> str:
    return f"{json.dumps(key)}:{json.dumps(json.dumps(document))}"


def encoded(dataset: xr.Dataset, name: str, variable: xr.Variable) -> tuple[VirtualArray, dict[str, Any]]:
    """Return a variable as references, and its zarr.json. A loaded variable is encoded, and becomes one inline chunk."""
    if isinstance(variable._data, VirtualArray):
        array = variable._data
        # xarray drops attributes where datasets differ, but without these the values would be wrong.
        decoding = dict(array.form.decoding)
        is_time = "since" in str(decoding.get("units"))
        attrs = {**{k: v for k, v in decoding.items() if k in PACKING or is_time}, **variable.attrs}
        if any(isinstance(source, str) for source in array.refs["source"].flat):
            raise Usage(f"{name}: an index of -1 selects from its chunks: use slice(-1, None), or fill_value= of reindex")
    else:
        variable = stored(name, variable)
        array, attrs = _inline(name, variable), dict(variable.attrs)
    if name not in dataset.coords and "coordinates" not in attrs:
        beside = [str(c) for c, v in dataset.coords.variables.items() if c not in dataset.dims and set(v.dims) <= set(variable.dims)]
        attrs |= {"coordinates": " ".join(beside)} if beside else {}
    if "_FillValue" in attrs:
        attrs["_FillValue"] = FillValueCoder.encode(attrs["_FillValue"], np.dtype(object) if array.dtype.kind == "O" else array.dtype)
    attributes, types = json_attributes(attrs)
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": array.form.data_type,
        "chunk_grid": chunk_grid(array.axes),
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": array.form.fill_value,
        "codecs": array.form.codecs,
        "attributes": attributes,
        "dimension_names": variable.dims,
        **types,
    }
    return array, document


def stored(name: str, variable: xr.Variable) -> xr.Variable:
    """Encode a loaded variable as its file was, or without packing if that would change its values."""
    for one in (variable, variable.drop_encoding()):
        with contextlib.suppress(OverflowError, ValueError):
            made = conventions.encode_cf_variable(one, name=name)
            if has_values(made, variable):
                return made
    raise Unsupported(f"{name}: its loaded values would change when they are encoded: drop the variable, or do not load it")


def has_values(encoded: xr.Variable, variable: xr.Variable) -> bool:
    """Whether an encoded variable decodes to the values of another."""
    cftime = variable.dtype == object and variable.size > 0 and hasattr(variable.values.flat[0], "calendar")
    times = xr.coders.CFDatetimeCoder(use_cftime=cftime or None) if cftime or variable.dtype.kind == "M" else False
    decoded = conventions.decode_cf_variable("", encoded, decode_times=times, decode_timedelta=variable.dtype.kind == "m")
    same = xr.Variable(decoded.dims, decoded.values).equals(xr.Variable(variable.dims, variable.values))  # type: ignore[no-untyped-call]
    return bool(same)


def _inline(name: str, variable: xr.Variable) -> VirtualArray:
    values = np.asarray(variable.values, order="C")  # np.ascontiguousarray gives scalars a dimension
    if values.dtype.kind in "OUT":
        texts = [str(v).encode() for v in values.reshape(-1)]
        data = len(texts).to_bytes(4, "little") + b"".join(len(t).to_bytes(4, "little") + t for t in texts)
        form, dtype = Form("string", ({"name": "vlen-utf8"},), ""), np.dtype(object)
    elif values.dtype.kind in "iufcb":
        values = values.astype(values.dtype.newbyteorder("<"))
        data, dtype = values.tobytes(), values.dtype
        form = Form(
            dtype.name, ({"name": "bytes", "configuration": {"endian": "little"}},), [0, 0] if dtype.kind == "c" else dtype.type(0).item()
        )
    else:
        raise Unsupported(f"{name}: loaded values of {values.dtype} cannot be references: drop the variable, or do not load it")
    refs = np.empty((1,) * values.ndim, REF)
    refs[...] = np.array((data, 0, len(data)), REF)
    if 0 in values.shape:
        refs = refs[tuple(slice(min(n, 1)) for n in values.shape)]
    return VirtualArray(dtype, form, [Axis((n,) if n else (), (n,) if n else ()) for n in values.shape], refs)


def chunk_grid(axes: Sequence[Axis]) -> dict[str, Any]:
    regular = [a.regular for a in axes]
    if all(n is not None for n in regular):
        return {"name": "regular", "configuration": {"chunk_shape": regular}}
    shown = [a.encoded if n is not None else a.lengths for n, a in zip(regular, axes, strict=True)]
    settings: dict[str, Any] = {"kind": "inline", "chunk_shapes": [_runs(lengths) for lengths in shown]}
    if any(a.encoded != lengths for a, lengths in zip(axes, shown, strict=True)):
        settings["encoded_chunk_shapes"] = [_runs(a.encoded) for a in axes]
    return {"name": "rectilinear", "configuration": settings}


def _runs(lengths: tuple[int, ...]) -> list[list[int]]:
    return [[n, sum(1 for _ in equal)] for n, equal in itertools.groupby(lengths)]


_JSON = (str, bytes, int, float, list, tuple, dict, np.ndarray, np.generic, type(None))


def json_attributes(attributes: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return attributes as JSON has them, and the field with the types of ``float32`` attributes, which JSON has not."""
    plain: dict[str, Any] = {}
    types: dict[str, Any] = {}
    for name, value in attributes.items():
        if not isinstance(value, _JSON):
            raise Usage(f"attribute {name} is {type(value).__name__}: use a text, a number or a list of these")
        if isinstance(value, bytes):
            plain[name] = value.decode("utf-8", "replace")
        elif isinstance(value, np.ndarray | np.generic):
            plain[name] = value.tolist()
            if value.dtype == np.float32:
                types[name] = "float32"
        else:
            plain[name] = value
    return plain, {"attribute_types": {"must_understand": False, **types}} if types else {}


def write_references(
    files: Any, folder: str, names: list[str], parser: Any, preprocess: Any, storage: Mapping[str, Any] | None, flags: Mapping[str, Any]
) -> set[str]:
    """Write the references of a virtual dataset, or of each file, to a folder. Add the names to a list, and return the places of data."""
    urls: set[str] = set()
    if isinstance(files, xr.Dataset):
        with _new(folder, "virtual", names) as file:
            _write(files, file)
        urls.update(sources_of(files))
    else:
        recipes: dict[str, xr.Dataset] = {}
        for name in parallel._expand(files, flags.get("match"), storage):
            with _new(folder, Path(name).stem, names) as file:
                if preprocess is None:
                    urls |= parsers.parse(parser, name, file)
                    continue
                vds = open_virtual(name, loadable_variables=(), parser=parser, storage_options=storage, allow=flags.get("allow"))
                header = _header(vds)
                if header not in recipes:
                    made = preprocess(_stamped(vds))
                    if not isinstance(made, xr.Dataset):
                        raise Usage(f"preprocess= returned {type(made).__name__} for {name}: return a Dataset")
                    recipes[header] = made
                _write(_applied(recipes[header], vds), file)
                urls.update(sources_of(vds))
    local = {name for url in map(absolute, urls) if "://" not in url for name in (url, os.path.realpath(url))}  # a link and its target
    return {os.path.dirname(name) for name in local} | {url.rpartition("/")[0] for url in urls if "://" in url}


@contextlib.contextmanager
def _new(folder: str, stem: str, names: list[str]) -> Iterator[IO[str]]:
    """Open a new file of references, and add its name to a list."""
    descriptor, name = tempfile.mkstemp(".json", f"{stem}-", folder)
    names.append(name)
    with open(descriptor, "w", encoding="utf-8") as file:
        yield file


def _write(dataset: xr.Dataset, file: IO[str]) -> None:
    entries = _entries(dataset)
    versions = {s.url: {"size": s.size, "modified": s.modified, "etag": s.etag} for s in sources_of(dataset).values()}
    known = {url: {key: value for key, value in v.items() if value} for url, v in versions.items()}
    file.write(f'{{"version":1,"sources":{json.dumps(known)},"refs":{{\n' + next(entries))
    file.writelines(f",\n{entry}" for entry in entries)
    file.write("}}\n")


def _header(dataset: xr.Dataset) -> str:
    """Return all that a dataset has but references."""
    documents = {str(name): encoded(dataset, str(name), v)[1] for name, v in dataset.variables.items()}
    return json.dumps([documents, json_attributes(dataset.attrs), list(map(str, dataset.coords))])


@dataclass(frozen=True)
class Stamp:
    """A chunk of a variable, whichever file that is in."""

    variable: str
    index: int


def _stamped(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset with stamps instead of references."""
    out = dataset.copy()
    for name, variable in dataset.variables.items():
        refs = np.zeros(_array(variable).refs.size, REF)
        refs["source"] = [Stamp(str(name), i) for i in range(refs.size)]
        out = _with_refs(out, name, variable, refs)
    return out


def _applied(recipe: xr.Dataset, dataset: xr.Dataset) -> xr.Dataset:
    """Return what ``preprocess`` made of a header, with the references of a file."""
    out = recipe.copy()
    for name, variable in recipe.variables.items():
        if not isinstance(variable._data, VirtualArray):
            continue
        refs = variable._data.refs.reshape(-1).copy()
        for i, stamp in enumerate(refs["source"]):
            if isinstance(stamp, Stamp):
                refs[i] = _array(dataset.variables[stamp.variable]).refs.reshape(-1)[stamp.index]
        out = _with_refs(out, name, variable, refs)
    return out


def _array(variable: xr.Variable) -> VirtualArray:
    array: Any = variable._data
    assert isinstance(array, VirtualArray)
    return array


def _with_refs(dataset: xr.Dataset, name: Any, variable: xr.Variable, refs: npt.NDArray[Any]) -> xr.Dataset:
    """Return a dataset with other references in one of its variables."""
    array = _array(variable)
    made = xr.Variable(variable.dims, array.with_parts(array.axes, refs.reshape(array.refs.shape)), variable.attrs)
    if name in dataset.coords:
        return dataset.assign_coords(xr.Coordinates({name: made}, indexes={}))
    return dataset.assign({name: made})


def sources_of(dataset: xr.Dataset) -> dict[str, Source]:
    """Return the files to which a virtual dataset refers, by URL."""
    arrays: list[Any] = [v._data for v in dataset.variables.values() if isinstance(v._data, VirtualArray)]
    return {s.url: s for a in arrays for s in a.refs["source"].flat if isinstance(s, Source)}


__all__ += ["VirtualDataset", "sources_of", "write_references"]
