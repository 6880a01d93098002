package xz

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Filters that are supported, with their numbers in the .xz format and in Python's lzma.
const (
	Delta = 0x03
	LZMA1 = 0x4000000000000001
	LZMA2 = 0x21
)

// Filter is one filter of a raw stream.
type Filter struct {
	ID       uint64
	Distance int // Delta: distance of elements in bytes, 1 to 256

	// LZMA1: the bits of literal context, of literal position, and of position. The defaults of
	// encoders are 3, 0 and 2.
	LC, LP, PB int
}

// machineCode holds the names of filters for machine code, which are not supported.
var machineCode = map[uint64]string{
	4: "x86", 5: "PowerPC", 6: "IA-64", 7: "ARM", 8: "ARM-Thumb", 9: "SPARC", 10: "ARM64", 11: "RISC-V",
}

// checkDeltas returns an error unless all filters are valid Delta filters.
func checkDeltas(chain []Filter) error {
	for _, f := range chain {
		name, isCode := machineCode[f.ID]
		switch {
		case isCode:
			return fmt.Errorf("xz: filter %d for %s machine code: %w", f.ID, name, errors.ErrUnsupported)
		case f.ID == LZMA1 || f.ID == LZMA2:
			return corrupt.Errorf("xz: filter %#x must be the last filter", f.ID)
		case f.ID != Delta:
			return fmt.Errorf("xz: filter %#x: %w", f.ID, errors.ErrUnsupported)
		case f.Distance < 1 || f.Distance > 256:
			return corrupt.Errorf("xz: delta filter with distance %d, must be 1 to 256", f.Distance)
		}
	}
	return nil
}

// undoDeltas undoes Delta filters in place, from the last to the first.
func undoDeltas(text []byte, chain []Filter) {
	for i := len(chain) - 1; i >= 0; i-- {
		distance := chain[i].Distance
		for j := distance; j < len(text); j++ {
			text[j] += text[j-distance]
		}
	}
}

// DecodeRaw decodes a raw stream, which has no container, to dst and returns the decoded length. chain are
// the filters in the order of the encoder: any number of Delta, then LZMA2 or LZMA1.
func DecodeRaw(dst, src []byte, chain []Filter) (int, error) {
	if len(chain) == 0 {
		return 0, corrupt.Errorf("xz: a raw stream needs at least one filter")
	}
	deltas, last := chain[:len(chain)-1], chain[len(chain)-1]
	if err := checkDeltas(deltas); err != nil {
		return 0, err
	}
	d := borrow(src)
	defer d.release()
	var n int
	var err error
	switch last.ID {
	case LZMA2:
		n, err = d.lzma2(dst)
	case LZMA1:
		n, err = d.lzma1(dst, last)
	default:
		return 0, corrupt.Errorf("xz: the last filter is %#x, must be LZMA2 (%#x) or LZMA1 (%#x)", last.ID, LZMA2, uint64(LZMA1))
	}
	if err != nil {
		return 0, err
	}
	if d.next != len(src) {
		return 0, corrupt.Errorf("xz: the stream ends at byte %d, but %d bytes follow", d.next, len(src)-d.next)
	}
	undoDeltas(dst[:n], deltas)
	return n, nil
}

// lzma1 decodes a raw LZMA stream, which ends with a marker.
func (d *decoder) lzma1(dst []byte, f Filter) (int, error) {
	if err := d.setProperties(f.LC, f.LP, f.PB); err != nil {
		return 0, err
	}
	return d.marked(dst)
}
