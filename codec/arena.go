package codec

import "sync"

// arena lends the scratch buffers of one call and keeps them for the next.
type arena struct {
	buffers [][]byte
	used    int
	unsized int // bytes of those whose size no form says
}

// maxKept is the largest buffer that an arena keeps between calls.
const maxKept = 64 << 20

var arenas = sync.Pool{New: func() any { return new(arena) }}

func getArena() *arena { return arenas.Get().(*arena) }

// bytes returns a buffer of n bytes of any content, until release.
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

// takeBack ends the loan of the last buffer and forgets it.
func (a *arena) takeBack() {
	a.used--
	a.buffers[a.used] = nil
}

// elems returns room for the elements of a form, until release.
func (a *arena) elems(f Form) Elems {
	if f.Type.Varies() {
		return NewElems(f)
	}
	return Elems{Fixed: a.bytes(f.Bytes())}
}

func (a *arena) release() {
	for i, b := range a.buffers[:a.used] {
		if cap(b) > maxKept {
			a.buffers[i] = nil
		}
	}
	a.used, a.unsized = 0, 0
	arenas.Put(a)
}
