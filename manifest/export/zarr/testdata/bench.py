"""Times varve's copies beside cp and beside zarr-python with zarrs, in turn.

    bench.py VARVE OUT ARCHIVE ARRAY [ROUNDS]

OUT is a manifest of ARCHIVE's files, and ARRAY the same variable as a Zarr array, for those that read no
netCDF. Medians of wall time and of user + system time; the last column is how much faster the copy of
varve is than the other.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

CHUNKS = (14, 128, 128)
PEER = """
import sys, zarr, numpy as np
zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
src = zarr.open_array(sys.argv[1], mode="r")
dst = zarr.create_array(sys.argv[2], shape=src.shape, dtype=src.dtype, chunks=(14, 128, 128), fill_value=src.fill_value,
                        filters=src.filters, serializer=src.serializer, compressors=src.compressors)
for i in range(0, src.shape[0], 14):
    dst[i:i + 14] = src[i:i + 14]
"""


def timed(argv):
    os.sync()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name, contestants, work, rounds):
    """Everybody writes to a place of its own: ext4 is slow to create files where others were just deleted."""
    times = {who: [] for who in contestants}
    with tempfile.TemporaryDirectory(dir=work) as folder:
        for i in range(rounds):
            for who, argv in contestants.items():
                times[who].append(timed([a.replace("DEST", f"{folder}/{who} {i}") for a in argv]))
    medians = {who: [statistics.median(t[k] for t in ts) for k in (0, 1)] for who, ts in times.items()}
    ours = medians["varve"]
    for who, (wall, cpu) in medians.items():
        print(f"{name:10} {who:14} wall {wall:6.2f} s   CPU {cpu:6.2f} s   ×{wall / ours[0]:.2f} ×{cpu / ours[1]:.2f}", flush=True)


def main(varve, out, archive, array, rounds="5"):
    name = pathlib.Path(array).name
    with tempfile.TemporaryDirectory(dir=pathlib.Path(out).resolve().parent) as work:
        tree = f"{work}/tree"
        subprocess.run([varve, "export", "zarr", out, tree], check=True, stdout=subprocess.DEVNULL)
        row("as it is", {
            "varve": [varve, "export", "zarr", out, "DEST"],
            "cp of files": ["cp", "-r", archive, "DEST"],
            "cp of the copy": ["cp", "-r", tree, "DEST"],
        }, work, int(rounds))
        chunks = ",".join(f"{d}={n}" for d, n in zip(dims(tree, name), CHUNKS))
        row("rechunked", {
            "varve": [varve, "export", "zarr", out, "DEST", "--chunks", f"{name}:{chunks}"],
            "zarrs": [sys.executable, "-c", PEER, array, "DEST"],
        }, work, int(rounds))


def dims(tree, name):
    return json.loads(pathlib.Path(tree, name, "zarr.json").read_text())["dimension_names"]


if __name__ == "__main__":
    main(*sys.argv[1:])
