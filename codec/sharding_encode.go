package codec

import (
	"fmt"
	"math/bits"
)

// Encode implements ArrayToBytes.
func (s *sharding) Encode(dst []byte, src Elems, _ Form) ([]byte, error) {
	a := getArena()
	defer a.release()
	w := s.newWriter(a, dst)
	from := window{src, s.box, s.form.Type.unit()}
	room := scratch{a: a}
	err := s.inMortonOrder(func(at *innerChunk) error {
		p, err := s.pipeline(at.region.Shape)
		if err != nil {
			return err
		}
		elems, err := from.extract(at.region, &room, p.Form())
		if err != nil || p.Form().IsFill(elems) {
			return err
		}
		return w.add(at.number, func(out []byte) ([]byte, error) { return p.Encode(out, elems) })
	})
	if err != nil {
		return dst, err
	}
	return w.finish()
}

// shardWriter appends a shard to given bytes.
type shardWriter struct {
	s       *sharding
	out     []byte
	start   int // of the shard in out
	index   shardIndex
	isEmpty bool // no inner chunk is stored yet
}

func (s *sharding) newWriter(a *arena, dst []byte) *shardWriter {
	w := &shardWriter{s: s, out: dst, start: len(dst), index: a.bytes(int(s.innerGrid.Chunks()) * entryBytes), isEmpty: true}
	w.index.clear()
	if s.isIndexFirst {
		w.out = append(w.out, make([]byte, s.indexSize)...)
	}
	return w
}

// add stores an inner chunk: encode appends its bytes. An inner chunk without bytes is
// not stored.
func (w *shardWriter) add(number int64, encode func([]byte) ([]byte, error)) error {
	before := len(w.out)
	out, err := encode(w.out)
	if err != nil {
		return err
	}
	if len(out) == before {
		return nil
	}
	w.out, w.isEmpty = out, false
	w.index.set(number, Range{int64(before - w.start), int64(len(out) - before)})
	return nil
}

// finish writes the index.
func (w *shardWriter) finish() ([]byte, error) {
	dst := w.out
	if w.s.isIndexFirst {
		dst = w.out[:w.start]
	}
	index, err := w.s.index.Encode(dst, Elems{Fixed: w.index})
	if err != nil {
		return w.out[:w.start], fmt.Errorf("index: %w", err)
	}
	if n := len(index) - len(dst); n != w.s.indexSize {
		return w.out[:w.start], fmt.Errorf("index encodes to %d bytes, want %d", n, w.s.indexSize)
	}
	if !w.s.isIndexFirst {
		return index, nil
	}
	copy(w.out[w.start:], index[w.start:]) // a no-op unless Encode reallocated
	return w.out, nil
}

// inMortonOrder visits every inner chunk in the order of writing: by the interleaved bits
// of its coordinates, the last axis highest, without the bits that an axis does not need.
func (s *sharding) inMortonOrder(visit func(*innerChunk) error) error {
	at := s.innerChunks.Get().(*innerChunk)
	defer s.innerChunks.Put(at)
	order := mortonBits(s.innerGrid.Counts())
	left := s.innerGrid.Chunks()
	for code := uint64(0); left > 0; code++ {
		clear(at.coords)
		for i, b := range order {
			at.coords[b.axis] |= int64(code>>i&1) << b.shift
		}
		number, ok := s.innerGrid.Number(at.coords)
		// If counts are no powers of two, some codes are outside the grid.
		if !ok {
			continue
		}
		left--
		at.moveTo(s, number)
		if err := visit(at); err != nil {
			return s.innerError(number, err)
		}
	}
	return nil
}

// mortonBit maps a bit of a Morton code to a bit of a coordinate.
type mortonBit struct{ axis, shift int }

// mortonBits returns the bits of a Morton code, the lowest first. There are at most 62,
// plus one for each axis longer than 1; so many inner chunks are refused long before.
func mortonBits(counts []int64) []mortonBit {
	var order []mortonBit
	for shift := range 63 {
		for axis, n := range counts {
			if n > 1 && shift < bits.Len64(uint64(n-1)) {
				order = append(order, mortonBit{axis, shift})
			}
		}
	}
	return order
}
