package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// bytesCodec stores elements one after another in C order.
//
// Specification: Zarr v3, codecs/bytes. HDF5 stores elements of fixed size in the same
// way.
//
//	{"name": "bytes", "configuration": {"endian": "little"}}
//
// "endian" is required for elements with words of more than one byte; for others it is
// optional and has no effect.
type bytesCodec struct {
	swaps []swapRun // the words of one element, if they are stored reversed
	size  int
	isBig bool
}

func newBytes(c *config, in Form) (Codec, error) {
	if in.Type.Varies() {
		return nil, fmt.Errorf("codec %q: elements of %v have no fixed size; use \"vlen-utf8\" or \"vlen-bytes\"", c.codec, in.Type)
	}
	runs := in.Type.swapRuns()
	wide := len(runs) > 1 || len(runs) == 1 && runs[0].width > 1
	absent := 0
	if wide {
		absent = -1
	}
	order := c.choice("endian", absent, "little", "big")
	b := &bytesCodec{size: in.Type.Size}
	if wide && order == 1 {
		b.swaps, b.isBig = runs, true
	}
	return b, nil
}

func (b *bytesCodec) DecodeKey() string {
	if b.isBig {
		return "bytes:big"
	}
	return "bytes"
}

func (b *bytesCodec) Accepts(in Form) error {
	if in.Type.Varies() {
		return errors.New("elements have no fixed size")
	}
	return nil
}

func (b *bytesCodec) EncodedSize(in Form) (int, bool) { return in.Bytes(), true }

func (b *bytesCodec) Encode(dst []byte, src Elems, _ Form) ([]byte, error) {
	n := len(dst)
	dst = append(dst, src.Fixed...)
	b.reverse(dst[n:])
	return dst, nil
}

func (b *bytesCodec) Decode(dst Elems, src []byte, in Form) error {
	if len(src) != len(dst.Fixed) {
		return corrupt.Errorf("chunk has %d bytes, its %v elements of %v need %d", len(src), in.Shape, in.Type, len(dst.Fixed))
	}
	copy(dst.Fixed, src)
	return b.decodeInPlace(dst.Fixed, in)
}

func (b *bytesCodec) decodeInPlace(buf []byte, _ Form) error {
	b.reverse(buf)
	return nil
}

// reverse reverses the words of all elements in buf.
func (b *bytesCodec) reverse(buf []byte) {
	if len(b.swaps) == 1 {
		reverseWords(buf, b.swaps[0].width)
		return
	}
	for len(b.swaps) > 1 && len(buf) >= b.size {
		element := buf[:b.size]
		for _, r := range b.swaps {
			reverseWords(element[:r.width*r.count], r.width)
			element = element[r.width*r.count:]
		}
		buf = buf[b.size:]
	}
}

// reverseWords reverses the bytes of each word of width 1, 2, 4 or 8.
func reverseWords(b []byte, width int) {
	switch width {
	case 2:
		// Swap four words at a time in a 64-bit register.
		for ; len(b) >= 8; b = b[8:] {
			v := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, v>>8&0x00ff00ff00ff00ff|v<<8&0xff00ff00ff00ff00)
		}
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 8; b = b[8:] {
			v := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, bits.RotateLeft64(bits.ReverseBytes64(v), 32))
		}
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
		}
	}
}
