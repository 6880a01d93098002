// Package zarr reads Zarr stores of formats 2 and 3: hierarchies of metadata documents and chunks
// under keys, in a folder or in another source with members.
//
//	zarr.json                    format 3, core specification v3.1
//	sst/zarr.json
//	sst/c/0/3                    a chunk, or a shard of several
//
//	.zgroup .zattrs .zmetadata   format 2
//	sst/.zarray sst/.zattrs
//	sst/0.3                      a chunk
//
// If the root has consolidated metadata, these describe the hierarchy, as in zarr-python; otherwise
// the package walks the folders. Opening a store does not look at chunks: Refs lists the existing
// ones on request.
//
// A zip file with the same keys is also a store. Stored chunks are byte ranges of the file;
// deflated chunks are inflated when they are listed, up to 64 MiB each.
package zarr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve/readers"
	"varve/readers/internal/zarrtree"
	"varve/readers/internal/zipdir"
	"varve/readers/internal/zipfile"
	"varve/readers/source"
)

// Format is the readers.Reader of Zarr stores.
type Format struct {
	KeepShards bool // shards are the chunks of sharded arrays
}

// Info describes the format. The attribute is xarray's, for the names of dimensions.
func Info() readers.Format {
	return readers.Format{
		Name: "Zarr", Suffixes: []string{".zarr", ".zip"}, Detect: Format{}.Detect, Options: []readers.Option{zarrtree.KeepShards},
		OwnAttributes: []string{"_ARRAY_DIMENSIONS"},
		New:           func(c *readers.Config) readers.Reader { return Format{c.Settings.Switch(zarrtree.KeepShards.Name)} },
	}
}

// Limits of metadata.
const (
	maxDocument = 256 << 20 // bytes; consolidated metadata of large hierarchies are this large
	maxNodes    = 1 << 18
)

// rootDocuments lists documents; a hierarchy has at least one of them at its root.
var rootDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata"}

// Detect reports whether a folder or a zip file has the documents of a Zarr hierarchy at its root.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if !src.IsFolder() {
		return isZip(ctx, src)
	}
	for _, key := range rootDocuments {
		if there, err := hasMember(ctx, src, key); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// isZip reports whether a file is a zip file with the documents of a hierarchy at its root.
func isZip(ctx context.Context, src *source.Source) (bool, error) {
	zip, err := zipfile.IsZip(ctx, src)
	if !zip || err != nil {
		return false, err
	}
	dir, err := zipdir.Open(ctx, src)
	if errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) {
		return startsWithDocument(ctx, src)
	}
	return err == nil && dir.HasDocument(rootDocuments...), err
}

// startsWithDocument reports whether the first entry of a zip file with an unreadable directory is a Zarr
// document.
func startsWithDocument(ctx context.Context, src *source.Source) (bool, error) {
	const nameLength, name = 26, 30
	head, err := src.View(ctx, 0, int(min(src.Size(), 1<<10)))
	if err != nil || len(head) < name {
		return false, err
	}
	n := int(binary.LittleEndian.Uint16(head[nameLength:]))
	return n <= len(head)-name && zarrtree.IsDocument(string(head[name:name+n])), nil
}

func hasMember(ctx context.Context, src *source.Source, key string) (bool, error) {
	m, err := src.Member(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, m.Close()
}

// Open reads the documents of a store.
func (f Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	chunks := store{src: src}
	if !src.IsFolder() {
		dir, err := openZip(ctx, src)
		if err != nil {
			return nil, err
		}
		chunks = store{src: dir.Folder(), zip: dir}
	}
	w := walker{ctx: ctx, src: chunks.src}
	format, err := w.hierarchy()
	if err != nil {
		return nil, err
	}
	t := &zarrtree.Tree{Source: src, Format: format, Index: "keys", Chunks: chunks, KeepShards: f.KeepShards}
	data := t.Dataset(w.nodes)
	if chunks.zip != nil {
		data.Verify = chunks.zip.Verify
	}
	return data, ctx.Err()
}

func openZip(ctx context.Context, src *source.Source) (*zipdir.Directory, error) {
	zip, err := zipfile.IsZip(ctx, src)
	if err == nil && !zip {
		err = readers.Corruptf("not a Zarr store: it is neither a folder nor a zip file")
	}
	if err != nil {
		return nil, &readers.Error{Source: src.Name(), Offset: -1, Err: err}
	}
	dir, err := zipdir.Open(ctx, src)
	if err != nil {
		return nil, &readers.Error{Source: src.Name(), Offset: -1, Err: err}
	}
	return dir, nil
}

// walker collects the documents of a hierarchy.
type walker struct {
	ctx   context.Context
	src   *source.Source
	nodes []zarrtree.Node
	left  int // folders that may still be listed
}

// read returns a document, or nil if it does not exist.
func (w *walker) read(key string) ([]byte, error) {
	doc, err := w.src.ReadMember(w.ctx, key, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	// An empty document exists, although it is invalid.
	if err == nil && doc == nil {
		doc = []byte{}
	}
	return doc, err
}

// hierarchy collects the nodes and returns the name of the format.
func (w *walker) hierarchy() (string, error) {
	root, err := w.read("zarr.json")
	if err != nil {
		return "", &readers.Error{Source: w.src.Name(), Path: "/", Offset: -1, Err: err}
	}
	if root != nil {
		return "Zarr 3", w.consolidatedOr(func() (bool, error) { return w.consolidated(root) })
	}
	return "Zarr 2", w.consolidatedOr(w.consolidatedV2)
}

// consolidatedOr walks the folders if there are no consolidated metadata.
func (w *walker) consolidatedOr(consolidated func() (bool, error)) error {
	there, err := consolidated()
	if there || err != nil {
		return w.locate(err)
	}
	w.left = maxNodes
	if err := w.walk("", 0); err != nil {
		return w.locate(err)
	}
	if len(w.nodes) == 0 {
		return w.locate(readers.Corruptf("not a Zarr store: its root has none of zarr.json, .zgroup, .zarray and .zmetadata"))
	}
	return nil
}

func (w *walker) locate(err error) error {
	if err == nil {
		return nil
	}
	return &readers.Error{Source: w.src.Name(), Offset: -1, Err: err}
}

func (w *walker) consolidated(root []byte) (bool, error) {
	nodes, ok, err := zarrtree.Consolidated(root)
	if err != nil || !ok {
		return false, err
	}
	w.nodes = append(nodes, zarrtree.Node{Zarr: root})
	return true, nil
}

func (w *walker) consolidatedV2() (bool, error) {
	doc, err := w.read(".zmetadata")
	if err != nil || doc == nil {
		return false, err
	}
	w.nodes, _, err = zarrtree.V2Consolidated(doc)
	return err == nil, err
}

// walk reads the node in a folder and, if it is a group, those below it.
func (w *walker) walk(path string, depth int) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("more than %d folders: %w", maxNodes, errors.ErrUnsupported)
	}
	n, err := w.node(path)
	if err != nil {
		if w.ctx.Err() != nil || path == "" {
			return err
		}
		// An unreadable node is reported as a problem; the other nodes are still read.
		n = &zarrtree.Node{Path: path, Err: err}
	}
	if n == nil {
		return nil
	}
	w.nodes = append(w.nodes, *n)
	// Below an array there are only chunks.
	if n.Err != nil || n.Array != nil || n.Zarr != nil && isArray(n.Zarr) {
		return nil
	}
	return w.folders(path, depth)
}

const maxDepth = 64

// folders walks the folders in a group's folder, sorted by name.
func (w *walker) folders(path string, depth int) error {
	var names []string
	for e, err := range w.src.List(w.ctx, path) {
		if err != nil {
			return err
		}
		// A link that cannot be followed may have led to a member of the group. Reading its documents fails then.
		if e.Folder || errors.Is(e.Err, source.ErrLink) {
			names = append(names, e.Name)
		}
		if len(names) > w.left {
			return fmt.Errorf("more than %d folders: %w", maxNodes, errors.ErrUnsupported)
		}
	}
	if depth == maxDepth && len(names) > 0 {
		return fmt.Errorf("groups nested deeper than %d: %w", maxDepth, errors.ErrUnsupported)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.walk(join(path, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// join joins two parts of a key. Either may be empty.
func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "/" + name
}

// node returns the node in a folder, or nil if the folder has no documents.
func (w *walker) node(path string) (*zarrtree.Node, error) {
	n := zarrtree.Node{Path: path}
	var err error
	if n.Zarr, err = w.read(join(path, "zarr.json")); n.Zarr != nil || err != nil {
		return &n, err
	}
	if n.Array, err = w.read(join(path, ".zarray")); err != nil {
		return nil, err
	}
	if n.Array == nil {
		if n.Group, err = w.read(join(path, ".zgroup")); n.Group == nil || err != nil {
			return nil, err
		}
	}
	n.Attrs, err = w.read(join(path, ".zattrs"))
	return &n, err
}
