"""A store of zarr-python, for programs that use Zarr rather than xarray."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.abc.store import Store as ZarrStore
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.buffer.core import default_buffer_prototype

from varve_zarr import _dataset
from varve_zarr._dataset import Dataset, Options

if TYPE_CHECKING:
    from typing import Self

_PAGE = 10_000  # keys per request


class Store(ZarrStore):
    """A snapshot of a manifest as a read-only Zarr store.

    Chunks that match the schema are served verbatim, all others re-encoded. Arrays whose chunks have different
    lengths need ``zarr.config.set({"array.rectilinear_chunks": True})``.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        snapshot: str | None = None,
        allow: str | Iterable[str] | None = None,
        download: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(read_only=True)
        self._dataset, _ = _dataset.open_dataset(name, snapshot, Options.from_arguments(allow, download, storage_options))
        self._dataset.opened()

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Self:
        """Return a store for an open dataset."""
        made = cls.__new__(cls)
        ZarrStore.__init__(made, read_only=True)
        made._dataset = dataset
        dataset.opened()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dataset, (self._dataset,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self._dataset.__reduce__() == other._dataset.__reduce__()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"varve_zarr.Store({self._dataset.name!r}, snapshot={self._dataset.snapshot[:12]!r})"

    def with_read_only(self, read_only: bool = False) -> Self:
        if not read_only:
            _refuse()
        return type(self).from_dataset(self._dataset)

    def get_sync(self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the value of a key, or a byte range of it, without an event loop."""
        data = self._dataset.get(key, *_range(byte_range))
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None) -> Buffer | None:
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        return await asyncio.to_thread(self._dataset.get, key, 1, 0, 0) is not None

    async def set(self, key: str, value: Buffer) -> None:  # noqa: ARG002
        _refuse()

    async def delete(self, key: str) -> None:  # noqa: ARG002
        _refuse()

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        start = 0
        while True:
            keys, start = await asyncio.to_thread(self._dataset.keys, prefix, start, _PAGE)
            for key in keys:
                yield key
            if start == 0:
                return

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        below = prefix.strip("/") + "/" if prefix.strip("/") else ""
        seen: set[str] = set()
        async for key in self.list_prefix(below):
            name = key[len(below) :].partition("/")[0]
            if name not in seen:
                seen.add(name)
                yield name

    def close(self) -> None:
        super().close()
        self._dataset.release()


def _range(part: ByteRequest | None) -> tuple[int, int, int]:
    match part:
        case RangeByteRequest(start, end):
            return 1, start, end
        case OffsetByteRequest(offset):
            return 2, offset, 0
        case SuffixByteRequest(suffix):
            return 3, suffix, 0
    return 0, 0, 0


def _refuse() -> NoReturn:
    raise ValueError("varve datasets are read-only: change them with build or append, or copy them with export_zarr")
