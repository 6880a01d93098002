package lerc

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
)

// tableBits is the number of bits that the table of short codes looks at.
const tableBits = 12

// pair is what bits start with: a short code, and a second one if the bits have it whole. It is 0 if they start with a
// longer code.
type pair uint32

func newPair(first, second byte, firstLength, length uint32) pair {
	count := uint32(1)
	if length > firstLength {
		count = 2
	}
	return pair(uint32(first) | uint32(second)<<8 | length<<16 | count<<21 | firstLength<<24)
}

func (p pair) bytes() uint16       { return uint16(p) } // the first one is the least significant
func (p pair) length() uint32      { return uint32(p) >> 16 & 31 }
func (p pair) count() int          { return int(p >> 21 & 3) }
func (p pair) firstLength() uint32 { return uint32(p) >> 24 }

// huffman decodes codes of 1 to 32 bits for bytes. The bits are in words of 4 bytes, from the most significant bit down.
type huffman struct {
	words
	short [1 << tableBits]pair
	long  []longCode // in ascending order
}

type longCode struct {
	code   uint32 // from the most significant bit down
	length uint8
	value  byte
}

// words reads the bits of words.
type words struct {
	src []byte
	at  int // next bit
}

// window returns at least 33 bits at the top, with zeros past the end.
func (w *words) window() uint64 {
	i := w.at >> 5 << 2
	if i+8 <= len(w.src) {
		return bits.RotateLeft64(binary.LittleEndian.Uint64(w.src[i:]), 32) << (w.at & 31)
	}
	var last [8]byte
	if i < len(w.src) {
		copy(last[:], w.src[i:])
	}
	return bits.RotateLeft64(binary.LittleEndian.Uint64(last[:]), 32) << (w.at & 31)
}

// take returns the next n bits, 1 <= n <= 32.
func (w *words) take(n uint) uint32 {
	v := w.window() >> (64 - n)
	w.at += int(n)
	return uint32(v)
}

// align skips to the next word.
func (w *words) align() { w.at = (w.at + 31) &^ 31 }

// check returns an error if more bits were read than there are.
func (w *words) check() error {
	if w.at > 8*len(w.src) {
		return corrupt.Errorf("Huffman codes need more than %d bytes", len(w.src))
	}
	return nil
}

// newHuffman reads a table of codes: a version (4 bytes), the number of values (4), the first value with a code (4), the
// value after the last one (4; if it is greater than the number of values, they continue from 0), the packed lengths of the
// codes, and the codes. Codes of about count bytes follow. The offset is subtracted from the values.
func (d *decoder) newHuffman(offset byte, count int) (*huffman, error) {
	at := d.at
	version, size, first, end := d.integer(), d.integer(), d.integer(), d.integer()
	if d.err != nil {
		return nil, d.err
	}
	if version < 2 || size < 1 || size > 256 || first < 0 || first >= size || end <= first || end > first+size {
		return nil, corrupt.Errorf("offset %d: Huffman table of version %d has values %d to %d of %d", at, version, first, end-1, size)
	}
	lengths := make([]uint32, end-first)
	if err := d.unpack(lengths); err != nil {
		return nil, corrupt.Errorf("offset %d: lengths of Huffman codes: %w", at+16, err)
	}
	h := &huffman{words: words{src: d.src[d.at:]}}
	found := false
	for i, length := range lengths {
		if length == 0 {
			continue
		}
		if length > 32 {
			return nil, corrupt.Errorf("offset %d: a Huffman code of %d bits", at+16, length)
		}
		found = true
		code, value := h.take(uint(length)), byte((first+i)%size)-offset
		if length > tableBits {
			h.long = append(h.long, longCode{code << (32 - length), uint8(length), value})
			continue
		}
		from := code << (tableBits - length)
		for k := range uint32(1) << (tableBits - length) {
			h.short[from+k] = newPair(value, 0, length, length)
		}
	}
	h.align()
	if err := h.check(); err != nil || !found {
		return nil, corrupt.Errorf("offset %d: Huffman table of %d bytes has codes: %v", at, len(d.src)-at, found)
	}
	d.at += h.words.at / 8
	h.words = words{src: d.src[d.at:]}
	slices.SortFunc(h.long, func(a, b longCode) int { return int(int64(a.code) - int64(b.code)) })
	if count > 2*len(h.short) {
		h.addSeconds()
	}
	return h, nil
}

// decode fills dst.
func (h *huffman) decode(dst []byte) error {
	for len(dst) > 0 {
		n := h.decodeShort(dst)
		if dst = dst[n:]; len(dst) > 0 {
			if err := h.one(dst); err != nil {
				return err
			}
			dst = dst[1:]
		}
	}
	return h.check()
}

// addSeconds adds second codes to the table, which halves the time for a byte.
func (h *huffman) addSeconds() {
	for i, p := range h.short {
		n := p.firstLength()
		q := h.short[i<<n&(len(h.short)-1)]
		if m := q.firstLength(); p != 0 && q != 0 && n+m <= tableBits {
			h.short[i] = newPair(byte(p), byte(q), n, n+m)
		}
	}
}

// decodeShort decodes short codes and returns the number of bytes. It stops before a longer code and near the end of dst
// or of the codes.
func (h *huffman) decodeShort(dst []byte) (n int) {
	const lookups = 64 / tableBits
	at, src := uint(h.at), h.src
	for n+2*lookups <= len(dst) {
		i := int(at >> 5 << 2)
		if i+12 > len(src) {
			break
		}
		w := bits.RotateLeft64(binary.LittleEndian.Uint64(src[i:]), 32)<<(at&31) |
			uint64(binary.LittleEndian.Uint32(src[i+8:]))>>(32-at&31)
		for range lookups {
			p := h.short[w>>(64-tableBits)]
			if p == 0 {
				h.at = int(at)
				return n
			}
			binary.LittleEndian.PutUint16(dst[n:], p.bytes())
			w <<= p.length()
			at += uint(p.length())
			n += p.count()
		}
	}
	h.at = int(at)
	return n
}

// one decodes the first byte of dst.
func (h *huffman) one(dst []byte) error {
	w := h.window()
	if p := h.short[w>>(64-tableBits)]; p != 0 {
		dst[0] = byte(p)
		h.at += int(p.firstLength())
		return nil
	}
	// The code is the greatest one that is not greater than the bits.
	next := uint32(w >> 32)
	i, exact := slices.BinarySearchFunc(h.long, next, func(c longCode, v uint32) int { return int(int64(c.code) - int64(v)) })
	if !exact {
		i--
	}
	if i < 0 || i >= len(h.long) || (h.long[i].code^next)>>(32-h.long[i].length) != 0 {
		return corrupt.Errorf("bits %032b start no Huffman code", next)
	}
	dst[0] = h.long[i].value
	h.at += int(h.long[i].length)
	return nil
}

// plainHuffman decodes bytes.
func (d *decoder) plainHuffman() error {
	at := d.at
	h, err := d.newHuffman(d.signBit(), d.valid*d.depth)
	if err != nil {
		return err
	}
	pixels := d.rows * d.columns
	for k, n := d.mask.run(0, pixels); n > 0; k, n = d.mask.run(k+n, pixels) {
		if err := h.decode(d.dst[k*d.depth : (k+n)*d.depth]); err != nil {
			return corrupt.Errorf("offset %d: %w", at, err)
		}
	}
	return nil
}

// signBit returns what the encoder added to signed bytes.
func (d *decoder) signBit() byte {
	if d.typ == Int8 {
		return 128
	}
	return 0
}

// deltaHuffman decodes the difference of each byte to the one on its left, or above it if that is not valid, or else to
// the last one.
func (d *decoder) deltaHuffman() error {
	at := d.at
	h, err := d.newHuffman(d.signBit(), d.valid*d.depth)
	if err != nil {
		return err
	}
	buffer := make([]byte, d.columns)
	for sample := range d.depth {
		last := byte(0)
		for y := range d.rows {
			first := y * d.columns
			end := first + d.columns
			for k, n := d.mask.run(first, end); n > 0; k, n = d.mask.run(k+n, end) {
				deltas := buffer[:n]
				if err := h.decode(deltas); err != nil {
					return corrupt.Errorf("offset %d: %w", at, err)
				}
				if y > 0 && d.mask.has(k-d.columns) {
					last = d.dst[(k-d.columns)*d.depth+sample]
				}
				out := d.dst[k*d.depth+sample:]
				for i, delta := range deltas {
					last += delta
					out[i*d.depth] = last
				}
			}
		}
	}
	return nil
}
