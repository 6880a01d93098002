package netcdffile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sort"

	"varve/manifest/store"
)

// Options say what the file may contain.
type Options struct {
	// Classic describes the arrays of the root group as a file of netCDF's classic model, for programs without HDF5. It has no
	// chunks, and is as large as the decoded values.
	Classic bool
	// Plugins also gives chunks unchanged whose filters libhdf5 reads only with plugins, such as zstd. Otherwise they are decoded.
	Plugins bool
}

// Omission is something of the dataset that the file does not have.
type Omission struct {
	Path string // of the array, or of the array or group and an attribute
	Why  error
}

// File is a dataset as one netCDF file. It may be used by any number of goroutines.
type File struct {
	size     int64
	tag      string
	sections []section
	omitted  []Omission
	failed   []Omission
	work     int64
}

// section is a part of the file. Bytes between sections are zeros.
type section struct {
	begin, end int64
	read       func(ctx context.Context, b []byte, off int64) error
}

// layoutVersion is part of the tag: it changes when the same dataset gets other bytes.
const layoutVersion = "1"

// Open describes the datasets of a store as a file. It reads arrays of texts, and the refs of arrays whose chunks are dense, but
// no other values. The file can be read until the store is closed.
func Open(ctx context.Context, st *store.Store, opts *Options) (*File, error) {
	if opts == nil {
		opts = &Options{}
	}
	f := &File{}
	if opts.Classic {
		if err := f.openClassic(ctx, st); err != nil {
			return nil, err
		}
	} else {
		d := &dataset{store: st, opts: opts, recent: &recent{}}
		if err := d.build(ctx); err != nil {
			return nil, err
		}
		f.omitted, f.failed = d.omitted, d.failed
		f.place(d)
	}
	id := fmt.Appendf(nil, "%s\x00%s\x00%+v\x00", st.Snapshot().ID, layoutVersion, *opts)
	for _, o := range f.failed {
		id = fmt.Appendf(id, "%s\x00", o.Path)
	}
	sum := sha256.Sum256(id)
	f.tag = hex.EncodeToString(sum[:16])
	return f, nil
}

// Size returns the number of bytes of the file.
func (f *File) Size() int64 { return f.size }

// Work returns about the largest number of bytes of memory that reading a part of the file takes, beside the part itself.
func (f *File) Work() int64 { return f.work }

// Tag identifies the bytes: files with the same tag are equal.
func (f *File) Tag() string { return f.tag }

// Failed returns the arrays of texts that could not be read when the file was opened. Programs get an error for their values.
func (f *File) Failed() []Omission { return f.failed }

// Omitted returns what the file does not have.
func (f *File) Omitted() []Omission { return f.omitted }

// ReadAt fills b with the bytes at an offset. At the end of the file it returns fewer bytes and io.EOF.
func (f *File) ReadAt(ctx context.Context, b []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d is negative", off)
	}
	if int64(len(b)) > f.size-off {
		b, err = b[:max(f.size-off, 0)], io.EOF
	}
	clear(b)
	end := off + int64(len(b))
	i := sort.Search(len(f.sections), func(i int) bool { return f.sections[i].end > off })
	for ; i < len(f.sections) && f.sections[i].begin < end; i++ {
		s := &f.sections[i]
		from := max(s.begin, off)
		part := b[from-off : min(s.end, end)-off]
		if failed := s.read(ctx, part, from-s.begin); failed != nil {
			return 0, failed
		}
	}
	return len(b), err
}

// place gives everything its address.
func (f *File) place(d *dataset) {
	// Sizes do not depend on addresses. The first pass finds the addresses of objects, the second uses them.
	head := d.encode(0)
	at := int64(len(head))
	f.sections = append(f.sections, section{end: at, read: func(_ context.Context, b []byte, off int64) error {
		copy(b, head[off:])
		return nil
	}})
	add := func(size int64, read func(context.Context, []byte, int64) error) (begin int64) {
		begin = (at + 7) &^ 7
		if at = begin + size; size > 0 {
			f.sections = append(f.sections, section{begin, at, read})
		}
		return begin
	}
	for _, v := range d.variables() {
		if v.index != nil {
			v.index.begin = add(v.index.size(), v.index.read)
		}
	}
	for _, v := range d.variables() {
		if v.area == nil {
			continue
		}
		if c, ok := v.area.chunks.(*arrayChunks); ok {
			f.work = max(f.work, 2*c.size)
		}
		v.area.begin = add(v.area.size(), v.area.read)
		if v.texts != nil {
			v.texts.move(add(int64(len(v.texts.heap.b)), v.texts.readHeap))
		}
	}
	f.size = at
	head = d.encode(f.size)
}
