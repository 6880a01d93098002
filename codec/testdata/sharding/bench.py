"""Times zarr-python on the shard that BenchmarkShard makes, in memory.

    /path/to/peers/bin/python bench.py
"""
import time

import numpy as np
import zarr
from zarr.codecs import BloscCodec, ZstdCodec
from zarr.storage import MemoryStore

y, x = np.indices((1024, 1024))
values = ((3 * y + x) // 5).astype("f4")
CODECS = {"raw": None, "zstd": ZstdCodec(level=1), "blosc": BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)}
READS = {
    "whole": np.s_[:, :],
    "one inner chunk": np.s_[256:384, 384:512],
    "one row": np.s_[300, :],
    "one element": np.s_[300, 400],
}


def microseconds(read):
    """The median of CPU time over at least 0.3 s of calls."""
    read()
    times, end = [], time.monotonic() + 0.3
    while time.monotonic() < end or len(times) < 5:
        before = time.process_time()
        read()
        times.append(time.process_time() - before)
    return np.median(times) * 1e6


def main(path):
    for name, codec in CODECS.items():
        array = zarr.create_array(MemoryStore(), shape=values.shape, dtype="f4", chunks=(128, 128), shards=values.shape, compressors=codec)
        array[...] = values
        for what, selection in READS.items():
            assert np.array_equal(array[selection], values[selection])
            print(f"{path.rsplit('.')[-1]:26} {name}/{what:16} {microseconds(lambda: array[selection]):10.0f} us")


for path in ("zarr.core.codec_pipeline.BatchedCodecPipeline", "zarr.core.codec_pipeline.FusedCodecPipeline"):
    with zarr.config.set({"codec_pipeline.path": path}):
        main(path)
