// Package kerchunk reads sets of references: Zarr hierarchies whose chunks are byte ranges of other
// files. There are two forms, as in fsspec.
//
// A JSON file:
//
//	{"version": 1, "templates": {"u": "s3://bucket"}, "refs": {
//	  ".zgroup": "{\"zarr_format\":2}", "x/.zarray": "{…}", "x/.zattrs": "{…}",
//	  "x/0.0": ["{{u}}/a.nc", 4016, 1032],    a range of a file
//	  "x/0.1": ["b.bin"],                     a whole file
//	  "x/1.0": "base64:AAAA…"                 inline bytes, in base64 or as text
//	}, "gen": [                               a generator of references
//	  {"key": "y/{{i}}", "url": "{{u}}/c.nc", "offset": "{{i * 1000}}", "length": "1000",
//	   "dimensions": {"i": {"stop": 5}}}
//	]}
//
// In version 0 the content of "refs" is the whole file. Files can be large: the package reads them
// once for the documents and the positions of each array's entries, and reads these entries again
// when an array's refs are requested.
//
// A folder of Parquet files:
//
//	.zmetadata          {"metadata": {".zgroup": {…}, "x/.zarray": {…}}, "record_size": 100000}
//	x/refs.0.parq       one row a chunk, in C order: path, offset, size, raw
//	x/refs.1.parq       chunks from number record_size on
//
// The sources in refs are opened only to read values, and only if they are in the folder that
// contains the set, or in one that Format allows.
package kerchunk

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"varve/readers"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
)

// Format is the readers.Reader of sets of references.
type Format struct {
	Allow      []string // folders whose files may be read, besides the folder of the set
	Relative   string   // the folder or prefix to which the names of sources are relative; "" is the working directory
	KeepShards bool     // shards are the chunks of sharded arrays
}

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "kerchunk", Suffixes: []string{".json", ".parq", ".parquet"}, Detect: Format{}.Detect, Options: []readers.Option{zarrtree.KeepShards, relative},
		New: func(c *readers.Config) readers.Reader {
			return Format{Allow: c.Allow, Relative: c.Settings.Word(relative.Name), KeepShards: c.Settings.Switch(zarrtree.KeepShards.Name)}
		},
	}
}

// Detect reports whether a source is a set of references.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() {
		return detectParquet(ctx, src)
	}
	return detectJSON(ctx, src)
}

// Open reads the documents of a set.
func (f Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	where := reach{append([]string{folderOf(src.Name())}, f.Allow...), f.Relative}
	if src.IsFolder() {
		return openParquet(ctx, src, where, f.KeepShards)
	}
	x, err := buildIndex(ctx, src)
	if err != nil {
		return nil, err
	}
	nodes := x.entries().documents.Nodes()
	if len(nodes) == 0 {
		return nil, &readers.Error{Source: src.Name(), Offset: -1, Err: readers.Corruptf("not a set of kerchunk references: no entry is a Zarr document")}
	}
	set := &jsonSet{src: src, index: x, reach: where}
	t := &zarrtree.Tree{Source: src, Format: "kerchunk JSON", Index: "references", Chunks: set, KeepShards: f.KeepShards}
	return t.Dataset(nodes), ctx.Err()
}

// folderOf returns the folder that contains a file, its archive, or a folder.
func folderOf(name string) string {
	name = source.Outer(name)
	path, err := source.LocalPath(name)
	if err != nil {
		return name
	}
	return filepath.Dir(filepath.Clean(path))
}

// maxHead limits the part of a JSON file that detection reads.
const maxHead = 1 << 20

// detectJSON reports whether a file starts with an object that has "refs" among its first members,
// or entries of version 0.
func detectJSON(ctx context.Context, src *source.Source) (bool, error) {
	if src.Size() == 0 {
		return false, ctx.Err()
	}
	if head, err := src.View(ctx, 0, 1); err != nil || !strings.Contains("{ \t\r\n", string(head)) {
		return false, err
	}
	s := newScanner(ctx, src, 0, min(src.Size(), maxHead))
	found := false
	if s.want('{') {
		for first := true; s.err == nil && !found; first = false {
			name, ok := s.next(first)
			if !ok || s.err != nil {
				break
			}
			c := s.peek()
			found = name == "refs" && c == '{' || zarrtree.IsDocument(name) && (c == '"' || c == '{')
			// Large sets of version 0 may have no document near their start.
			if !found && isLikeChunk(name[strings.LastIndexByte(name, '/')+1:]) && c == '[' {
				_, found = parseEntry(s.capture())
				continue
			}
			if !found {
				s.skip()
			}
		}
	}
	if found {
		return true, nil
	}
	return false, storageError(s.err)
}

// storageError returns nil for errors about the content of a source, and other errors unchanged.
func storageError(err error) error {
	if isCorrupt(err) {
		return nil
	}
	return err
}

func openError(src *source.Source, format string, args ...any) error {
	return &readers.Error{Source: src.Name(), Offset: -1, Err: fmt.Errorf(format, args...)}
}
