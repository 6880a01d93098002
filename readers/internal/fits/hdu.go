package fits

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"varve/readers"
)

// kind is the kind of an HDU's data.
type kind uint8

const (
	image kind = iota
	binaryTable
	compressedImage // a compressed image
	asciiTable      // an ASCII table
	rejected
)

// hdu is one header and data unit.
type hdu struct {
	*header
	number     int
	kind       kind
	reason     error // why the HDU is rejected
	bitpix     int
	axes       []uint64 // NAXIS1, NAXIS2, …
	size       uint64   // size of the data in bytes
	paddedSize uint64   // size with the padding of the last block
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}

// bitpixTypes maps values of BITPIX to types (table 8).
var bitpixTypes = map[int]*readers.Type{
	8:   readers.Int(1, readers.BigEndian, false),
	16:  readers.Int(2, readers.BigEndian, true),
	32:  readers.Int(4, readers.BigEndian, true),
	64:  readers.Int(8, readers.BigEndian, true),
	-32: readers.IEEEFloat(4, readers.BigEndian),
	-64: readers.IEEEFloat(8, readers.BigEndian),
}

// newHDU decodes the kind and the size of the data from a header.
func newHDU(h *header, number int) (*hdu, error) {
	u := &hdu{header: h, number: number}
	bitpix := h.lookup("BITPIX")
	if bitpix == nil || bitpix.kind != integer || bitpixTypes[int(int64(bitpix.bits))] == nil {
		return nil, readers.Corruptf("BITPIX is not one of 8, 16, 32, 64, -32, -64")
	}
	u.bitpix = int(int64(bitpix.bits))
	if err := u.readAxes(); err != nil {
		return nil, err
	}
	if err := u.readSize(); err != nil {
		return nil, err
	}
	u.kind, u.reason = u.classify()
	if u.kind == compressedImage {
		u.dropDefaultName()
	}
	return u, nil
}

// dropDefaultName removes the name that CFITSIO gives to compressed images without one. A second
// EXTNAME card may follow it.
func (u *hdu) dropDefaultName() {
	u.cards = slices.DeleteFunc(u.cards, func(c card) bool {
		return c.keyword == "EXTNAME" && c.kind == text && strings.TrimSpace(c.text) == "COMPRESSED_IMAGE"
	})
	clear(u.index)
	for i, c := range u.cards {
		if _, known := u.index[c.keyword]; c.kind != noValue && !known {
			u.index[c.keyword] = i
		}
	}
}

func (u *hdu) readAxes() error {
	n, err := u.int("NAXIS", true, 0, maxAxes)
	if err != nil {
		return err
	}
	for i := range int(n) {
		length, err := u.int(column("NAXIS", i+1), true, 0, math.MaxInt64)
		if err != nil {
			return err
		}
		u.axes = append(u.axes, length)
	}
	return nil
}

// isGroups reports whether the data are random groups (section 6).
func (u *hdu) isGroups() bool {
	return u.number == 0 && u.isTrue("GROUPS") && len(u.axes) > 0 && u.axes[0] == 0
}

// readSize computes the size of the data (equations 2 and 4).
func (u *hdu) readSize() error {
	extra, err := u.int("PCOUNT", false, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	// GCOUNT is optional in a primary header.
	groups := uint64(1)
	if u.lookup("GCOUNT") != nil {
		if groups, err = u.int("GCOUNT", false, 0, math.MaxInt64); err != nil {
			return err
		}
	}
	axes, count := u.axes, uint64(1)
	// The first axis of random groups has length 0 and does not count.
	if u.isGroups() {
		axes = axes[1:]
	}
	if len(u.axes) == 0 {
		count = 0
	}
	over := false
	multiply := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		over = over || hi != 0 || lo > math.MaxInt64/2
		return lo
	}
	if slices.Contains(axes, 0) {
		count = 0 // even if the product of the other lengths overflows
	}
	for _, n := range axes {
		count = multiply(count, n)
	}
	over = over || count+extra > math.MaxInt64/2
	u.size = multiply(multiply(count+extra, groups), uint64(max(u.bitpix, -u.bitpix)/8))
	if over {
		return readers.Corruptf("data take more than 2^62 bytes")
	}
	u.paddedSize = (u.size + blockSize - 1) / blockSize * blockSize
	return nil
}

// classify returns the kind of the data, or why the HDU is rejected.
func (u *hdu) classify() (kind, error) {
	extension := u.string("XTENSION")
	switch {
	case u.isGroups():
		return rejected, unsupported("random groups (GROUPS = T) are not supported")
	case u.number == 0:
		return image, nil
	case extension == "IMAGE":
		return image, nil
	case extension == "BINTABLE" && u.isTrue("ZIMAGE"):
		return compressedImage, nil
	case extension == "BINTABLE" && u.isTrue("ZTABLE"):
		return rejected, unsupported("compressed table (ZTABLE); decompress the file with funpack")
	case extension == "BINTABLE" || extension == "A3DTABLE":
		return binaryTable, nil
	case extension == "TABLE":
		return asciiTable, nil
	}
	return rejected, unsupported("extension of type %q", extension)
}
