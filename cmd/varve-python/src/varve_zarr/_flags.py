"""The types of flags, by command. flags.py writes this file from the help of the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

Text = str | os.PathLike[str]
Texts = Text | Iterable[Text] | Mapping[str, object]
"""A text, several, or a mapping, of which each item becomes KEY=VALUE."""


class SourceFlags(TypedDict, total=False):
    """Flags that append, build, check, compact, export icechunk, export kerchunk, export table, export zarr, index, inspect, refresh, relocate, remove, repair, scan, serve, sync, verify share."""

    access: Texts | None
    """Take credentials from this YAML file, not from VARVE_ACCESS or the config folder."""

    bearer_file: Texts | None
    """Send the token in this file to the servers of all http:// and https:// sources."""

    download: bool | None
    """Fetch whole files from servers that do not support range requests."""

    header: Texts | None
    """Send this header to the servers of all http:// and https:// sources: 'NAME: VALUE'."""


class FormatFlags(TypedDict, total=False):
    """Flags that append, build, check, refresh, repair, scan, sync share."""

    asset: Texts | None
    """Choose the files of --from: an asset's key, a link's type, data or s3 (default data)."""

    config: Texts | None
    """Read flags from this YAML file; flags of the command line take precedence."""

    container: Texts | None
    """Read sources in a container of Icechunk (vcc://NAME/…) from this place, and allow it: NAME=PLACE."""

    from_: Texts | None
    """Read the files of a saved STAC or CMR search too: a JSON file; can be repeated."""

    grib_index: Texts | None
    """Use index files beside GRIB files (.idx, .index): auto, ignore or require (default auto)."""

    grib_template: Texts | None
    """Take message headers from this GRIB file: only index files are read of all others."""

    grib_times: Texts | None
    """Place fields of GRIB files by reference time and step, or by valid time (default reference)."""

    keep_query: Texts | None
    """Store this parameter of URLs, which selects data and is no secret; can be repeated."""

    keep_shards: bool | None
    """Keep the shards of Zarr sources whole, instead of referring to the chunks in them."""

    match: Texts | None
    """In folders, archives and --from, scan only files whose names match this glob."""

    names: Texts | None
    """Name variables of GRIB files as cf (t2m), eccodes (2t) or wgrib2 (TMP) do (default cf)."""

    raw: Texts | None
    """Read files of no known format as arrays: dtype=>f4,shape=720x1440 (offset, order, dims, name)."""

    relative: Texts | None
    """Read sources with relative names in references from this folder or prefix, and allow it."""

    skip_broken: bool | None
    """Leave out files that cannot be read, and list them."""

    tiff_bands: Texts | None
    """Place bands of TIFF files as stored, or first (band, y, x), or last (y, x, band) (default stored)."""

    tiff_sidecars: Texts | None
    """Use files beside local TIFF files (.aux.xml, .tfw, .prj, .ovr, .msk): auto or ignore (default auto)."""

    value_bytes: int | str | None
    """Store coordinates and texts of up to this many bytes a file in the manifest (default 16777216)."""


class CombineFlags(TypedDict, total=False):
    """Flags that append, build, check, refresh, sync share."""

    broadcast: Texts | None
    """Repeat a variable along a dimension that it lacks: ARRAY=DIM; ARRAY may be a glob."""

    chunk_edges: Texts | None
    """Declare chunk lengths: ARRAY:DIM=N or ARRAY:DIM=N,N,N; ARRAY may be a glob."""

    codec_from: Texts | None
    """Declare the codecs and chunk shape of this file."""

    concat: Texts | None
    """Concatenate along these dimensions; DIM=files keeps each file in one piece."""

    coords: Texts | None
    """Take the coordinates of the first file, if files differ: first."""

    curation: Texts | None
    """Change names and attributes as this YAML file says; it also applies to appended files."""

    drop: Texts | None
    """Drop variables that match these globs; @NAME is a group attribute."""

    dtype: Texts | None
    """Declare this data type: ARRAY=TYPE; ARRAY may be a glob."""

    flip: Texts | None
    """Read files backwards that run the other way along these dimensions; or DIM=increasing, =decreasing."""

    group: Texts | None
    """Combine only this group, which becomes the root."""

    inline: int | str | None
    """Store variables of up to this many bytes in the manifest (default 16384)."""

    join: Texts | None
    """Join coordinates that differ in part: HOW or DIM=HOW; exact (default), inner or outer."""

    keep_foreign: bool | None
    """Keep files that share no variable and no grid with the others, as arrays of their own."""

    longitudes: Texts | None
    """Bring longitudes to this range: 0..360 or -180..180."""

    missing: Texts | None
    """Choose what to do if some files lack a variable: fill, drop or refuse (default "fill")."""

    new_dim: Texts | None
    """Add a dimension: NAME=PATTERN on file names, =attr:NAME, =var:NAME or =list:FILE."""

    overlap: Texts | None
    """Choose the file that provides positions of several files: first or last."""

    pad: Texts | None
    """Pad files that are shorter along a dimension, with the fill value: fill."""

    padded: bool | None
    """Record padded chunks inside arrays, so that exports and servers can declare them."""

    recipe: Texts | None
    """Add the options of the recipe with this name; varve recipes lists them."""

    rectilinear: bool | None
    """Declare rectilinear chunk grids, even if a regular grid is possible."""

    rename: Texts | None
    """Rename a variable or dimension: OLD=NEW."""

    repack: Texts | None
    """Pack all files like those with this scale_factor: ARRAY=SCALE; rounds the others."""

    repack_lossy: Texts | None
    """Let --repack change these arrays by more than half of the scale_factor."""

    strict: bool | None
    """Fail if a chunk would be re-encoded."""

    tolerance: float | None
    """Treat numeric coordinates as equal within this absolute tolerance (default 0)."""

    units: Texts | None
    """Combine numbers whose units differ: convert them, declare the first units, or drop the units."""

    vars: Texts | None
    """Keep only variables that match these globs."""


class AppendFlags(SourceFlags, FormatFlags, CombineFlags, total=False):
    """Flags of ``varve append``."""

    allow: Texts | None
    """Let OUT, and files that refer to others, read below this place, as VARVE_ALLOW does."""

    allow_new: bool | None
    """Add variables that no file of OUT has, although they are fill at all old positions."""

    checksum: bool | None
    """Store a checksum of each chunk, which reads verify; reads all data once."""

    index: Texts | None
    """Store access points of large compressed chunks: auto or none (default auto if OUT has any)."""

    keep_scan: Texts | None
    """Store scans in this folder and reuse them, so that a stopped command can continue."""

    message: Texts | None
    """Say in the history why the snapshot was made, instead of how."""

    skip_known: bool | None
    """Skip unchanged files that OUT already has."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class BuildFlags(SourceFlags, FormatFlags, CombineFlags, total=False):
    """Flags of ``varve build``."""

    allow: Texts | None
    """Let files refer to other files below this folder, besides their own folder."""

    checksum: bool | None
    """Store a checksum of each chunk, which reads verify; reads all data once."""

    force: bool | None
    """Replace what OUT holds; its history is kept."""

    index: Texts | None
    """Store access points of large compressed chunks: auto or none (default none)."""

    keep_scan: Texts | None
    """Store scans in this folder and reuse them, so that a stopped command can continue."""

    message: Texts | None
    """Say in the history why the snapshot was made, instead of how."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class CheckFlags(SourceFlags, FormatFlags, CombineFlags, total=False):
    """Flags of ``varve check``."""

    allow: Texts | None
    """Let files refer to other files below this folder, besides their own folder."""

    clients: bool | None
    """Say which Zarr clients read which arrays, and in which view of the server."""

    format: Texts | None
    """Print text, or github: annotations of GitHub Actions (default "text")."""

    keep_scan: Texts | None
    """Store scans in this folder and reuse them, so that a stopped command can continue."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class CompactFlags(SourceFlags, total=False):
    """Flags of ``varve compact``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    chunks: Texts | None
    """Merge chunks along a dimension up to this length: DIM=N."""

    memory: Texts | None
    """Use about this size of memory: bytes, or with KiB, MiB, GiB (default "512MiB")."""

    slice: Texts | None
    """Re-encode only this slice of the chunks, for a run without --slice; the first of ten is 0/10."""

    workers: int | None
    """Re-encode this number of chunks at once (default: number of cores)."""


class ExportIcechunkFlags(SourceFlags, total=False):
    """Flags of ``varve export icechunk``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    branch: Texts | None
    """Commit to this branch (default main)."""

    container: Texts | None
    """Refer to the sources below a folder or prefix by a name, so that they can be moved: NAME=PREFIX."""

    force: bool | None
    """Replace the repository DEST and its history."""

    grib_codec: Texts | None
    """Refer to GRIB messages, for readers with this codec: gribberish."""

    inline: int | str | None
    """Store re-encoded chunks of up to this many bytes in manifests (default 512)."""

    isel: Texts | None
    """Export only these indices: DIM=3, DIM=0:10 or DIM=[1,5,30]; separate several by commas."""

    manifest_chunks: Texts | None
    """Begin another Icechunk manifest after this number of chunks along a dimension: DIM=N."""

    manifest_refs: int | None
    """Put this number of references in each Icechunk manifest (default 65536)."""

    message: Texts | None
    """Use this text as the commit message."""

    padded: bool | None
    """Declare padded chunks inside arrays (encoded_chunk_shapes); needs a build with --padded."""

    rectilinear: bool | None
    """Let an update change regular chunk grids to rectilinear ones."""

    s3_anonymous: bool | None
    """Tell readers that the buckets need no credentials."""

    s3_endpoint: Texts | None
    """Tell readers the URL of the server of these buckets, if it is not AWS."""

    s3_http: bool | None
    """Tell readers that the server has no TLS."""

    s3_path_style: bool | None
    """Tell readers that bucket names are in the path, not in the host name."""

    s3_region: Texts | None
    """Tell readers this region of the buckets with the sources."""

    sel: Texts | None
    """Export only these coordinates: DIM=VALUE, DIM=~NEAREST or DIM=FROM:TO, both included."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    vars: Texts | None
    """Export only these arrays, which may be globs, and their coordinates."""

    workers: int | None
    """Write this number of manifests at once (default: number of cores)."""


class ExportKerchunkFlags(SourceFlags, total=False):
    """Flags of ``varve export kerchunk``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    append: bool | None
    """Update a local DEST that was exported from an earlier snapshot of OUT, in its Zarr format."""

    force: bool | None
    """Replace DEST."""

    grib_codec: Texts | None
    """Refer to GRIB messages, for readers with this codec: grib (kerchunk with eccodes) or gribberish."""

    inline: int | str | None
    """Store re-encoded chunks of up to this many bytes in the references (default 4096)."""

    isel: Texts | None
    """Export only these indices: DIM=3, DIM=0:10 or DIM=[1,5,30]; separate several by commas."""

    no_patch: bool | None
    """Fail if chunks would be re-encoded, and name the arrays."""

    padded: bool | None
    """Declare padded chunks inside arrays (encoded_chunk_shapes); needs a build with --padded."""

    patch_url: Texts | None
    """Refer to the .patches file by this URL, if readers find it elsewhere."""

    record_size: int | None
    """Put this number of chunks in each Parquet file (default 100000)."""

    regular: bool | None
    """Re-encode arrays with chunks of different lengths to a regular grid."""

    relative: Texts | None
    """Name sources relative to this folder or prefix, which readers then choose."""

    sel: Texts | None
    """Export only these coordinates: DIM=VALUE, DIM=~NEAREST or DIM=FROM:TO, both included."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    vars: Texts | None
    """Export only these arrays, which may be globs, and their coordinates."""

    workers: int | None
    """Re-encode this number of chunks at once (default: number of cores)."""


class ExportTableFlags(SourceFlags, total=False):
    """Flags of ``varve export table``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    force: bool | None
    """Replace DEST."""

    isel: Texts | None
    """Export only these indices: DIM=3, DIM=0:10 or DIM=[1,5,30]; separate several by commas."""

    sel: Texts | None
    """Export only these coordinates: DIM=VALUE, DIM=~NEAREST or DIM=FROM:TO, both included."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    vars: Texts | None
    """Export only these arrays, which may be globs, and their coordinates."""


class ExportZarrFlags(SourceFlags, total=False):
    """Flags of ``varve export zarr``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    append: bool | None
    """Add to the copy DEST the chunks that are new in OUT."""

    chunks: Texts | None
    """Declare chunks: [ARRAY:]DIM=N[,DIM=N...], or DIM=N+N+N; ARRAY may be a glob."""

    codec: Texts | None
    """Use this codec, which every client has: zstd, gzip, blosc or none; keep: as in the files (default "keep")."""

    conventions: Texts | None
    """Describe grids by these conventions: spatial, proj, multiscales, or all of these; gdal."""

    dry_run: bool | None
    """Print the plan and write nothing."""

    force: bool | None
    """Replace the copy DEST."""

    format: Texts | None
    """Write this Zarr format: 3 or 2 (default 3)."""

    isel: Texts | None
    """Export only these indices: DIM=3, DIM=0:10 or DIM=[1,5,30]; separate several by commas."""

    memory: Texts | None
    """Use about this size of memory: bytes, or with KiB, MiB, GiB (default "512MiB")."""

    padded: bool | None
    """Declare padded chunks inside arrays (encoded_chunk_shapes); needs a build with --padded."""

    rectilinear: bool | None
    """Let --append change regular chunk grids to rectilinear ones."""

    sel: Texts | None
    """Export only these coordinates: DIM=VALUE, DIM=~NEAREST or DIM=FROM:TO, both included."""

    shards: Texts | None
    """Declare shards of these lengths: [ARRAY:]DIM=N[,DIM=N...]."""

    slice: Texts | None
    """Copy only this slice of the chunks, for a run without --slice; the first of ten is 0/10."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    temp: Texts | None
    """Write temporary blocks to this folder, or to a prefix of an object store (default: TMPDIR)."""

    vars: Texts | None
    """Export only these arrays, which may be globs, and their coordinates."""

    workers: int | None
    """Copy this number of regions at once (default: number of cores; object stores: 16)."""


class GcFlags(TypedDict, total=False):
    """Flags of ``varve gc``."""

    dry_run: bool | None
    """Only list what would be removed."""

    keep: int | None
    """Keep this number of snapshots, the newest ones (default 10)."""

    keep_daily: int | None
    """Also keep the newest snapshot of each of the last days that have one; the number of days."""

    policy: Texts | None
    """Keep this many snapshots and days from now on: keep=N,daily=N, keep=all, or none."""


class IndexFlags(SourceFlags, total=False):
    """Flags of ``varve index``."""

    again: bool | None
    """Replace the access points that chunks have already."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    every: Texts | None
    """Store an access point about every size of decoded bytes, at least 64KiB (default "1MiB")."""

    memory: Texts | None
    """Use about this size of memory: bytes, or with KiB, MiB, GiB (default "512MiB")."""

    remove: bool | None
    """Remove all access points."""

    workers: int | None
    """Decode this number of chunks at once (default: number of cores)."""


class InfoFlags(TypedDict, total=False):
    """Flags of ``varve info``."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    why: bool | None
    """Say why chunks of ARRAY are re-encoded, or why CHUNK is."""


class InspectFlags(SourceFlags, total=False):
    """Flags of ``varve inspect``."""

    allow: Texts | None
    """Let files refer to other files below this folder."""

    checksum: bool | None
    """List every chunk and hash the list (with --json)."""

    match: Texts | None
    """Show only files in folders and archives whose names match this glob."""

    values: bool | None
    """Read every value and hash it (with --json)."""


class RefreshFlags(SourceFlags, FormatFlags, CombineFlags, total=False):
    """Flags of ``varve refresh``."""

    allow: Texts | None
    """Let OUT, and files that refer to others, read below this place, as VARVE_ALLOW does."""

    index: Texts | None
    """Store access points of large compressed chunks: auto or none (default auto if OUT has any)."""

    message: Texts | None
    """Say in the history why the snapshot was made, instead of how."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class RelocateFlags(SourceFlags, total=False):
    """Flags of ``varve relocate``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    deep: bool | None
    """Compare all bytes with the files at the old location."""

    dry_run: bool | None
    """Check all files and change nothing."""

    value_bytes: int | str | None
    """Compare coordinates of up to this many bytes; use the value of build (default 16777216)."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class RemoveFlags(SourceFlags, total=False):
    """Flags of ``varve remove``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    before: Texts | None
    """Remove the files whose times are all before this date, such as 2020-01-01."""

    between: Texts | None
    """Remove the files whose times are all in this range, FROM,TO: at or after FROM, and before TO."""

    message: Texts | None
    """Say in the history why the snapshot was made, instead of how."""


class RepairFlags(SourceFlags, FormatFlags, total=False):
    """Flags of ``varve repair``."""

    allow: Texts | None
    """Let OUT, and files that refer to others, read below this place, as VARVE_ALLOW does."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class RestoreFlags(TypedDict, total=False):
    """Flags of ``varve restore``."""


class ScanFlags(SourceFlags, FormatFlags, total=False):
    """Flags of ``varve scan``."""

    allow: Texts | None
    """Let files refer to other files below this folder, besides their own folder."""

    drop: Texts | None
    """Ignore damaged variables that match these globs; @NAME is a group attribute."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class ServeFlags(SourceFlags, total=False):
    """Flags of ``varve serve``."""

    access_log: Texts | None
    """Append a line for each request to this file; - is standard error."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    base: Texts | None
    """Serve below this path, such as /archive, which a proxy in front must not remove."""

    cache: int | str | None
    """Cache this number of bytes of chunks in memory (default 134217728)."""

    classic: bool | None
    """Make netCDF files of the classic model, for programs without HDF5."""

    connections: int | None
    """Accept this number of connections at once (default 16384)."""

    conventions: Texts | None
    """Describe grids by these conventions: spatial, proj, multiscales, or all of these; gdal."""

    disk_cache: Texts | None
    """Keep chunks that were downloaded or re-encoded in this folder, which no other server uses."""

    disk_cache_size: Texts | None
    """Keep at most this size there: bytes, or with KiB, MiB, GiB, TiB (default "10GiB")."""

    drain: Texts | None
    """Let running requests finish for this time after SIGTERM (default 30s)."""

    filters: Texts | None
    """In netCDF files, keep chunks with these filters: builtin, or any, which may need plugins (default "builtin")."""

    follow: Texts | None
    """Serve a new snapshot if it extends the served one (append), or always (default "append")."""

    listen: Texts | None
    """Listen on HOST:PORT, unix:PATH, or systemd: for a socket of systemd; port 0 chooses a free port (default "127.0.0.1:8000")."""

    log_format: Texts | None
    """Write messages in this format: text or json (default "text")."""

    max_answer: Texts | None
    """Refuse larger answers of OPeNDAP and subsets: bytes, or with KiB, MiB, GiB, TiB (default "2GiB")."""

    padded: bool | None
    """Declare padded chunks inside arrays (encoded_chunk_shapes); needs a build with --padded."""

    per_client: int | None
    """Answer this number of requests of one client at once; 0 means no limit."""

    proxied: bool | None
    """Believe the headers X-Forwarded-For, -Proto and -Host of a proxy in front."""

    reload: Texts | None
    """Check for a new snapshot at this interval; 0 means never (default 1s)."""

    sub_chunks: Texts | None
    """Serve smaller chunks: ARRAY=SHAPE, or auto for all arrays with access points."""

    tls_cert: Texts | None
    """Serve HTTPS with this certificate file, in PEM."""

    tls_client_ca: Texts | None
    """Want certificates of clients, signed by an authority in this file, in PEM."""

    tls_key: Texts | None
    """Use this private key file, in PEM."""

    token_file: Texts | None
    """Want a token of this file, which has a name and a token on each line."""


class SyncFlags(SourceFlags, FormatFlags, CombineFlags, total=False):
    """Flags of ``varve sync``."""

    allow: Texts | None
    """Let OUT, and files that refer to others, read below this place, as VARVE_ALLOW does."""

    events: Texts | None
    """Sync the files that messages in this place name: -, a file, or http://HOST:PORT."""

    index: Texts | None
    """Store access points of large compressed chunks: auto or none (default auto if OUT has any)."""

    max_delete: Texts | None
    """Stop if more than this percentage of the files would be removed (default 20)."""

    message: Texts | None
    """Say in the history why the snapshot was made, instead of how."""

    watch: Texts | None
    """Look for changes again at this interval, such as 30s, until the command is stopped."""

    workers: int | None
    """Read this number of files at once (default: number of cores; from servers: 64)."""


class TagFlags(TypedDict, total=False):
    """Flags of ``varve tag``."""

    delete: bool | None
    """Remove TAG; its snapshot stays until varve gc."""

    force: bool | None
    """Take TAG away from another snapshot."""


class TrustFlags(TypedDict, total=False):
    """Flags of ``varve trust``."""

    dry_run: bool | None
    """Print the places and keep no seal."""

    remove: bool | None
    """Remove the seal that this command kept."""


class VerifyFlags(SourceFlags, total=False):
    """Flags of ``varve verify``."""

    allow: Texts | None
    """Let OUT read below this place, a folder or URL, as VARVE_ALLOW does; or once: varve trust."""

    deep: bool | None
    """Read and decode every chunk."""

    sample: Texts | None
    """Read and decode this percentage of the chunks, such as 1%, at least one."""

    seed: int | None
    """Choose the same chunks as the --sample that printed this number (default random)."""

    slice: Texts | None
    """Check only this slice of the sources, and of the chunks with --deep; the first of ten is 0/10."""

    snapshot: Texts | None
    """Read this snapshot: a tag, an id of varve history, or its first digits; default: current."""

    workers: int | None
    """Read this number of sources or chunks at once (default: number of cores; from servers: 64)."""
