// Package zarr reads Zarr stores of formats 2 and 3: hierarchies of documents and chunks
// under keys, in a folder or wherever else a source.Folder finds keys.
//
//	zarr.json                    format 3, core specification v3.1
//	sst/zarr.json
//	sst/c/0/3                    a chunk, or a shard of several
//
//	.zgroup .zattrs .zmetadata   format 2
//	sst/.zarray sst/.zattrs
//	sst/0.3                      a chunk
//
// Where the root has consolidated metadata, those describe the hierarchy, as for
// zarr-python; otherwise folders are walked. Either way no chunk is looked at: which exist
// is found by listing, when somebody asks for refs.
//
// A zip file with the same keys is a store too. Chunks that are stored in it are byte ranges of
// the file; deflated ones are inflated as they are listed, up to 64 MiB each.
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
	"varve/readers/source"
)

// Format is the readers.Reader of Zarr stores.
type Format struct{}

// The limits of metadata.
const (
	maxDocument = 256 << 20 // bytes; consolidated metadata of a large hierarchy take that
	maxNodes    = 1 << 18
)

// rootDocuments are the documents of which a hierarchy has one at its root.
var rootDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata"}

// Detect reports whether a folder or a zip file has the documents of a Zarr hierarchy at its
// root.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if !src.IsFolder() {
		return isZip(ctx, src)
	}
	for _, key := range rootDocuments {
		if there, err := has(ctx, src, key); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// isZip reports whether a file is a zip file with the documents of a hierarchy at its root.
func isZip(ctx context.Context, src *source.Source) (bool, error) {
	zip, err := zipdir.IsZip(ctx, src)
	if !zip || err != nil {
		return false, err
	}
	dir, err := zipdir.Open(ctx, src)
	if errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) {
		return zarrAtHead(ctx, src)
	}
	return err == nil && dir.HasDocument(rootDocuments...), err
}

// zarrAtHead reports whether the first entry of a zip file whose directory cannot be read is a
// document of Zarr.
func zarrAtHead(ctx context.Context, src *source.Source) (bool, error) {
	const nameLength, name = 26, 30
	head, err := src.View(ctx, 0, int(min(src.Size(), 1<<10)))
	if err != nil || len(head) < name {
		return false, err
	}
	n := int(binary.LittleEndian.Uint16(head[nameLength:]))
	return n <= len(head)-name && zarrtree.IsDocument(string(head[name:name+n])), nil
}

func has(ctx context.Context, src *source.Source, key string) (bool, error) {
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
func (Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
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
	t := &zarrtree.Tree{Source: src, Format: format, Index: "keys", Chunks: chunks}
	return t.Dataset(w.nodes), ctx.Err()
}

func openZip(ctx context.Context, src *source.Source) (*zipdir.Directory, error) {
	zip, err := zipdir.IsZip(ctx, src)
	if err == nil && !zip {
		err = errors.New("is a file but no zip file, and a Zarr store is a folder")
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
	left  int // how many more folders may be looked at
}

// read returns a document, or nil if there is none.
func (w *walker) read(key string) ([]byte, error) {
	doc, err := w.src.ReadMember(w.ctx, key, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && doc == nil {
		doc = []byte{}
	}
	return doc, err
}

// hierarchy collects the nodes and returns the name of the format.
func (w *walker) hierarchy() (string, error) {
	root, err := w.read("zarr.json")
	if err != nil {
		return "", err
	}
	if root != nil {
		return "Zarr 3", w.consolidatedOr(func() (bool, error) { return w.consolidated(root) })
	}
	return "Zarr 2", w.consolidatedOr(w.consolidatedV2)
}

// consolidatedOr walks the folders if nothing is consolidated.
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
		return w.locate(errors.New("no Zarr store: neither zarr.json nor .zgroup, .zarray or .zmetadata at its root"))
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

// walk looks at a folder and, if it is that of a group, at those in it.
func (w *walker) walk(path string, depth int) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("more than %d folders: %w", maxNodes, errors.ErrUnsupported)
	}
	n, err := w.node(path)
	if err != nil {
		if w.ctx.Err() != nil || path == "" {
			return err
		}
		n = &zarrtree.Node{Path: path, Err: err}
	}
	if n == nil {
		return nil
	}
	w.nodes = append(w.nodes, *n)
	if n.Err != nil || n.Array != nil || n.Zarr != nil && isArray(n.Zarr) {
		return nil
	}
	return w.folders(path, depth)
}

const maxDepth = 64

// folders walks the folders in that of a group, by name.
func (w *walker) folders(path string, depth int) error {
	var names []string
	for e, err := range w.src.List(w.ctx, path) {
		if err != nil {
			return err
		}
		if e.Folder {
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

// join joins two parts of a key, which may be empty.
func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "/" + name
}

// node reads the documents in a folder, which may have none.
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
