package codec

import "sync"

// arena provides the scratch buffers of one call and keeps them for the next.
type arena struct {
	buffers      [][]byte
	used         int
	unsizedBytes int // bytes of the buffers whose size does not follow from a form
}

// maxPooled is the largest buffer that an arena keeps between calls.
const maxPooled = 64 << 20

var arenas = sync.Pool{New: func() any { return new(arena) }}

func getArena() *arena { return arenas.Get().(*arena) }

// bytes returns a buffer of n bytes with arbitrary content. It is valid until release.
func (a *arena) bytes(n int) []byte {
	if a.used == len(a.buffers) {
		a.buffers = append(a.buffers, nil)
	}
	b := a.buffers[a.used]
	if cap(b) < n {
		b = make([]byte, n)
		a.buffers[a.used] = b
	}
	a.used++
	return b[:n]
}

// dropLast removes the last buffer, so that the garbage collector can free it.
func (a *arena) dropLast() {
	a.used--
	a.buffers[a.used] = nil
}

// newElems returns a buffer for the elements of a form. It is valid until release.
func (a *arena) newElems(f Form) Elems {
	// Elements of varying length alias stored bytes, so their slices must not be reused.
	if f.Type.Varies() {
		return NewElems(f)
	}
	return Elems{Fixed: a.bytes(f.Bytes())}
}

func (a *arena) release() {
	for i, b := range a.buffers[:a.used] {
		// A rare huge chunk must not occupy memory for ever.
		if cap(b) > maxPooled {
			a.buffers[i] = nil
		}
	}
	a.used, a.unsizedBytes = 0, 0
	arenas.Put(a)
}
