package raw

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"varve/readers"
	"varve/readers/internal/naming"
	"varve/readers/internal/zipdir"
	"varve/readers/internal/zipfile"
	"varve/readers/source"
)

const (
	zipMark    = "PK\x03\x04"
	npyEnding  = ".npy"
	maxMembers = 1 << 16 // arrays of a zip file
	zipHeader  = 30
)

// isNpz reports whether a source is a zip file whose first member has a name that ends with .npy.
func isNpz(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() || src.Size() < zipHeader {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, zipHeader)
	if err != nil || string(head[:4]) != zipMark {
		return false, err
	}
	n := int64(binary.LittleEndian.Uint16(head[26:]))
	if src.Size() < zipHeader+n {
		return false, nil
	}
	name, err := src.View(ctx, zipHeader, int(n))
	return err == nil && bytes.HasSuffix(name, []byte(npyEnding)), err
}

// openNpz reads the headers of the members of a zip file. The elements of a member that is only stored are a range of the zip file; those
// of a deflated one are a range of the member.
func openNpz(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "NPZ")
	dir, err := zipfile.Open(ctx, src)
	if err != nil {
		if isDamage(err) {
			err = failure(src, -1, err)
		}
		return nil, err
	}
	entries := dir.Entries()
	if len(entries) > maxMembers {
		return nil, b.refuse(-1, "%d members (limit %d)", len(entries), maxMembers)
	}
	names := naming.New()
	for i := range entries {
		e := &entries[i]
		name, isArray := strings.CutSuffix(e.Name, npyEnding)
		if !isArray {
			b.addProblem("/"+naming.Clean(e.Name), unsupported("the member %q is not an array of NumPy", e.Name))
			continue
		}
		name = names.Take(name, dataName)
		if err := b.addMember(ctx, dir, e, name); err != nil {
			if ctx.Err() != nil || !isDamage(err) {
				return nil, err
			}
			b.addProblem("/"+name, fmt.Errorf("the member %q: %w", e.Name, err))
		}
	}
	b.out.Verify = func(ctx context.Context) error {
		for i := range entries {
			if err := dir.Verify(ctx, src, &entries[i]); err != nil {
				return failure(src, -1, err)
			}
		}
		return nil
	}
	return b.out, nil
}

func (b *builder) addProblem(path string, err error) {
	var located *readers.Error
	if !errors.As(err, &located) {
		err = &readers.Error{Source: b.src.Name(), Path: path, Offset: -1, Err: err}
	}
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

// addMember adds the array of a member.
func (b *builder) addMember(ctx context.Context, dir *zipfile.Directory, e *zipfile.Entry, name string) error {
	at, err := dir.Locate(ctx, b.src, e)
	if err != nil {
		return err
	}
	inside := b.src.Name() + "|zip:" + e.Name
	r := &npyReader{src: b.src, base: at, size: int64(e.Size)}
	if e.IsDeflated() {
		switch {
		case source.IsPacked(b.src.Name()):
			return unsupported("a deflated member of a zip file that is in another file; unpack the outer one")
		case e.CheckSize() != nil:
			return e.CheckSize()
		}
		head, err := e.Read(ctx, b.src, at, maxNpy+16)
		if err != nil {
			return err
		}
		r.src, r.base, r.size = zipdir.InMemory(inside, head, b.src), 0, int64(len(head))
	}
	a, err := readNpy(ctx, b.src, r)
	if err != nil {
		return err
	}
	a.name = name
	for k := range a.dims {
		a.dims[k] = fmt.Sprint(name, "_", a.dims[k]) // nothing says that arrays share axes
	}
	if size, ok := bytesOf(a.shape, a.typ.Size); !ok || a.offset+size != e.Size {
		return b.fail(a.at, "an array of the shape %v and the type %s has %d bytes after its header of %d, but the member %q has %d", a.shape, a.typ, size, a.offset, e.Name, e.Size)
	}
	if a.hasMore = true; !e.IsDeflated() {
		a.offset += uint64(at)
	} else {
		a.in = &file{inside, e.Size, func(ctx context.Context) (*source.Source, error) {
			all, err := e.Read(ctx, b.src, at, e.Size)
			if err != nil {
				return nil, err
			}
			return zipdir.InMemory(inside, all, b.src), nil
		}}
	}
	_, err = b.add(a)
	return err
}
