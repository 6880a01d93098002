// Package access has the parts that compressors with access points share: the list of points, and sparse windows.
package access

// Point is an access point: a place of a stream at which decoding can start.
type Point struct {
	Out int // number of decoded bytes before it
	Bit int // number of bits of the stream before it, with the header
	// Window has what decoding needs from before the point, in a form of the format. It is nil if nothing is needed.
	Window []byte
}

// Splitter chooses points among the blocks of a stream that can be decoded alone. A span has as many blocks as fit in
// Every decoded bytes, but at least one.
type Splitter struct {
	Every int

	begun bool
	last  int // decoded bytes before the last point
}

// Splits reports whether a point belongs to the start of a block of n bytes, with out decoded bytes before it.
// It has to be called for all blocks, in order.
func (s *Splitter) Splits(out, n int) bool {
	if s.begun && (n == 0 || out == s.last || out+n-s.last <= s.Every) {
		return false
	}
	s.begun, s.last = true, out
	return true
}
