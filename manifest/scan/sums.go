package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"varve/manifest"
)

// Sums caches digests of values by the digest of their stored bytes. Often all files of an archive have the same
// longitudes and latitudes, which then are decoded only once. It is safe for concurrent use.
type Sums struct {
	mu   sync.Mutex
	seen map[storedSum]*manifest.Values
}

// storedSum is a digest of stored bytes and their encoding. The zero value means that there is no digest.
type storedSum [sha256.Size]byte

// NewSums returns an empty cache.
func NewSums() *Sums { return &Sums{seen: map[storedSum]*manifest.Values{}} }

// Sum reads all values of a variable, as Blocks does, and returns their digest.
func (l *Later) Sum(variable int, sums *Sums) (sum *manifest.Values, err error) {
	if known := l.file.Values[variable]; known != nil {
		return known.Sum(), nil
	}
	defer l.unbounded()()
	err = l.look(variable, func(e *entry) error {
		stored, err := e.sumStored()
		if err != nil {
			return err
		}
		if sum = sums.known(stored); sum != nil {
			return nil
		}
		if sum, err = e.sumElements(); err != nil {
			return err
		}
		sums.keep(stored, sum)
		return nil
	})
	return sum, err
}

func (e *entry) sumElements() (*manifest.Values, error) {
	out := &e.out
	if !inBlocks(out) {
		values, err := e.readValues()
		if err != nil {
			return nil, err
		}
		values.SetID()
		return values.Sum(), nil
	}
	all := manifest.NewValueHasher(out.Shape[0] * int64(out.Type.Size))
	err := e.eachBlock(func(elements []byte) error {
		_, err := all.Write(elements)
		return err
	})
	return &manifest.Values{ID: all.ID(), Summed: true}, err
}

func (s *Sums) known(stored storedSum) *manifest.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[stored]
}

func (s *Sums) keep(stored storedSum, sum *manifest.Values) {
	if stored == (storedSum{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[stored] = sum
}

// sumStored returns the digest of a variable's stored bytes, or the zero value for a variable whose elements are
// as fast to read as its stored bytes.
func (e *entry) sumStored() (sum storedSum, err error) {
	v := &e.out
	switch {
	case v.Storage.Layout == manifest.Chunked, v.Storage.Layout == manifest.Strided && v.Storage.Stride == 0 && !inBlocks(v):
	default:
		return sum, nil
	}
	d := decoder{opened: e.opened, v: v, f: e.found}
	all := sha256.New()
	head := v.AppendDecoding(nil)
	for row := range int(v.Rows()) {
		ref := d.ref(row)
		head = binary.AppendVarint(binary.AppendVarint(head, ref.Size), int64(ref.Mask))
		all.Write(head)
		head = head[:0]
		if !ref.Stored() {
			continue
		}
		b, err := d.bytes(ref)
		if err != nil {
			return sum, d.close(err)
		}
		all.Write(b)
	}
	all.Sum(sum[:0])
	return sum, d.close(nil)
}
