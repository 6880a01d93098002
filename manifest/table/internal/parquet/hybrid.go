package parquet

import (
	"encoding/binary"
	"math/bits"
)

// Numbers of a width of bits as runs of equal ones and runs of packed ones (Encodings.md, RLE):
//
//	varint n<<1      a number in whole bytes, n times
//	varint n<<1 | 1  8·n numbers, each of width bits, the lowest first
//
// small are levels, and indexes of dictionaries.
type small interface{ ~uint8 | ~uint32 }

// equalRun is the number of equal numbers from which on a run of its own is shorter.
const equalRun = 16

// appendHybrid appends numbers of a width.
func appendHybrid[T small](dst []byte, values []T, width int) []byte {
	for at := 0; at < len(values); {
		run := runLength(values[at:])
		if run >= equalRun || width == 0 {
			dst = appendRun(dst, values[at], run, width)
			at += run
			continue
		}
		end := at + 8
		for end < len(values) && runLength(values[end:min(end+equalRun, len(values))]) < equalRun {
			end += 8
		}
		end = min(end, len(values))
		dst = appendPacked(dst, values[at:end], width)
		at = end
	}
	return dst
}

func runLength[T small](values []T) int {
	for i, v := range values {
		if v != values[0] {
			return i
		}
	}
	return len(values)
}

func appendRun[T small](dst []byte, v T, n, width int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for i := range (width + 7) / 8 {
		dst = append(dst, byte(uint32(v)>>(8*i)))
	}
	return dst
}

func appendPacked[T small](dst []byte, values []T, width int) []byte {
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	held, have := uint64(0), 0
	for i := range groups * 8 {
		if i < len(values) {
			held |= uint64(values[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			dst = append(dst, byte(held))
			held >>= 8
		}
	}
	return dst
}

var errRuns = corruptf("runs of small numbers are cut off")

// readHybrid fills dst, and checks that no number exceeds a limit.
func readHybrid[T small](dst []T, data []byte, width int, limit uint32) error {
	for at := 0; at < len(dst); {
		n, size := binary.Uvarint(data)
		if size <= 0 || n>>1 == 0 {
			return errRuns
		}
		data = data[size:]
		count := int(min(n>>1, uint64(len(dst))))
		var err error
		if n&1 == 0 {
			count = min(count, len(dst)-at)
			data, err = readRun(dst[at:at+count], data, width, limit)
		} else {
			count = min(count*8, len(dst)-at)
			data, err = readPacked(dst[at:at+count], data, width, limit)
		}
		if err != nil {
			return err
		}
		at += count
	}
	return nil
}

func readRun[T small](dst []T, data []byte, width int, limit uint32) ([]byte, error) {
	n := (width + 7) / 8
	if len(data) < n {
		return nil, errRuns
	}
	v := uint32(0)
	for i := range n {
		v |= uint32(data[i]) << (8 * i)
	}
	if v > limit || v>>width != 0 {
		return nil, corruptf("%d, of at most %d and %d bits", v, limit, width)
	}
	for i := range dst {
		dst[i] = T(v)
	}
	return data[n:], nil
}

func readPacked[T small](dst []T, data []byte, width int, limit uint32) ([]byte, error) {
	size := (len(dst) + 7) / 8 * width
	if len(data) < size {
		return nil, errRuns
	}
	held, have, at := uint64(0), 0, 0
	for i := range dst {
		for have < width {
			held |= uint64(data[at]) << have
			at++
			have += 8
		}
		v := uint32(held & (1<<width - 1))
		held >>= width
		have -= width
		if v > limit {
			return nil, corruptf("%d, of at most %d", v, limit)
		}
		dst[i] = T(v)
	}
	return data[size:], nil
}

// widthOf is the number of bits that numbers up to a limit take.
func widthOf(limit int) int { return bits.Len(uint(limit)) }
