"""The xarray backend, ``engine="varve"``."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import glob
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xarray import Variable
from xarray.backends import BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.backends.zarr import FillValueCoder
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing

from varve_zarr import _dataset
from varve_zarr._dataset import ArrayInfo, Contents, Dataset, Options, Reader
from varve_zarr.errors import NotFound, Usage

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import xarray as xr


class VarveArray(BackendArray):
    """An array that the varve process reads."""

    def __init__(self, dataset: Dataset, info: ArrayInfo) -> None:
        self.shape = info.shape
        self.dtype = create_vlen_dtype(str) if info.is_text else info.dtype  # type: ignore[no-untyped-call]
        self._reader = Reader(dataset, info.number, info.shape, info.dtype, info.is_text)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        # The varve process selects all that a key can ask for. xarray's explicit_indexing_adapter, which selects
        # the rest in NumPy for backends that cannot, would take as long as a small read.
        if isinstance(key, indexing.VectorizedIndexer):
            return self._reader.points(key.tuple)
        return self._reader.orthogonal(key.tuple)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        return await asyncio.to_thread(self.__getitem__, key)


class VarveStore(AbstractDataStore):
    """One group of a dataset, with values as stored: xarray decodes them."""

    def __init__(self, dataset: Dataset, contents: Contents, group: str) -> None:
        self._dataset, self._contents = dataset, contents
        self._group = "/" + group.strip("/")
        below = self._group.rstrip("/") + "/"
        if self._group not in contents.groups and not any(a.path.startswith(below) for a in contents.arrays):
            raise NotFound(f"{dataset.name} has no group {self._group}; it has {', '.join(groups_of(contents))}")
        self._closed = False
        dataset.opened()

    def get_variables(self) -> dict[str, Variable]:
        return {
            name: self._variable(a)
            for a in self._contents.arrays
            for parent, _, name in (a.path.rpartition("/"),)
            if (parent or "/") == self._group
        }

    def _variable(self, info: ArrayInfo) -> Variable:
        attributes = dict(info.attributes)
        if "_FillValue" in attributes:  # encoded as xarray's engine="zarr" writes it
            fill = FillValueCoder.decode(attributes["_FillValue"], "string" if info.is_text else info.dtype)
            attributes["_FillValue"] = info.dtype.type(fill) if info.dtype.kind in "iufc" else fill
        encoding: dict[str, Any] = {"preferred_chunks": dict(zip(info.dims, info.chunks, strict=True)), "source": self._dataset.name}
        # With it, to_netcdf names another dimension for characters if the texts of an array have become shorter.
        encoding["original_shape"] = info.shape
        if all(isinstance(c, int) for c in info.chunks):
            encoding["chunks"] = info.chunks
        if info.is_text:
            encoding["dtype"] = str  # as xarray's netCDF engines, so that decoding gives arrays of texts, not of objects
        return Variable(info.dims, indexing.LazilyIndexedArray(VarveArray(self._dataset, info)), attributes, encoding)

    def get_attrs(self) -> dict[str, Any]:
        return {k: v for k, v in self._contents.groups.get(self._group, {}).items() if not k.lower().startswith("_nc")}

    def get_dimensions(self) -> dict[str, int]:
        return {str(d): n for v in self.get_variables().values() for d, n in zip(v.dims, v.shape, strict=True)}

    def get_encoding(self) -> dict[str, Any]:
        return {"source": self._dataset.name, "snapshot": self._dataset.snapshot}

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._dataset.release()


def groups_of(contents: Contents) -> list[str]:
    """Return the paths of all groups, root first. Groups that contain only groups are included."""
    paths = {"/"}
    for path in [*contents.groups, *(a.path.rpartition("/")[0] for a in contents.arrays)]:
        while path and path != "/":
            paths.add(path)
            path = path.rpartition("/")[0]
    return sorted(paths)


_DECODING = ("mask_and_scale", "decode_times", "concat_characters", "decode_coords", "use_cftime", "decode_timedelta")


def is_manifest(name: Any) -> bool:
    """Whether a name is a manifest: a folder with the files of a manifest, or a URL that ends in .varve."""
    if not isinstance(name, str | os.PathLike):
        return False
    text = _dataset.absolute(name)
    if "://" in text:
        return text.rstrip("/").endswith(".varve")
    return os.path.isfile(os.path.join(text, "current")) and os.path.isdir(os.path.join(text, "snapshots"))


def _opened(
    name: Any, snapshot: str | None, options: Options, manifest: str | os.PathLike[str] | None, flags: Mapping[str, Any]
) -> tuple[Dataset, Contents]:
    """Open a manifest, or build one from an archive and open that. Without ``manifest`` it is built in a temporary folder."""
    if is_manifest(name) or (isinstance(name, str | os.PathLike) and os.fspath(name).rstrip("/\\").endswith(".varve")):
        if manifest is not None or flags:
            named = ", ".join(f"{k}=" for k in ([] if manifest is None else ["manifest"]) + list(flags))
            raise Usage(f"{os.fspath(name)} is a manifest, so there is nothing to build: leave out {named}, or name the files")
        return _dataset.open_dataset(name, snapshot, options)
    from varve_zarr import commands

    out = manifest if manifest is not None else os.path.join(_temporary_folder(), f"{next(_numbers)}.varve")
    commands.build(out, name, storage_options=dict(options.storage), allow=list(options.allow), download=options.download, **flags)
    return _dataset.open_dataset(out, snapshot, options)


_numbers = itertools.count(1)


@functools.cache
def _temporary_folder() -> str:
    """Return the folder for manifests of archives that have none.

    It is removed when the process ends, or if that is killed, by the next process that makes such a folder.
    """
    _sweep()
    folder = tempfile.mkdtemp(prefix=_FOLDER)
    made_by = os.getpid()
    if fcntl is not None:  # the lock ends with the process, in whatever way that ends
        descriptor = os.open(os.path.join(folder, _LOCK), os.O_CREAT | os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    atexit.register(lambda: os.getpid() == made_by and shutil.rmtree(folder, ignore_errors=True))
    return folder


_FOLDER, _LOCK = "varve-manifests-", "lock"


def discard(dataset: Dataset) -> None:
    """Remove the manifest of a dataset, if it is a temporary one."""
    if os.path.basename(os.path.dirname(dataset.name)).startswith(_FOLDER):
        dataset.close()
        shutil.rmtree(dataset.name, ignore_errors=True)


def _sweep() -> None:
    """Remove the folders of processes that were killed: nobody holds their lock."""
    if fcntl is None:
        return
    for lock in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_FOLDER}*", _LOCK)):
        with contextlib.suppress(OSError), open(lock, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(lock), ignore_errors=True)


class VarveBackendEntrypoint(BackendEntrypoint):
    """Opens manifests, and archives without a manifest."""

    description = "Open virtual datasets with varve"
    url = "https://docs.xarray.dev/en/stable/user-guide/io.html"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables", "use_cftime",
        "decode_timedelta", "group", "snapshot", "allow", "download", "storage_options", "manifest",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether this is a manifest. Archives need ``engine="varve"``, since other engines open their files too."""
        return is_manifest(filename_or_obj)

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        snapshot: str | None = None,
        allow: str | Iterable[str] | None = None,
        download: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        manifest: str | os.PathLike[str] | None = None,
        **flags: Any,
    ) -> xr.Dataset:
        options = Options.from_arguments(allow, download, storage_options)
        dataset, contents = _opened(filename_or_obj, snapshot, options, manifest, flags)
        return StoreBackendEntrypoint().open_dataset(
            VarveStore(dataset, contents, group or "/"),
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        snapshot: str | None = None,
        allow: str | Iterable[str] | None = None,
        download: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        manifest: str | os.PathLike[str] | None = None,
        **others: Any,
    ) -> dict[str, xr.Dataset]:
        decoding = {k: others.pop(k) for k in _DECODING if k in others}
        options = Options.from_arguments(allow, download, storage_options)
        dataset, contents = _opened(filename_or_obj, snapshot, options, manifest, others)
        top = "/" + (group or "").strip("/")
        below = top.rstrip("/") + "/"
        VarveStore(dataset, contents, top).close()  # raises NotFound if the group does not exist
        return {
            "/" + path.removeprefix(top).strip("/"): StoreBackendEntrypoint().open_dataset(
                VarveStore(dataset, contents, path), drop_variables=drop_variables, **decoding
            )
            for path in groups_of(contents)
            if path == top or path.startswith(below)
        }

    def open_datatree(self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **kwargs: Any) -> xr.DataTree:
        from xarray import DataTree

        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **kwargs))
