package codec

import "sync"

// encoderPools maps an encoderKind to its *sync.Pool. All codecs share the pools: an
// encoder takes about a megabyte, and a hierarchy may have thousands of arrays.
var encoderPools sync.Map

// encoderKind identifies encoders that are interchangeable. There are few kinds.
type encoderKind struct {
	name  string
	level int
	sum   bool
}

// pool returns the pool of a kind, whose encoders create makes.
func (k encoderKind) pool(create func() any) *sync.Pool {
	known, ok := encoderPools.Load(k)
	if !ok {
		known, _ = encoderPools.LoadOrStore(k, &sync.Pool{New: create})
	}
	return known.(*sync.Pool)
}
