// Package kerchunk reads sets of references: Zarr hierarchies whose chunks are byte ranges
// of other files. There are two forms, as fsspec reads them.
//
// A JSON file:
//
//	{"version": 1, "templates": {"u": "s3://bucket"}, "refs": {
//	  ".zgroup": "{\"zarr_format\":2}", "x/.zarray": "{…}", "x/.zattrs": "{…}",
//	  "x/0.0": ["{{u}}/a.nc", 4016, 1032],    a range of a file
//	  "x/0.1": ["b.bin"],                     the whole of one
//	  "x/1.0": "base64:AAAA…"                 or the bytes themselves, in base64 or as text
//	}, "gen": [                               references that a generator makes
//	  {"key": "y/{{i}}", "url": "{{u}}/c.nc", "offset": "{{i * 1000}}", "length": "1000",
//	   "dimensions": {"i": {"stop": 5}}}
//	]}
//
// Version 0 is what "refs" holds, without the rest. Files can be large: they are read once
// for the documents and for where the entries of each array are, and that part once more
// when somebody asks for an array's refs.
//
// A folder of Parquet files:
//
//	.zmetadata          {"metadata": {".zgroup": {…}, "x/.zarray": {…}}, "record_size": 100000}
//	x/refs.0.parq       a row a chunk, in C order: path, offset, size, raw
//	x/refs.1.parq       chunks from number record_size on
//
// The sources that refs name are opened only to read values, and only where they lie in the
// folder that the set stands in or in one that Format allows.
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
	Allow []string // folders of which files may be read, besides the one of the set
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
	where := reach(append([]string{folderOf(src.Name())}, f.Allow...))
	if src.IsFolder() {
		return openParquet(ctx, src, where)
	}
	x, err := buildIndex(ctx, src)
	if err != nil {
		return nil, err
	}
	nodes := x.entries().documents.Nodes()
	if len(nodes) == 0 {
		return nil, &readers.Error{Source: src.Name(), Offset: -1, Err: readers.Corruptf("no references of kerchunk: no document of Zarr is among the entries")}
	}
	set := &jsonSet{src: src, index: x, reach: where}
	t := &zarrtree.Tree{Source: src, Format: "kerchunk JSON", Index: "references", Chunks: set}
	return t.Dataset(nodes), ctx.Err()
}

// folderOf is the folder in which a file or a folder lies.
func folderOf(name string) string {
	path, err := source.LocalPath(name)
	if err != nil {
		return name
	}
	return filepath.Dir(filepath.Clean(path))
}

// reach is where sources may be that refs name.
type reach []string

// Open opens a source that a ref names.
func (r reach) Open(ctx context.Context, o *readers.Other) (*source.Source, error) {
	return source.OpenWithin(ctx, o.Source, r...)
}

// maxHead is how much of a JSON file is looked at to tell what it is.
const maxHead = 1 << 20

// detectJSON reports whether a file begins with an object that has "refs" among its first
// members, or else with the entries of version 0.
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
			if !found && chunkLike(name[strings.LastIndexByte(name, '/')+1:]) && c == '[' {
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

// storageError leaves out what is only wrong with the text.
func storageError(err error) error {
	if corrupt(err) {
		return nil
	}
	return err
}

func openError(src *source.Source, format string, args ...any) error {
	return &readers.Error{Source: src.Name(), Offset: -1, Err: fmt.Errorf(format, args...)}
}
