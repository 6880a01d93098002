package codec

import (
	"fmt"

	"varve/codec/internal/shuffle"
)

// shuffleCodec stores the first bytes of all elements, then the second bytes, and so on.
//
// Specification: HDF5's filter 2; numcodecs.shuffle. Bytes after the last whole element
// are unchanged, as in HDF5; numcodecs refuses them.
//
//	{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}
//
// The default size is that of the elements.
type shuffleCodec struct{ size int }

func newShuffle(c *config, in Form) (Codec, error) {
	return &shuffleCodec{c.integer("elementsize", max(1, in.Type.Size), 1, 1<<30)}, nil
}

func (s *shuffleCodec) DecodeKey() string {
	if s.size == 1 {
		return ""
	}
	return fmt.Sprint("shuffle:", s.size)
}

// clientsFor implements sizeClientReporter: numcodecs refuses bytes that are not a whole
// number of elements.
func (s *shuffleCodec) clientsFor(size int) Client {
	if s.size > 1 && (size < 0 || size%s.size != 0) {
		return NoClient
	}
	return AnyClient
}

func (s *shuffleCodec) EncodedSize(n int) (int, bool) { return n, true }

func (s *shuffleCodec) Encode(dst, src []byte) ([]byte, error) {
	n := len(dst)
	dst = append(dst, src...)
	shuffle.Shuffle(dst[n:], src, s.size)
	return dst, nil
}

func (s *shuffleCodec) Decode(dst, src []byte) (int, error) {
	if len(src) > len(dst) {
		return 0, tooLongError(len(src), len(dst))
	}
	shuffle.Unshuffle(dst[:len(src)], src, s.size)
	return len(src), nil
}
