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

// runs decodes small numbers, a part at a time.
type runs struct {
	data  []byte
	width int
	limit uint32 // no number may exceed it

	equal   uint64 // numbers left of a run of equal numbers
	number  uint32
	packed  uint64 // numbers left of a packed run
	pending uint64 // bits of a packed run that are already read
	have    int    // number of these bits
}

var errRuns = corruptf("runs of small numbers are truncated")

// readRuns decodes the next len(dst) numbers.
func readRuns[T smallNumber](r *runs, dst []T) error {
	for len(dst) > 0 {
		if r.equal == 0 && r.packed == 0 {
			if err := r.start(); err != nil {
				return err
			}
			continue
		}
		n := int(min(r.equal+r.packed, uint64(len(dst))))
		if r.equal > 0 {
			for i := range dst[:n] {
				dst[i] = T(r.number)
			}
			r.equal -= uint64(n)
		} else if err := unpack(r, dst[:n]); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// start reads the header of a run. Runs may be empty.
func (r *runs) start() error {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		return errRuns
	}
	r.data, r.pending, r.have = r.data[size:], 0, 0
	if n&1 == 0 {
		return r.startEqual(n >> 1)
	}
	// Clip before multiplying by 8, so that a hostile count cannot overflow.
	groups := min(n>>1, 1<<40)
	// Writers may leave out the end of the last run, whose numbers do not count.
	if r.width > 0 {
		groups = min(groups, uint64(len(r.data)/r.width))
	}
	if r.packed = 8 * groups; r.packed == 0 && n>>1 > 0 {
		return errRuns
	}
	return nil
}

func (r *runs) startEqual(n uint64) error {
	size := (r.width + 7) / 8
	if len(r.data) < size {
		return errRuns
	}
	r.number = 0
	for i := range size {
		r.number |= uint32(r.data[i]) << (8 * i)
	}
	if n > 0 && (r.number > r.limit || r.number>>r.width != 0) {
		return corruptf("number %d exceeds the limit %d or %d bits", r.number, r.limit, r.width)
	}
	r.data, r.equal = r.data[size:], n
	return nil
}

// unpack decodes numbers of a packed run that has at least so many.
func unpack[T smallNumber](r *runs, dst []T) error {
	data, pending, have, at := r.data, r.pending, r.have, 0
	width, mask := r.width, uint64(1)<<r.width-1
	for i := range dst {
		for have < width {
			pending |= uint64(data[at]) << have
			at++
			have += 8
		}
		v := uint32(pending & mask)
		pending >>= width
		have -= width
		if v > r.limit {
			return corruptf("number %d exceeds the limit %d", v, r.limit)
		}
		dst[i] = T(v)
	}
	r.data, r.pending, r.have = data[at:], pending, have
	r.packed -= uint64(len(dst))
	return nil
}

// readHybrid decodes len(dst) numbers, and checks that none exceeds the limit.
func readHybrid[T smallNumber](dst []T, data []byte, width int, limit uint32) error {
	return readRuns(&runs{data: data, width: width, limit: limit}, dst)
}

// widthOf returns the number of bits for numbers up to a limit.
func widthOf(limit int) int { return bits.Len(uint(limit)) }
