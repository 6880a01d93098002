package lz4

import (
	"encoding/binary"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// leastMatch is the length of a match whose token has 0.
const leastMatch = 4

// ResumeSize returns the size of the buffer that Resume needs for size bytes.
func ResumeSize(size int) int { return WindowSize + size }

// Resume decodes size bytes from a point of SizedPoints or HDF5Points on, and returns them as a part of room, which has
// ResumeSize(size) bytes. src begins at the point, and need not contain more than the sequences with the wanted bytes.
func Resume(room []byte, size int, window, src []byte) ([]byte, error) {
	p, rest, err := parsePlace(window)
	if err != nil {
		return nil, err
	}
	if err := access.FillWindow(room[:WindowSize], rest); err != nil {
		return nil, err
	}
	r := resumer{place: p, dst: room[:WindowSize+size], src: src, op: WindowSize}
	for r.op < len(r.dst) {
		if err := r.block(); err != nil {
			return nil, err
		}
	}
	return r.dst[WindowSize:], nil
}

// resumer decodes from a point on until dst is full.
type resumer struct {
	place
	dst, src []byte
	op, ip   int
	first    int // the first byte of dst to which matches may refer
}

// block decodes the rest of a block, and proceeds to the next one.
func (r *resumer) block() error {
	if r.stored == 0 {
		if err := r.header(); err != nil {
			return err
		}
	}
	from, end := r.op, len(r.src)
	if r.stored < end-r.ip {
		end = r.ip + r.stored
	}
	limit := len(r.dst)
	if r.decoded < limit-r.op {
		limit = r.op + r.decoded
	}
	if err := r.sequences(end, limit); err != nil {
		return err
	}
	r.total -= r.op - from
	r.ip, r.stored, r.literals = end, 0, 0
	return nil
}

// header reads the length of a block of an HDF5 chunk.
func (r *resumer) header() error {
	if r.blockSize == 0 || r.total <= 0 || len(r.src)-r.ip < 4 {
		return corrupt.Errorf("lz4: no block at byte %d of a span, %d bytes are missing", r.ip, len(r.dst)-r.op)
	}
	r.stored, r.decoded = int(binary.BigEndian.Uint32(r.src[r.ip:])), min(r.blockSize, r.total)
	r.ip += 4
	r.first = r.op
	if r.isStored() {
		r.literals = 1 + r.stored
	}
	if r.stored == 0 {
		return corrupt.Errorf("lz4: an empty block at byte %d of a span", r.ip)
	}
	return nil
}

// sequences decodes sequences of src[:end] until dst has limit bytes.
func (r *resumer) sequences(end, limit int) error {
	src := r.src[:end]
	match, literals := r.match, r.literals-1
	for r.op < limit {
		start := r.ip
		if literals < 0 {
			if r.ip >= end {
				return corrupt.Errorf("lz4 block: truncated at byte %d of a span", r.ip)
			}
			token := src[r.ip]
			r.ip++
			literals, match = extend(int(token>>4), src, &r.ip), int(token&15)
		}
		n := min(literals, limit-r.op)
		if n > end-r.ip {
			return corrupt.Errorf("lz4 block: sequence at byte %d of a span: %d literals, only %d bytes are left", start, literals, end-r.ip)
		}
		copy(r.dst[r.op:], src[r.ip:r.ip+n])
		r.op, r.ip = r.op+n, r.ip+n
		literals = -1
		if r.op == limit {
			break
		}
		if end-r.ip < 2 {
			return corrupt.Errorf("lz4 block: sequence at byte %d of a span: truncated in the match offset", start)
		}
		offset := int(binary.LittleEndian.Uint16(src[r.ip:]))
		r.ip += 2
		if offset == 0 || offset > r.op-r.first {
			return corrupt.Errorf("lz4 block: sequence at byte %d of a span: match offset %d, must be 1 to %d", start, offset, r.op-r.first)
		}
		r.copyMatch(offset, min(extend(match, src, &r.ip)+leastMatch, limit-r.op))
	}
	return nil
}

// copyMatch appends n bytes from offset bytes back. A match may overlap the bytes that it appends.
func (r *resumer) copyMatch(offset, n int) {
	from, end := r.op-offset, r.op+n
	for r.op < end {
		r.op += copy(r.dst[r.op:end], r.dst[from:r.op])
	}
}
