// Package icechunk exports a store as an Icechunk 2 repository: versions of a Zarr hierarchy whose chunks are
// ranges of the sources or, if re-encoded, objects of the repository. It writes the files itself, and reads
// those of other writers to append to them.
//
//	repo              the only file that changes: branches, tags, snapshots, configuration
//	snapshots/ID      nodes with their zarr.json; for arrays, the manifests with their refs
//	manifests/ID      refs, by array and chunk
//	transactions/ID   the changes of the snapshot with the same id
//	chunks/ID         re-encoded chunks
//	overwritten/…     earlier versions of repo
//
// Every file except chunks is a header and a FlatBuffers buffer, compressed with zstd:
//
//	"ICE🧊CHUNK"(12)  client(24)  version(1)=2  type(1)  compression(1)=1  │ zstd
//
// The tables and fields follow the schemas of the Icechunk specification 2.1. The function build writes small
// tables. Manifests and logs are large and have fixed layouts, in which all offsets are computed: see
// encodeManifest and transaction.write.
//
// # Order
//
// repo is written last. A new repository is written next to its destination and renamed. An append replaces
// repo only if it has not changed since it was read; otherwise the append fails and removes its files. So
// readers see all of an export or nothing.
//
// # Appending
//
// The metadata of a commit names the manifest snapshot that it exports. The next export merges, node by node,
// three versions: that snapshot, the new one, and the tip of the branch. Only refs that may differ are
// written. Changes of other writers stay; a node that both sides changed is a ConflictError.
package icechunk
