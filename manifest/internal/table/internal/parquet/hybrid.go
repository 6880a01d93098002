package parquet

import (
	"encoding/binary"
	"math/bits"
)

// The encoding of small numbers as runs of equal numbers and runs of packed numbers (Encodings.md,
// RLE):
//
//	uvarint n<<1      one number in whole bytes, repeated n times
//	uvarint n<<1 | 1  8·n numbers of width bits each, lowest bits first
//
// For example, with a width of 1 bit, twenty ones and then 0, 1, 0 are 28 01 │ 03 02.
//
// smallNumber is the type of levels, and indexes of dictionaries.
type smallNumber interface{ ~uint8 | ~uint32 }

// equalRun is the number of equal numbers from which on a run of its own is shorter.
const equalRun = 16

// appendHybrid appends numbers of a width in bits.
func appendHybrid[T smallNumber](dst []byte, values []T, width int) []byte {
	for at := 0; at < len(values); {
		run := runLength(values[at:])
		if run >= equalRun || width == 0 {
			dst = appendRun(dst, values[at], run, width)
			at += run
			continue
		}
		// Packed runs have a multiple of 8 numbers; stop before a long run of equal ones.
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

func runLength[T smallNumber](values []T) int {
	for i, v := range values {
		if v != values[0] {
			return i
		}
	}
	return len(values)
}

func appendRun[T smallNumber](dst []byte, v T, n, width int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for i := range (width + 7) / 8 {
		dst = append(dst, byte(uint32(v)>>(8*i)))
	}
	return dst
}

func appendPacked[T smallNumber](dst []byte, values []T, width int) []byte {
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	pending, have := uint64(0), 0
	for i := range groups * 8 {
		if i < len(values) {
			pending |= uint64(values[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			dst = append(dst, byte(pending))
			pending >>= 8
		}
	}
	return dst
}

var errRuns = corruptf("runs of small numbers are truncated")

// readHybrid decodes len(dst) numbers, and checks that none exceeds the limit.
func readHybrid[T smallNumber](dst []T, data []byte, width int, limit uint32) error {
	for at := 0; at < len(dst); {
		n, size := binary.Uvarint(data)
		if size <= 0 || n>>1 == 0 {
			return errRuns
		}
		data = data[size:]
		// Clip before multiplying by 8, so that a hostile count cannot overflow.
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

func readRun[T smallNumber](dst []T, data []byte, width int, limit uint32) ([]byte, error) {
	n := (width + 7) / 8
	if len(data) < n {
		return nil, errRuns
	}
	v := uint32(0)
	for i := range n {
		v |= uint32(data[i]) << (8 * i)
	}
	if v > limit || v>>width != 0 {
		return nil, corruptf("number %d exceeds the limit %d or %d bits", v, limit, width)
	}
	for i := range dst {
		dst[i] = T(v)
	}
	return data[n:], nil
}

func readPacked[T smallNumber](dst []T, data []byte, width int, limit uint32) ([]byte, error) {
	size := (len(dst) + 7) / 8 * width
	if len(data) < size {
		return nil, errRuns
	}
	pending, have, at := uint64(0), 0, 0
	for i := range dst {
		for have < width {
			pending |= uint64(data[at]) << have
			at++
			have += 8
		}
		v := uint32(pending & (1<<width - 1))
		pending >>= width
		have -= width
		if v > limit {
			return nil, corruptf("number %d exceeds the limit %d", v, limit)
		}
		dst[i] = T(v)
	}
	return data[size:], nil
}

// widthOf returns the number of bits for numbers up to a limit.
func widthOf(limit int) int { return bits.Len(uint(limit)) }
