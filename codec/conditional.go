package codec

import (
	"fmt"
	"strings"

	"varve/codec/internal/corrupt"
)

// conditional has codecs that each chunk applies or not. A bit for each codec says so, the first codec being the lowest bit
// of the first byte.
//
//	┌──────┬─────────────────────────────┐
//	│ bits │ output of the applied codecs │
//	└──────┴─────────────────────────────┘
//
// Specification: zarr-extensions, codecs/conditional; its drafts have the name "optional".
//
//	{"name": "conditional", "configuration": {"codecs": [{"name": "zstd"}], "header_bits": 8}}
type conditional struct {
	codecs []BytesToBytes
	header int // bytes
}

// mostHeaderBits limits header_bits, as MaxCodecs limits the codecs.
const mostHeaderBits = 8 * MaxCodecs

func newConditional(c *config, in Form) (Codec, error) {
	raw := c.take("codecs")
	var list []Spec
	if raw == nil || unmarshal(raw, &list) != nil || len(list) > MaxCodecs {
		c.fail("codecs", "want a list of at most %d bytes-to-bytes codecs", MaxCodecs)
		return nil, c.err
	}
	if c.depth >= maxShardDepth {
		c.unsupported("more than %d codecs that contain one another", maxShardDepth)
		return nil, c.err
	}
	x := &conditional{}
	for _, spec := range list {
		spec.depth = c.depth + 1
		inner, err := newCodec(spec, in)
		if err != nil {
			return nil, err
		}
		b, ok := inner.(BytesToBytes)
		if !ok {
			c.fail("codecs", "%q is not a bytes-to-bytes codec", spec.Name)
			return nil, c.err
		}
		x.codecs = append(x.codecs, b)
	}
	fewest := (len(list) + 7) / 8 * 8
	bits := c.integer("header_bits", fewest, fewest, mostHeaderBits)
	if bits%8 != 0 {
		c.fail("header_bits", "%d is not a multiple of 8", bits)
	}
	x.header = bits / 8
	return x, c.err
}

func (x *conditional) DecodeKey() string {
	keys := make([]string, len(x.codecs))
	for i, c := range x.codecs {
		keys[i] = c.DecodeKey()
	}
	return fmt.Sprintf("conditional:%d[%s]", x.header, strings.Join(keys, "|"))
}

// EncodedSize implements BytesToBytes. Even codecs of a fixed size may be left out.
func (x *conditional) EncodedSize(n int) (int, bool) { return n + x.header, len(x.codecs) == 0 }

// Encode applies all codecs, or none if the chunk does not become smaller.
func (x *conditional) Encode(dst, src []byte) ([]byte, error) {
	at := len(dst)
	dst = append(dst, make([]byte, x.header)...)
	data := src
	for _, c := range x.codecs {
		next, err := c.Encode(nil, data)
		if err != nil {
			return nil, err
		}
		data = next
	}
	if len(x.codecs) == 0 || len(data) >= len(src) {
		return append(dst, src...), nil
	}
	for i := range x.codecs {
		dst[at+i/8] |= 1 << (i % 8)
	}
	return append(dst, data...), nil
}

// Decode implements BytesToBytes.
func (x *conditional) Decode(dst, src []byte) (int, error) {
	if len(src) < x.header {
		return 0, corrupt.Errorf("%d bytes are too few for a header of %d", len(src), x.header)
	}
	var applied []BytesToBytes
	for bit := range 8 * x.header {
		if src[bit/8]>>(bit%8)&1 == 0 {
			continue
		}
		if bit >= len(x.codecs) {
			return 0, corrupt.Errorf("byte %d: bit %d is set, but there are %d codecs", bit/8, bit%8, len(x.codecs))
		}
		applied = append(applied, x.codecs[bit])
	}
	src = src[x.header:]
	for i := len(applied) - 1; i >= 0; i-- {
		to := dst
		if i > 0 {
			to = make([]byte, roomBefore(applied[:i], len(dst)))
		}
		n, err := applied[i].Decode(to, src)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			return n, nil
		}
		src = to[:n]
	}
	if len(src) > len(dst) {
		return 0, corrupt.Errorf("%d bytes, want at most %d", len(src), len(dst))
	}
	return copy(dst, src), nil
}

// roomBefore returns the most bytes that codecs make of n bytes. Compressors make little more of bytes that cannot be
// compressed.
func roomBefore(codecs []BytesToBytes, n int) int {
	most := 2*n + 1<<20
	for _, c := range codecs {
		if size, fixed := c.EncodedSize(n); fixed {
			n = size
		} else {
			n += n/8 + 4096
		}
		n = min(n, most)
	}
	return n
}
