// Package zipdir makes a zip file a folder of its entries.
//
// Stored entries are byte ranges of the file. Deflated ones are inflated in memory, which suits documents and small chunks.
package zipdir

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"strings"

	"varve/readers/internal/zipfile"
	"varve/readers/source"
)

// maxInflated is the largest size of a deflated entry.
const maxInflated = 64 << 20

// Directory is the directory of an archive.
type Directory struct {
	*zipfile.Directory
	src *source.Source
}

// Open reads the directory of an archive.
func Open(ctx context.Context, src *source.Source) (*Directory, error) {
	d, err := zipfile.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	return &Directory{d, src}, nil
}

// Locate returns the offset of an entry's bytes in the archive, or its inflated content.
func (d *Directory) Locate(ctx context.Context, name string) (offset int64, content []byte, err error) {
	e := d.Find(name)
	if e == nil {
		return 0, nil, &fs.PathError{Op: "open", Path: d.src.Name() + "/" + name, Err: fs.ErrNotExist}
	}
	if offset, err = d.Directory.Locate(ctx, d.src, e); err == nil && e.IsDeflated() {
		content, err = d.inflate(ctx, e, offset)
		offset = 0
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", d.src.Name(), err)
	}
	return offset, content, nil
}

// Folder returns the archive as a source that is a folder of its entries.
func (d *Directory) Folder() *source.Source { return source.New(d.src.Name(), folder{d}) }

// folder is a source.Folder over a directory.
type folder struct{ d *Directory }

// Identity returns the identity of the archive.
func (f folder) Identity() source.Identity { return f.d.src.Identity() }

// Close does nothing: the opener of the archive closes it.
func (f folder) Close() error { return nil }

// ReadAt returns an error: a folder has no bytes.
func (f folder) ReadAt(context.Context, []byte, int64) (int, error) { return 0, io.EOF }

// OpenKey opens an entry.
func (f folder) OpenKey(ctx context.Context, key string) (source.Ranges, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	offset, content, err := f.d.Locate(ctx, key)
	if err != nil {
		return nil, err
	}
	if content != nil {
		return memory{content, f.d.src.Identity()}, nil
	}
	return section{f.d.src, f.d.Find(key), offset}, nil
}

// Verify compares the CRC-32 of all entries. It leaves out entries of kinds that nobody can read here.
func (d *Directory) Verify(ctx context.Context) error {
	for i := range d.Entries() {
		if err := d.Directory.Verify(ctx, d.src, &d.Entries()[i]); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("%s: %w", d.src.Name(), err)
		}
	}
	return nil
}

// List yields the entries directly inside a folder of the archive.
func (f folder) List(ctx context.Context, key string) iter.Seq2[source.Entry, error] {
	return func(yield func(source.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(source.Entry{}, err)
			return
		}
		skip, last := 0, ""
		if key != "" {
			skip = len(key) + 1
		}
		for _, e := range f.d.Below(key) {
			name, _, inner := strings.Cut(e.Name[skip:], "/")
			// Entries are sorted, so the entries of one folder are adjacent.
			if inner && name == last {
				continue
			}
			entry := source.Entry{Name: name, Folder: inner}
			if inner {
				last = name
			} else {
				entry.Size = int64(e.Size)
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// section is a stored entry.
type section struct {
	src    *source.Source
	entry  *zipfile.Entry
	offset int64
}

func (s section) Identity() source.Identity {
	id := s.src.Identity()
	id.Size = int64(s.entry.Size)
	return id
}

func (s section) Close() error { return nil }

// ReadAt compares the CRC-32 if it reads the whole entry.
func (s section) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	size := int64(s.entry.Size)
	if off < 0 || off > size || int64(len(p)) > size-off {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.src.ReadAt(ctx, p, s.offset+off)
	if err == nil && int64(n) == size {
		err = s.entry.CheckSum(crc32.ChecksumIEEE(p), s.offset)
	}
	return n, err
}

// memory is an inflated entry.
type memory struct {
	content []byte
	id      source.Identity
}

// InMemory returns a source of the content of an inflated entry. outer is the zip file.
func InMemory(name string, content []byte, outer *source.Source) *source.Source {
	return source.New(name, memory{content, outer.Identity()})
}

func (m memory) Identity() source.Identity {
	m.id.Size = int64(len(m.content))
	return m.id
}

func (m memory) Close() error { return nil }

func (m memory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if off < 0 || off > int64(len(m.content)) || len(p) > len(m.content)-int(off) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, m.content[off:]), nil
}

// inflate reads and inflates a deflated entry, and checks its size and checksum.
func (d *Directory) inflate(ctx context.Context, e *zipfile.Entry, offset int64) ([]byte, error) {
	if e.Size > maxInflated {
		return nil, fmt.Errorf("zip entry %q: deflated entry of %d bytes (limit %d); unpack the file, or store its entries without compression: %w", e.Name, e.Size, maxInflated, errors.ErrUnsupported)
	}
	if err := e.CheckSize(); err != nil {
		return nil, err
	}
	return e.Read(ctx, d.src, offset, e.Size)
}
