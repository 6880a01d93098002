package icechunk

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
	"varve/readers/icechunk/file"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
)

// chunks finds the chunks of a snapshot.
type chunks struct {
	src    *source.Source
	reach  []string // folders of which files may be read
	arrays map[string]*array

	mu   sync.Mutex
	key  string // of the manifest that was read last
	data []byte // what is in it
}

const (
	maxKept     = 32 << 20 // bytes of the manifest that is kept
	maxLocation = 64 << 10
	chunkFolder = "chunks/"
)

// manifest returns the buffer in a manifest. Arrays often share one, so that the last stays.
func (c *chunks) manifest(ctx context.Context, key string) (*file.Buffer, error) {
	c.mu.Lock()
	data, same := c.data, c.key == key
	c.mu.Unlock()
	if same {
		return file.NewBuffer(data), ctx.Err()
	}
	f, err := readFile(ctx, c.src, key, file.Manifest)
	if err == nil && len(f.Bytes()) <= maxKept {
		c.mu.Lock()
		c.key, c.data = key, f.Bytes()
		c.mu.Unlock()
	}
	return f, err
}

// Refs reads the manifests of an array one after the other.
func (c *chunks) Refs(ctx context.Context, a *zarrtree.Array) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		at := c.arrays[a.Path]
		if at == nil {
			yield(nil, readers.Corruptf("the document is an array's, and the snapshot calls it a group"))
			return
		}
		seen := map[string]bool{}
		for i := range at.manifests {
			m := &at.manifests[i]
			err := readers.Corruptf("the manifest %s stands there twice", m.key)
			if !seen[m.key] {
				seen[m.key] = true
				err = c.refs(ctx, a, at, m, yield)
			}
			if err != nil {
				if !errors.Is(err, errStopped) {
					yield(nil, c.locate(m.key, err))
				}
				return
			}
		}
	}
}

var errStopped = errors.New("stopped")

func (c *chunks) locate(key string, err error) error {
	var located *readers.Error
	if errors.As(err, &located) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &readers.Error{Source: c.src.MemberName(key), Offset: -1, Err: err}
}

// refs yields the refs of an array that are in one manifest.
func (c *chunks) refs(ctx context.Context, a *zarrtree.Array, at *array, m *manifestRef, yield func(*readers.Ref, error) bool) error {
	rank := a.Grid.Rank()
	if len(m.from) != rank {
		return readers.Corruptf("it is about chunks of %d dimensions, of an array of %d", len(m.from), rank)
	}
	f, err := c.manifest(ctx, m.key)
	if err != nil {
		return err
	}
	t := f.Root()
	r := refReader{c: c, f: f, dictionary: t.Bytes(2), index: make([]uint64, rank), counts: a.Grid.Counts()}
	defer r.close()
	list := find(t.Vector(1, 4), at.id)
	for i := range list.N {
		if err := r.read(list.Table(i)); err != nil {
			return err
		}
		if r.outside() || !m.covers(r.index) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(&r.ref, nil) {
			return errStopped
		}
	}
	return f.Err()
}

// find returns the refs of an array in a vector of the table ArrayManifest.
func find(arrays file.Vector, id [8]byte) file.Vector {
	for i := range arrays.N {
		if t := arrays.Table(i); bytes.Equal(t.Struct(0, 8), id[:]) {
			return t.Vector(1, 4)
		}
	}
	return file.Vector{}
}

// refReader reads tables ChunkRef one after the other.
type refReader struct {
	c          *chunks
	f          *file.Buffer
	dictionary []byte
	decoder    *zstd.Decoder // of locations; nil until there is one
	location   []byte
	counts     []int64

	ref   readers.Ref
	index []uint64
	last  *readers.Other // of a source
	any   bool
}

// read reads a ref, which must come behind the one before.
func (r *refReader) read(t file.Table) error {
	index := t.Vector(0, 4)
	if r.f.Err() == nil && index.N != uint64(len(r.index)) {
		return readers.Corruptf("a chunk of %d numbers in an array of %d dimensions", index.N, len(r.index))
	}
	ascending := !r.any
	for k := range r.index {
		n := index.U32(uint64(k))
		if !ascending && n < r.index[k] {
			return readers.Corruptf("refs are out of order")
		}
		ascending = ascending || n > r.index[k]
		r.index[k] = n
	}
	if !ascending && r.f.Err() == nil {
		return readers.Corruptf("chunk %v stands there twice", r.index)
	}
	r.any = true
	r.ref.Index = r.index
	if err := r.place(t); err != nil {
		return fmt.Errorf("chunk %v: %w", r.index, err)
	}
	return r.f.Err()
}

// outside reports whether the array has no such chunk.
func (r *refReader) outside() bool {
	for k, n := range r.index {
		if n >= uint64(r.counts[k]) {
			return true
		}
	}
	return false
}

// place sets where the bytes of a ref are.
func (r *refReader) place(t file.Table) error {
	if inline := t.Vector(1, 1); inline.There {
		data := append([]byte{}, t.Bytes(1)...)
		r.ref.Offset, r.ref.Size, r.ref.Other = 0, uint64(len(data)), &readers.Other{Inline: data}
		return nil
	}
	offset, length := t.U64(2), t.U64(3)
	if offset > 1<<62 || length > 1<<62 {
		return readers.Corruptf("%d bytes from offset %d on", length, offset)
	}
	r.ref.Offset, r.ref.Size = int64(offset), length
	if id := t.Struct(4, 12); id != nil {
		r.source(r.c.src.MemberName(chunkFolder+file.Name(id)), "", time.Time{})
		return nil
	}
	location := t.Bytes(5)
	if location == nil {
		var err error
		if location, err = r.compressed(t); err != nil {
			return err
		}
	}
	var modified time.Time
	if seconds := t.U32(7); seconds > 0 {
		modified = time.Unix(int64(seconds), 0).UTC()
	}
	r.source(named(string(location)), t.Text(6), modified)
	return nil
}

// named is the name of the source at a location. Locations are URLs, and names in object stores are
// not: as in Icechunk a % is itself where no two digits follow.
func named(location string) string {
	if !source.IsObject(location) || !strings.Contains(location, "%") {
		return location
	}
	var b strings.Builder
	for rest := location; rest != ""; {
		plain, behind, escaped := strings.Cut(rest, "%")
		b.WriteString(plain)
		if rest = behind; !escaped {
			break
		}
		if len(rest) >= 2 {
			if c, err := hex.DecodeString(rest[:2]); err == nil {
				b.Write(c)
				rest = rest[2:]
				continue
			}
		}
		b.WriteByte('%')
	}
	return b.String()
}

func (r *refReader) compressed(t file.Table) ([]byte, error) {
	frame := t.Bytes(8)
	if frame == nil && r.f.Err() == nil {
		return nil, readers.Corruptf("neither bytes, nor a chunk of the repository, nor a location")
	}
	var err error
	if r.decoder == nil {
		if r.decoder, err = file.NewDecoder(r.dictionary, maxLocation); err != nil {
			return nil, err
		}
	}
	r.location, err = file.Decompress(r.decoder, frame, r.location[:0])
	return r.location, err
}

func (r *refReader) close() {
	if r.decoder != nil {
		r.decoder.Close()
	}
}

// source sets the source of a ref. Refs that say the same of one share it.
func (r *refReader) source(name, etag string, modified time.Time) {
	if r.last == nil || r.last.Source != name || r.last.ETag != etag || !r.last.Modified.Equal(modified) {
		r.last = &readers.Other{Source: name, ETag: etag, Modified: modified}
	}
	r.ref.Other = r.last
}

// Open opens a chunk of the repository, or a local file that a ref is in if it is where
// files may be read and has not changed.
func (c *chunks) Open(ctx context.Context, o *readers.Other) (*source.Source, error) {
	if id, ok := strings.CutPrefix(o.Source, c.src.MemberName(chunkFolder)); ok {
		return c.src.Member(ctx, chunkFolder+id)
	}
	src, err := source.OpenWithin(ctx, o.Source, c.reach...)
	if err != nil {
		return nil, err
	}
	if err := unchanged(src.Identity(), o); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Source, err), src.Close())
	}
	return src, nil
}

// unchanged holds a source against what a ref says of it. As in Icechunk the ETag decides
// where there is one, and a time of change must not be later.
func unchanged(id source.Identity, o *readers.Other) error {
	switch {
	case o.ETag != "" && id.ETag == "":
		return fmt.Errorf("its ETag has to be %s, and it has none: %w", o.ETag, errors.ErrUnsupported)
	case o.ETag != "" && strings.Trim(id.ETag, `"`) != strings.Trim(o.ETag, `"`):
		return fmt.Errorf("%w: its ETag was %s, now %s", source.ErrChanged, o.ETag, id.ETag)
	case o.ETag == "" && !o.Modified.IsZero() && id.Modified.After(o.Modified):
		return fmt.Errorf("%w: it was not to change after %s, and did at %s", source.ErrChanged,
			o.Modified.Format(time.RFC3339), id.Modified.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
