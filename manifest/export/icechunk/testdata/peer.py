"""Icechunk's side of the interop tests.

    peer.py read REPO EXPECTED      every array of EXPECTED holds the values it says, through zarr and xarray
    peer.py commit REPO NAME        adds an array of that name and a tag, and changes nothing else
    peer.py change REPO ARRAY       writes one element of an array
    peer.py refused REPO ARRAY      reading an array must fail, because a source has changed
"""

import datetime
import json
import os
import pathlib
import sys
import warnings

os.environ["ICECHUNK_LOG"] = "error"
import icechunk
import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})


def open_repo(path):
    """The repository, with leave to read what its own configuration names."""
    storage = icechunk.local_filesystem_storage(path)
    if moved := os.environ.get("VARVE_MOVED"):
        # The sources of a named container are in another folder now.
        name, _, folder = moved.partition("=")
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{folder}/", icechunk.local_filesystem_store(folder), name=name))
        allow = icechunk.containers_credentials({f"file://{folder}/": icechunk.credentials.LocalFileSystemAccess})
        return icechunk.Repository.open(storage, config=config, authorize_virtual_chunk_access=allow)
    containers = icechunk.Repository.open(storage).config.virtual_chunk_containers or {}
    allow = {prefix: icechunk.credentials.LocalFileSystemAccess for prefix in containers}
    return icechunk.Repository.open(storage, authorize_virtual_chunk_access=icechunk.containers_credentials(allow))


def read(path, expected):
    expected = json.loads(pathlib.Path(expected).read_text())
    repo = open_repo(path)
    session = repo.readonly_session("main")
    root = zarr.open_group(session.store, mode="r")
    for name, e in expected["arrays"].items():
        a = root[name.strip("/")]
        want = np.fromfile(e["values"], "<i4").reshape(e["shape"])
        assert a.shape == want.shape, (name, a.shape)
        assert [list(c) for c in a.read_chunk_sizes] == e["chunks"], (name, a.read_chunk_sizes)
        assert (a[...] == want).all(), (name, a[...].ravel()[:50], want.ravel()[:50])
        group, _, leaf = name.strip("/").rpartition("/")
        ds = xr.open_zarr(session.store, group=group or None, consolidated=False, chunks=None)
        assert (ds[leaf].values == want).all(), name
        assert ds[leaf].attrs["units"] == "K", ds[leaf].attrs
    history = list(repo.ancestry(branch="main"))
    assert [s.message for s in history] == expected["messages"], [s.message for s in history]
    assert all(a.written_at > b.written_at for a, b in zip(history, history[1:]))
    diff = repo.diff(from_snapshot_id=history[1].id, to_snapshot_id=history[0].id)
    updated = {k: sorted(map(list, v)) for k, v in diff.updated_chunks.items()}
    assert updated == expected["updated"], updated
    assert sorted(repo.list_tags()) == expected["tags"], repo.list_tags()
    inspect(repo, history)
    print(len(expected["arrays"]), "arrays,", len(history), "commits,", len(session.all_virtual_chunk_locations()), "virtual refs")


def inspect(repo, history):
    """Has Icechunk look at every file, and find none that nothing leads to."""
    repo.inspect_repo_info()
    for snapshot in history:
        repo.inspect_snapshot(snapshot.id)
        repo.inspect_transaction_log(snapshot.id)
        for manifest in repo.list_manifest_files(snapshot.id):
            repo.inspect_manifest(manifest.id)
    assert len(list(repo.ops_log())) >= len(history), list(repo.ops_log())
    future = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    unused = repo.garbage_collect(future, dry_run=True)
    assert unused.chunks_deleted == unused.manifests_deleted == unused.snapshots_deleted == unused.transaction_logs_deleted == 0, unused


def commit(path, name):
    repo = open_repo(path)
    session = repo.writable_session("main")
    root = zarr.open_group(session.store)
    root.create_array(name, shape=(4,), chunks=(2,), dtype="<i4", attributes={"units": "K"}, dimension_names=["n"])[...] = np.arange(4)
    repo.create_tag("before " + name, snapshot_id=repo.lookup_branch("main"))
    session.commit("add " + name)


def change(path, name):
    repo = open_repo(path)
    session = repo.writable_session("main")
    zarr.open_group(session.store)[name.strip("/")][0, 0] = -7
    session.commit("change " + name)


def refused(path, name):
    session = open_repo(path).readonly_session("main")
    try:
        zarr.open_group(session.store, mode="r")[name.strip("/")][...]
    except Exception as e:
        assert "changed" in str(e) or "modified" in str(e), str(e)
        print(str(e).splitlines()[0])
        return
    sys.exit("changed data was read without an error")


{"read": read, "commit": commit, "change": change, "refused": refused}[sys.argv[1]](*sys.argv[2:])
# Icechunk's threads may still run when the interpreter unloads the C libraries, which then crash.
sys.stdout.flush()
os._exit(0)
