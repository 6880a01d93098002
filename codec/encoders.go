package codec

import "sync"

// encoders are pools of what compresses, by what it is made with. All codecs share them: one
// takes a megabyte or so, and a hierarchy may have thousands of arrays.
var encoders sync.Map // encoderKind → *sync.Pool

// encoderKind is all that tells encoders apart. There are few.
type encoderKind struct {
	name  string
	level int
	sum   bool
}

// pool returns the pool of a kind, whose encoders create makes.
func (k encoderKind) pool(create func() any) *sync.Pool {
	known, ok := encoders.Load(k)
	if !ok {
		known, _ = encoders.LoadOrStore(k, &sync.Pool{New: create})
	}
	return known.(*sync.Pool)
}
