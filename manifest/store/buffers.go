package store

import (
	"math/bits"
	"sync"
)

// buffers provides memory that is used again, in sizes of powers of two, so that the garbage collector has
// little work.
type buffers struct{ classes [28]sync.Pool } // 4 KiB and up

const smallestBuffer = 12 // log2 of its size

// buffer is memory from buffers. The user must call release.
type buffer struct {
	bytes []byte
	pool  *sync.Pool
}

func (b *buffers) get(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), smallestBuffer) - smallestBuffer
	// Too large for the pools: let the garbage collector free it.
	if class >= len(b.classes) {
		return &buffer{bytes: make([]byte, n)}
	}
	pool := &b.classes[class]
	if got, ok := pool.Get().(*buffer); ok {
		got.bytes = got.bytes[:n]
		return got
	}
	return &buffer{make([]byte, n, 1<<(class+smallestBuffer)), pool}
}

func (b *buffer) release() {
	if b != nil && b.pool != nil {
		b.pool.Put(b)
	}
}
