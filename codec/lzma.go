package codec

import (
	"fmt"

	"varve/codec/internal/xz"
)

// The formats of Python's lzma module.
const (
	lzmaXZ    = 1
	lzmaAlone = 2
	lzmaRaw   = 3
)

// newLZMA returns the decoder of .xz files, of the older .lzma files, and of raw filter
// chains.
//
// Specification: numcodecs.lzma, which is Python's lzma module; the .xz file format 1.2.
// The numbers are those of that module. Only a raw chain needs its filters in the
// configuration; check and preset matter for encoding only.
//
//	{"name": "numcodecs.lzma", "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}
func newLZMA(c *config, _ Form) (Codec, error) {
	c.ignore("check", "preset")
	switch format := c.integer("format", lzmaXZ, lzmaXZ, lzmaRaw); format {
	case lzmaAlone:
		c.ignore("filters")
		return &decoder{key: "lzma", decode: xz.DecodeAlone}, nil
	case lzmaRaw:
		chain := c.lzmaFilters()
		return &decoder{key: fmt.Sprint("lzma", chain), decode: func(dst, src []byte) (int, error) {
			return xz.DecodeRaw(dst, src, chain)
		}}, nil
	default:
		c.ignore("filters")
		return &startingDecoder{decoder{key: "xz", decode: xz.Decode}, &xzStarts}, nil
	}
}

// lzmaFilters reads the filter chain of a raw stream. The defaults are those of liblzma.
func (c *config) lzmaFilters() []xz.Filter {
	var list []struct {
		ID   uint64 `json:"id"`
		Dist *int   `json:"dist"`
		LC   *int   `json:"lc"`
		LP   *int   `json:"lp"`
		PB   *int   `json:"pb"`
	}
	raw := c.take("filters")
	if err := unmarshal(raw, &list); err != nil || len(list) == 0 {
		c.fail("filters", "%s is not a list of filters, which format %d (raw) needs", abbreviate(raw), lzmaRaw)
		return nil
	}
	or := func(v *int, absent int) int {
		if v == nil {
			return absent
		}
		return *v
	}
	var chain []xz.Filter
	for _, f := range list {
		chain = append(chain, xz.Filter{ID: f.ID, Distance: or(f.Dist, 1), LC: or(f.LC, 3), LP: or(f.LP, 0), PB: or(f.PB, 2)})
	}
	return chain
}
