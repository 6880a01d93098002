package zarr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"

	"varve/readers"
	"varve/readers/internal/zarrtree"
	"varve/readers/internal/zipdir"
	"varve/readers/source"
	"varve/zarrjson"
)

// isArray reports whether a zarr.json is an array's. An unreadable document counts as an array,
// because it contains no nodes.
func isArray(doc []byte) bool {
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return true
	}
	kind, _ := fields.Get("node_type")
	return string(kind) != `"group"`
}

// store finds chunks by their keys.
type store struct {
	src *source.Source
	zip *zipdir.Directory // the zip file's directory, if the store is a zip file
}

// Open opens a chunk.
func (s store) Open(ctx context.Context, o *readers.Other) (*source.Source, error) {
	return s.src.Member(ctx, strings.TrimPrefix(o.Source, s.src.MemberName("")))
}

// Refs lists the keys of an array's chunks. It lists only folders that can hold chunks, and skips
// other keys.
func (s store) Refs(ctx context.Context, a *zarrtree.Array) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		rank := a.Grid.Rank()
		l := lister{store: s, a: a, ctx: ctx, yield: yield, coords: make([]int64, rank)}
		l.ref.Index = make([]uint64, rank)
		// All keys of an array have the same number of separators, so deeper folders need no
		// listing.
		shortest := a.Doc.Keys.Append(nil, l.coords)
		l.depth = bytes.Count(shortest, []byte("/"))
		if err := l.list("", 0); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("stopped")

// lister lists the chunks of one array.
type lister struct {
	store
	a      *zarrtree.Array
	ctx    context.Context
	depth  int // number of slashes in a chunk's key
	coords []int64
	ref    readers.Ref
	yield  func(*readers.Ref, error) bool
}

// list lists a folder of the array, whose key has the given number of slashes. A chunk is missing only if its name is not
// listed. An entry with the name of a chunk, or of a folder of chunks, that is something else is an error: its chunks
// would silently read as fill values.
func (l *lister) list(folder string, slashes int) error {
	for e, err := range l.src.List(l.ctx, join(l.a.Path, folder)) {
		if err != nil {
			return err
		}
		key := join(folder, e.Name)
		switch {
		case slashes < l.depth && l.canHoldChunks(key, slashes):
			if err = e.Err; err == nil && !e.Folder {
				err = l.wrong(key, errFile)
			}
			if err == nil {
				err = l.list(key, slashes+1)
			}
		case slashes == l.depth && l.a.Chunk(key, l.ref.Index, l.coords):
			if err = e.Err; err == nil && e.Folder {
				err = l.wrong(key, source.ErrFolder)
			}
			if err == nil {
				err = l.emit(key, e)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errFile = errors.New("is a file, not a folder of chunks")

// wrong returns the error of an entry that is neither a chunk nor a folder of chunks.
func (l *lister) wrong(key string, err error) error {
	return &fs.PathError{Op: "list", Path: l.src.MemberName(join(l.a.Path, key)), Err: err}
}

// canHoldChunks reports whether the keys of chunks can begin with the key of a folder.
func (l *lister) canHoldChunks(key string, slashes int) bool {
	first := key + strings.Repeat("/0", l.depth-slashes)
	return l.a.Chunk(first, l.ref.Index, l.coords)
}

func (l *lister) emit(key string, e source.Entry) error {
	l.ref.Size = uint64(e.Size)
	// Chunks in a zip file are ranges of that file, so that clients can read them.
	if l.zip != nil {
		if err := l.locate(join(l.a.Path, key)); err != nil {
			return err
		}
	} else {
		l.ref.Other = &readers.Other{Source: l.src.MemberName(join(l.a.Path, key)), Modified: e.Modified}
	}
	if !l.yield(&l.ref, nil) {
		return errStopped
	}
	return nil
}

// locate sets the ref to the position of a chunk in the zip file, or to its inflated bytes.
func (l *lister) locate(key string) error {
	offset, content, err := l.zip.Locate(l.ctx, key)
	if err != nil {
		return err
	}
	l.ref.Offset, l.ref.Other = offset, nil
	if content != nil {
		l.ref.Other = &readers.Other{Inline: content}
	}
	return nil
}
