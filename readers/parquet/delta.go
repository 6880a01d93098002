package parquet

import (
	"encoding/binary"
	"math/bits"
)

// The encoding of integers as differences (Encodings.md, DELTA_BINARY_PACKED):
//
//	uvarint blockValues, uvarint minis, uvarint count, varint first
//	for each blockValues that follow:
//	    varint least difference, minis widths of a byte,
//	    minis × miniValues differences minus the least one, each of as many bits as its width
//
// For example, 7, 9, 12 become
//
//	80 01  04  03  0e │ 04  01 00 00 00  02 00 00 00
//	128    4   3   7  │ 2   widths       differences 0, 1 in one bit each, then 30 zeros
const (
	blockValues = 128
	miniValues  = 32
	minis       = blockValues / miniValues
)

// appendDelta appends integers. Differences may wrap around.
func appendDelta(dst []byte, values []int64) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, blockValues), minis)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendVarint(dst, values[0])
	var block [blockValues]uint64
	for at := 1; at < len(values); at += blockValues {
		n := min(blockValues, len(values)-at)
		least := differences(&block, values[at-1:at+n])
		dst = binary.AppendVarint(dst, least)
		dst = appendBlock(dst, &block)
	}
	return dst
}

// differences fills a block with the differences of neighbours minus the least of them, followed by
// zeros. It returns the least difference.
func differences(block *[blockValues]uint64, values []int64) (least int64) {
	least = values[1] - values[0]
	for i := range values[1:] {
		d := values[i+1] - values[i]
		// The mask spares the check of bounds.
		block[i&(blockValues-1)] = uint64(d)
		least = min(least, d)
	}
	n := len(values) - 1
	for i := range block[:n] {
		block[i] -= uint64(least)
	}
	clear(block[n:])
	return least
}

func appendBlock(dst []byte, block *[blockValues]uint64) []byte {
	var widths [minis]byte
	for m := range minis {
		all := uint64(0)
		for _, d := range block[m*miniValues:][:miniValues] {
			all |= d
		}
		widths[m] = byte(bits.Len64(all))
	}
	dst = append(dst, widths[:]...)
	for m, width := range widths {
		dst = appendMini(dst, (*[miniValues]uint64)(block[m*miniValues:]), uint(width))
	}
	return dst
}

// appendMini packs the numbers of a miniblock, lowest bits first. Each width of bits takes 4 bytes.
func appendMini(dst []byte, mini *[miniValues]uint64, width uint) []byte {
	pending, have := uint64(0), uint(0)
	for _, v := range mini {
		pending |= v << have
		if have += width; have >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, pending)
			have -= 64
			// The bits of v that did not fit the word.
			pending = v >> (width - have)
		}
	}
	if have > 0 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(pending))
	}
	return dst
}

// readDelta decodes len(dst) integers.
func readDelta(dst []int64, data []byte) error {
	data, err := deltaHead(dst, data)
	if err != nil || len(dst) == 0 {
		return err
	}
	last := dst[0]
	for rest := dst[1:]; len(rest) > 0; {
		least, size := binary.Varint(data)
		if size <= 0 || len(data) < size+minis {
			return errDelta
		}
		widths := data[size : size+minis]
		data = data[size+minis:]
		for m := 0; m < minis && len(rest) > 0; m++ {
			width := uint(widths[m])
			if width > 64 || uint(len(data)) < width*miniValues/8 {
				return errDelta
			}
			n := min(miniValues, len(rest))
			last = readMini(rest[:n], data, width, last, least)
			data, rest = data[width*miniValues/8:], rest[n:]
		}
	}
	return nil
}

var errDelta = corruptf("integers in DELTA_BINARY_PACKED are truncated")

// deltaHead decodes the head and the first integer.
func deltaHead(dst []int64, data []byte) ([]byte, error) {
	var head [3]uint64
	for i := range head {
		v, size := binary.Uvarint(data)
		if size <= 0 {
			return nil, errDelta
		}
		head[i], data = v, data[size:]
	}
	if head[0] != blockValues || head[1] != minis || head[2] != uint64(len(dst)) {
		return nil, corruptf("%d integers in blocks of %d values and %d miniblocks; varve reads %d, %d and %d",
			head[2], head[0], head[1], len(dst), blockValues, minis)
	}
	first, size := binary.Varint(data)
	if size <= 0 {
		return nil, errDelta
	}
	if len(dst) > 0 {
		dst[0] = first
	}
	return data[size:], nil
}

// readMini decodes a miniblock of differences and adds them up.
func readMini(dst []int64, data []byte, width uint, last, least int64) int64 {
	if width == 0 {
		for i := range dst {
			last += least
			dst[i] = last
		}
		return last
	}
	// The fast way loads 8 bytes for each value, which must not be beyond the data.
	if width <= 56 && len(data) >= int(width)*miniValues/8+8 {
		mask := uint64(1)<<width - 1
		for i := range dst {
			bit := uint(i) * width
			last += int64(binary.LittleEndian.Uint64(data[bit/8:])>>(bit%8)&mask) + least
			dst[i] = last
		}
		return last
	}
	return readMiniSlowly(dst, data, width, last, least)
}

// readMiniSlowly is readMini for any width. It reads no byte after the miniblock.
func readMiniSlowly(dst []int64, data []byte, width uint, last, least int64) int64 {
	for i := range dst {
		v := uint64(0)
		for have := uint(0); have < width; {
			bit := uint(i)*width + have
			take := min(8-bit%8, width-have)
			v |= uint64(data[bit/8]>>(bit%8)) & (1<<take - 1) << have
			have += take
		}
		last += int64(v) + least
		dst[i] = last
	}
	return last
}
