package codec

import (
	"varve/codec/internal/corrupt"
	"varve/grid"
)

// ranged is a BytesToBytes that can decode a part of the bytes alone.
type ranged interface {
	// decodeRange fills dst with the decoded bytes from offset on. It is an error if
	// all of them are not size bytes.
	decodeRange(dst, src []byte, offset, size int) error
}

// decodesSpans reports whether some of the bytes that c decodes to can be had for less
// than all of them.
func decodesSpans(c BytesToBytes) bool {
	switch c.(type) {
	case trimmer, ranged:
		return true
	}
	return false
}

// span decodes a region from all stored bytes: of what they decode to, no more than
// the stretch from the region's first element to its last.
func (pt *part) span(a *arena, stored []byte) error {
	p := pt.p
	for i := len(p.bytes) - 1; i > 0; i-- {
		out, err := p.decodeStage(a, i, nil, stored)
		if err != nil {
			return p.at(len(p.arrays)+1+i, err)
		}
		stored = out
	}
	form := p.innermost()
	at := bounds(form, pt.region)
	stretch, err := p.decodeSpan(a, stored, at)
	if err != nil {
		return p.at(len(p.arrays)+1, err)
	}
	return pt.rows(a, []Range{at}, [][]byte{stretch}, 0)
}

// decodeSpan undoes the innermost codec from bytes to bytes for a stretch of what it
// was given.
func (p *Pipeline) decodeSpan(a *arena, src []byte, at Range) ([]byte, error) {
	size := p.innermost().Bytes()
	if t, ok := p.bytes[0].(trimmer); ok {
		body, err := t.trim(src)
		if err != nil {
			return nil, err
		}
		if len(body) != size {
			return nil, corrupt.Errorf("%d bytes without the checksum, want %d", len(body), size)
		}
		return body[at.Offset:at.End()], nil
	}
	stretch := a.bytes(int(at.Length))
	return stretch, p.bytes[0].(ranged).decodeRange(stretch, src, int(at.Offset), size)
}

// bounds is the stretch of a chunk's bytes from a region's first element to its last.
func bounds(f Form, r grid.Region) Range {
	first, last := int64(0), int64(0)
	for k, length := range f.Shape {
		first = first*length + r.Origin[k]
		last = last*length + r.End(k) - 1
	}
	size := int64(f.Type.Size)
	return Range{first * size, (last - first + 1) * size}
}
