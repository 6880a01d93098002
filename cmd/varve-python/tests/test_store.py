from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import varve_zarr


@pytest.fixture(autouse=True)
def rectilinear() -> object:
    with zarr.config.set({"array.rectilinear_chunks": True}):
        yield


def test_xarray_reads_it(manifest: str, truth: xr.Dataset) -> None:
    xr.testing.assert_equal(xr.open_dataset(varve_zarr.Store(manifest), engine="zarr", chunks=None).load(), truth)
    xr.testing.assert_equal(xr.open_dataset(varve_zarr.Store(manifest), engine="zarr", chunks=None, consolidated=False).load(), truth)


def test_zarr_reads_it(manifest: str) -> None:
    raw = xr.open_dataset(manifest, engine="varve", chunks=None, mask_and_scale=False, decode_times=False)
    store = varve_zarr.Store(manifest)
    group = zarr.open_group(store, mode="r")
    np.testing.assert_array_equal(group["t2m"][:], raw.t2m.values)
    assert sorted(name for name, _ in group.members()) == ["lat", "lon", "name", "t2m", "time"]
    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}):
        np.testing.assert_array_equal(zarr.open_group(store, mode="r")["t2m"][30:40], raw.t2m[30:40].values)
    again = pickle.loads(pickle.dumps(store))
    assert again == store
    np.testing.assert_array_equal(zarr.open_group(again, mode="r")["t2m"][0], raw.t2m[0].values)


async def _keys(store: varve_zarr.Store, prefix: str) -> list[str]:
    return [key async for key in store.list_prefix(prefix)]


def test_parts_and_listing(manifest: str) -> None:
    import asyncio

    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
    from zarr.core.buffer import default_buffer_prototype

    store, prototype = varve_zarr.Store(manifest), default_buffer_prototype()
    keys = asyncio.run(_keys(store, "t2m/"))
    assert len(keys) == 1 + 3 * 2 * 2
    whole = asyncio.run(store.get("t2m/c/1/1/0", prototype))
    assert whole is not None
    data = whole.to_bytes()

    async def ranges() -> None:
        asked = [RangeByteRequest(2, 9), None, SuffixByteRequest(5), OffsetByteRequest(len(data) - 3)]
        got = await store.get_partial_values(prototype, [("t2m/c/1/1/0", part) for part in asked])
        assert [b.to_bytes() for b in got if b is not None] == [data[2:9], data, data[-5:], data[-3:]]
        assert await store.get("t2m/c/9/9/9", prototype) is None
        assert await store.exists("t2m/zarr.json")
        assert not await store.exists("t2m/nothing")
        assert sorted([name async for name in store.list_dir("")]) == ["lat", "lon", "name", "t2m", "time", "zarr.json"]
        found = {}
        async for batch in store.get_ranges("t2m/c/1/1/0", [RangeByteRequest(0, 4), RangeByteRequest(8, 12)], prototype=prototype):
            found.update({i: b.to_bytes() for i, b in batch if b is not None})
        assert found == {0: data[:4], 1: data[8:12]}
        with pytest.raises(ValueError, match="read-only"):
            await store.set("t2m/c/0/0/0", whole)

    asyncio.run(ranges())


def test_a_copy(manifest: str, tmp_path: Path, truth: xr.Dataset) -> None:
    varve_zarr.export_zarr(manifest, tmp_path / "copy.zarr")
    xr.testing.assert_equal(xr.open_dataset(tmp_path / "copy.zarr", engine="zarr", chunks=None).load(), truth)
