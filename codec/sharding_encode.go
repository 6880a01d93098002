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
	err := s.inMortonOrder(func(at *place) error {
		p, err := s.pipeline(at.region.Shape)
		if err != nil {
			return err
		}
		elems, err := from.take(at.region, &room, p.Form())
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

// shardWriter appends a shard to bytes that are there already.
type shardWriter struct {
	s     *sharding
	out   []byte
	start int // of the shard in out
	index shardIndex
	empty bool // nothing is stored in it yet
}

func (s *sharding) newWriter(a *arena, dst []byte) *shardWriter {
	w := &shardWriter{s: s, out: dst, start: len(dst), index: a.bytes(int(s.cut.Chunks()) * entryBytes), empty: true}
	w.index.clear()
	if s.atStart {
		w.out = append(w.out, make([]byte, s.indexSize)...)
	}
	return w
}

// add stores an inner chunk whose bytes encode appends to what it is given. One without
// bytes is not stored.
func (w *shardWriter) add(number int64, encode func([]byte) ([]byte, error)) error {
	before := len(w.out)
	out, err := encode(w.out)
	if err != nil {
		return err
	}
	if len(out) == before {
		return nil
	}
	w.out, w.empty = out, false
	w.index.set(number, Range{int64(before - w.start), int64(len(out) - before)})
	return nil
}

// finish puts the index in its place.
func (w *shardWriter) finish() ([]byte, error) {
	dst := w.out
	if w.s.atStart {
		dst = w.out[:w.start]
	}
	index, err := w.s.index.Encode(dst, Elems{Fixed: w.index})
	if err != nil {
		return w.out[:w.start], fmt.Errorf("index: %w", err)
	}
	if n := len(index) - len(dst); n != w.s.indexSize {
		return w.out[:w.start], fmt.Errorf("index encodes to %d bytes, want %d", n, w.s.indexSize)
	}
	if !w.s.atStart {
		return index, nil
	}
	copy(w.out[w.start:], index[w.start:]) // the same place, unless Encode moved it
	return w.out, nil
}

// inMortonOrder visits every inner chunk, in the order in which they are written: by
// the bits of their coordinates interleaved, the last axis highest, leaving out bits
// that an axis has no use for.
func (s *sharding) inMortonOrder(visit func(*place) error) error {
	at := s.places.Get().(*place)
	defer s.places.Put(at)
	order := mortonBits(s.cut.Counts())
	left := s.cut.Chunks()
	for code := uint64(0); left > 0; code++ {
		clear(at.coords)
		for i, b := range order {
			at.coords[b.axis] |= int64(code>>i&1) << b.shift
		}
		number, ok := s.cut.Number(at.coords)
		if !ok {
			continue
		}
		left--
		at.moveTo(s, number)
		if err := visit(at); err != nil {
			return s.inInner(number, err)
		}
	}
	return nil
}

// mortonBit says which bit of a coordinate a bit of a Morton code is.
type mortonBit struct{ axis, shift int }

// mortonBits returns the bits of a Morton code, the lowest first. There are at most
// 62 + one an axis that is longer than 1, and chunks are too many long before that.
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
