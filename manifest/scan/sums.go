package scan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"varve/manifest"
	"varve/readers"
)

// Sums tells the values of variables from one another. What is stored alike is decoded once:
// an archive has the same grid in all of its files. It may be used by several goroutines.
type Sums struct {
	opts *Options

	mu   sync.Mutex
	seen map[storedSum]*manifest.Values
}

// storedSum is of the bytes in which values are stored, and of how. The zero value is none.
type storedSum [sha256.Size]byte

// NewSums returns what knows no sums yet. Of the options, ValueBytes does not count.
func NewSums(opts *Options) *Sums {
	s := &Sums{opts: opts.withDefaults(), seen: map[storedSum]*manifest.Values{}}
	s.opts.ValueBytes = manifest.MostSummed
	return s
}

// Of reads all values of a variable of a file that was scanned, up to manifest.MostSummed of
// them, and returns their sum. The file must not have changed since.
func (s *Sums) Of(ctx context.Context, f *manifest.File, variable int) (sum *manifest.Values, err error) {
	if known := f.Values[variable]; known != nil {
		return known.Sum(), nil
	}
	own := *s.opts
	err = reopened(ctx, f, variable, &own, func(r *reading, out *manifest.Variable, v *readers.Variable) error {
		stored, err := r.sumStored(out)
		if err != nil {
			return err
		}
		if sum = s.known(stored); sum != nil {
			return nil
		}
		values, err := r.readValues(out, v, 0)
		if err != nil {
			return err
		}
		values.SetID()
		sum = values.Sum()
		s.keep(stored, sum)
		return nil
	})
	return sum, err
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

// sumStored sums up what a variable is stored in, if that is chunks or one piece.
func (r *reading) sumStored(v *manifest.Variable) (sum storedSum, err error) {
	switch {
	case v.Storage.Layout == manifest.Chunked, v.Storage.Layout == manifest.Strided && v.Storage.Stride == 0:
	default:
		return sum, nil
	}
	d := decoder{reading: r, v: v, f: r.out}
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
