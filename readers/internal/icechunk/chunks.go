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
	src     *source.Source
	folders []string // folders whose files may be read
	places  containers
	arrays  map[string]*array

	mu   sync.Mutex
	key  string // key of the manifest that was read last
	data []byte // its content
}

const (
	maxKept     = 32 << 20 // bytes of the cached manifest
	maxLocation = 64 << 10
	chunkFolder = "chunks/"
)

// manifest returns the buffer in a manifest. It caches the last one, because arrays often share a
// manifest.
func (c *chunks) manifest(ctx context.Context, key string) (*file.Buffer, error) {
	c.mu.Lock()
	data, same := c.data, c.key == key
	c.mu.Unlock()
	if same {
		return file.NewBuffer(data), ctx.Err()
	}
	f, err := readFile(ctx, c.src, key, file.Manifest)
	// A large manifest is better read twice than kept in memory.
	if err == nil && len(f.Bytes()) <= maxKept {
		c.mu.Lock()
		c.key, c.data = key, f.Bytes()
		c.mu.Unlock()
	}
	return f, err
}

// Refs reads the manifests of an array in order.
func (c *chunks) Refs(ctx context.Context, a *zarrtree.Array) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		at := c.arrays[a.Path]
		if at == nil {
			yield(nil, readers.Corruptf("the document describes an array, but the snapshot a group"))
			return
		}
		seen := map[string]bool{}
		for i := range at.manifests {
			m := &at.manifests[i]
			err := readers.Corruptf("manifest %s is listed twice", m.key)
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
		return readers.Corruptf("manifest has chunks of %d dimensions (the array has %d)", len(m.from), rank)
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
		if r.isOutside() || !m.covers(r.index) {
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

// find returns the refs of an array in a vector of ArrayManifest tables.
func find(arrays file.Vector, id [8]byte) file.Vector {
	for i := range arrays.N {
		if t := arrays.Table(i); bytes.Equal(t.Struct(0, 8), id[:]) {
			return t.Vector(1, 4)
		}
	}
	return file.Vector{}
}

// refReader reads ChunkRef tables in order.
type refReader struct {
	c          *chunks
	f          *file.Buffer
	dictionary []byte
	decoder    *zstd.Decoder // decoder of locations; nil until the first compressed one
	location   []byte
	counts     []int64

	ref     readers.Ref
	index   []uint64
	last    *readers.Other // the source of the last ref
	hasLast bool
}

// read reads a ref, which must be after the previous one in C order.
func (r *refReader) read(t file.Table) error {
	index := t.Vector(0, 4)
	if r.f.Err() == nil && index.N != uint64(len(r.index)) {
		return readers.Corruptf("chunk index has %d numbers (the array has %d dimensions)", index.N, len(r.index))
	}
	ascending := !r.hasLast
	for k := range r.index {
		n := index.U32(uint64(k))
		// Icechunk bisects the refs, so it would not find this one.
		if !ascending && n < r.index[k] {
			return readers.Corruptf("refs are out of order")
		}
		ascending = ascending || n > r.index[k]
		r.index[k] = n
	}
	if !ascending && r.f.Err() == nil {
		return readers.Corruptf("chunk %v is listed twice", r.index)
	}
	r.hasLast = true
	r.ref.Index = r.index
	if err := r.place(t); err != nil {
		return fmt.Errorf("chunk %v: %w", r.index, err)
	}
	return r.f.Err()
}

// isOutside reports whether the chunk is outside the array.
func (r *refReader) isOutside() bool {
	for k, n := range r.index {
		if n >= uint64(r.counts[k]) {
			return true
		}
	}
	return false
}

// place sets the position of a ref.
func (r *refReader) place(t file.Table) error {
	if inline := t.Vector(1, 1); inline.There {
		data := append([]byte{}, t.Bytes(1)...)
		r.ref.Offset, r.ref.Size, r.ref.Other = 0, uint64(len(data)), &readers.Other{Inline: data}
		return nil
	}
	offset, length := t.U64(2), t.U64(3)
	if offset > 1<<62 || length > 1<<62 {
		return readers.Corruptf("%d bytes at offset %d are out of range", length, offset)
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
	name, err := r.c.places.source(string(location))
	r.source(name, t.Text(6), modified)
	return err
}

// sourceName returns the name of the source at a location. Locations are URLs, while names in object
// stores are not: escapes are decoded. As in Icechunk, a % without two hexadecimal digits is kept.
func sourceName(location string) string {
	if !source.IsObject(location) {
		return location
	}
	return unescaped(location)
}

// unescaped decodes the escapes of a URL.
func unescaped(location string) string {
	if !strings.Contains(location, "%") {
		return location
	}
	var b strings.Builder
	for rest := location; rest != ""; {
		plain, after, escaped := strings.Cut(rest, "%")
		b.WriteString(plain)
		if rest = after; !escaped {
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
		return nil, readers.Corruptf("reference has neither bytes nor a chunk id nor a location")
	}
	var err error
	// A decoder is expensive, and many manifests have no compressed locations.
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

// source sets the source of a ref. Consecutive refs to the same state of a source share it.
func (r *refReader) source(name, etag string, modified time.Time) {
	if r.last == nil || r.last.Source != name || r.last.ETag != etag || !r.last.Modified.Equal(modified) {
		r.last = &readers.Other{Source: name, ETag: etag, Modified: modified}
	}
	r.ref.Other = r.last
}

// Open opens a chunk of the repository, or a local file that a ref points to. The file must be in
// an allowed folder and unchanged.
func (c *chunks) Open(ctx context.Context, o *readers.Other) (*source.Source, error) {
	if id, ok := strings.CutPrefix(o.Source, c.src.MemberName(chunkFolder)); ok {
		return c.src.Member(ctx, chunkFolder+id)
	}
	src, err := source.OpenWithin(ctx, o.Source, c.folders...)
	if err != nil {
		return nil, err
	}
	if err := checkUnchanged(src.Identity(), o); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Source, err), src.Close())
	}
	return src, nil
}

// checkUnchanged compares a source with the state in a ref. As in Icechunk, the ETag decides if there is
// one; otherwise the modification time must not be later.
func checkUnchanged(id source.Identity, o *readers.Other) error {
	switch {
	case o.ETag != "" && id.ETag == "":
		return fmt.Errorf("ETag is missing (want %s): %w", o.ETag, errors.ErrUnsupported)
	case o.ETag != "" && strings.Trim(id.ETag, `"`) != strings.Trim(o.ETag, `"`):
		return fmt.Errorf("%w: ETag was %s, and is %s now", source.ErrChanged, o.ETag, id.ETag)
	case o.ETag == "" && !o.Modified.IsZero() && id.Modified.After(o.Modified):
		return fmt.Errorf("%w: it must not change after %s, but was modified at %s", source.ErrChanged,
			o.Modified.Format(time.RFC3339), id.Modified.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
