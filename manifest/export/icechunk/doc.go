// Package icechunk writes what a store holds as an Icechunk 2 repository: versions of a Zarr
// hierarchy whose chunks are ranges of the sources or, where they had to be re-encoded, objects
// of the repository. It writes the files itself, and reads those of others to append to them.
//
//	repo              the only file that ever changes: branches, tags, snapshots, configuration
//	snapshots/ID      nodes with their zarr.json; for arrays, which manifests hold their refs
//	manifests/ID      refs, by array and chunk
//	transactions/ID   what the snapshot of that id changed
//	chunks/ID         chunks that were re-encoded
//	overwritten/…     repo as it was before each change
//
// Every file but a chunk is a header and a FlatBuffers buffer in zstd:
//
//	"ICE🧊CHUNK"(12)  client(24)  version(1)=2  type(1)  compression(1)=1  │ zstd
//
// Tables and their fields are those of the schemas of the Icechunk specification 2.1; build
// writes small ones, while manifests and logs, which are large, have layouts of their own in
// which all offsets are arithmetic: see encodeManifest and transaction.write.
//
// # Order
//
// repo is written last. A new repository is made beside its destination and renamed; an
// append replaces repo if it is still the file that was read, else it fails and removes what
// it wrote. So readers see all of an export or nothing.
//
// # Appending
//
// The metadata of a commit says which snapshot of the manifest it is an export of. The next
// export is merged, node by node, from three sides: what that snapshot wanted, what this one
// wants, and what is on the branch. Only refs that may differ are written; what others
// committed stays, and what both sides changed is a ConflictError.
package icechunk
