package xz

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// The filters that can be undone, by the numbers of the .xz format and of Python's lzma.
const (
	Delta = 0x03
	LZMA1 = 0x4000000000000001
	LZMA2 = 0x21
)

// Filter is one filter of a raw stream.
type Filter struct {
	ID       uint64
	Distance int // Delta: bytes from one element to the next, 1 to 256

	// LZMA1: the bits of context, of position for literals, and of position. An
	// encoder that is not told otherwise uses 3, 0 and 2.
	LC, LP, PB int
}

// machineCode names the filters that are not for arrays.
var machineCode = map[uint64]string{
	4: "x86", 5: "PowerPC", 6: "IA-64", 7: "ARM", 8: "ARM-Thumb", 9: "SPARC", 10: "ARM64", 11: "RISC-V",
}

// checkDeltas refuses filters other than Delta in front of the last one.
func checkDeltas(chain []Filter) error {
	for _, f := range chain {
		name, isCode := machineCode[f.ID]
		switch {
		case isCode:
			return fmt.Errorf("xz: filter %d for %s machine code: %w", f.ID, name, errors.ErrUnsupported)
		case f.ID == LZMA1 || f.ID == LZMA2:
			return corrupt.Errorf("xz: filter %#x is not the last one", f.ID)
		case f.ID != Delta:
			return fmt.Errorf("xz: filter %#x: %w", f.ID, errors.ErrUnsupported)
		case f.Distance < 1 || f.Distance > 256:
			return corrupt.Errorf("xz: delta filter of distance %d, which should be 1 to 256", f.Distance)
		}
	}
	return nil
}

// undo undoes filters from the last to the first.
func undo(text []byte, chain []Filter) {
	for i := len(chain) - 1; i >= 0; i-- {
		distance := chain[i].Distance
		for j := distance; j < len(text); j++ {
			text[j] += text[j-distance]
		}
	}
}

// DecodeRaw decodes a stream without a container, of filters as an encoder takes them:
// any number of Delta, then LZMA2 or LZMA1. It returns how many bytes it wrote to dst.
func DecodeRaw(dst, src []byte, chain []Filter) (int, error) {
	if len(chain) == 0 {
		return 0, corrupt.Errorf("xz: a raw stream without filters")
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
		return 0, corrupt.Errorf("xz: the last filter is %#x, which should be LZMA2 or LZMA1", last.ID)
	}
	if err != nil {
		return 0, err
	}
	if d.next != len(src) {
		return 0, corrupt.Errorf("xz: %d bytes behind the end at byte %d", len(src)-d.next, d.next)
	}
	undo(dst[:n], deltas)
	return n, nil
}

// lzma1 decodes a raw LZMA stream, which ends in a marker.
func (d *decoder) lzma1(dst []byte, f Filter) (int, error) {
	if err := d.setProperties(f.LC, f.LP, f.PB); err != nil {
		return 0, err
	}
	return d.marked(dst)
}
