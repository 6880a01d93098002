package codec

import (
	"varve/codec/internal/corrupt"
	"varve/grid"
)

// rangeDecoder is a BytesToBytes that can decode a part of the bytes alone.
type rangeDecoder interface {
	// decodeRange fills dst with the decoded bytes from offset on. It returns an error if
	// src does not decode to size bytes.
	decodeRange(dst, src []byte, offset, size int) error
}

// decodesSpans reports whether decoding a part of the bytes of c costs less than all of
// them.
func decodesSpans(c BytesToBytes) bool {
	switch c.(type) {
	case trimmer, rangeDecoder:
		return true
	}
	return false
}

// decodeSpan decodes a region from all stored bytes, but decompresses only the range from
// the region's first element to its last.
func (pt *part) decodeSpan(a *arena, stored []byte) error {
	p := pt.p
	// Only the innermost codec can decode a part: the ones before it need all of its
	// bytes.
	for i := len(p.bytesCodecs) - 1; i > 0; i-- {
		out, err := p.decodeStage(a, i, nil, stored)
		if err != nil {
			return p.stageError(len(p.arrayCodecs)+1+i, err)
		}
		stored = out
	}
	form := p.innermost()
	at := boundsOf(form, pt.region)
	stretch, err := p.decodeSpan(a, stored, at)
	if err != nil {
		return p.stageError(len(p.arrayCodecs)+1, err)
	}
	return pt.decodeRows(a, []Range{at}, [][]byte{stretch}, 0)
}

// decodeSpan decodes a range of the input of the innermost bytes-to-bytes codec.
func (p *Pipeline) decodeSpan(a *arena, src []byte, at Range) ([]byte, error) {
	size := p.innermost().Bytes()
	if t, ok := p.bytesCodecs[0].(trimmer); ok {
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
	return stretch, p.bytesCodecs[0].(rangeDecoder).decodeRange(stretch, src, int(at.Offset), size)
}

// boundsOf returns the byte range of a chunk from a region's first element to its last.
func boundsOf(f Form, r grid.Region) Range {
	first, last := int64(0), int64(0)
	for k, length := range f.Shape {
		first = first*length + r.Origin[k]
		last = last*length + r.End(k) - 1
	}
	size := int64(f.Type.Size)
	return Range{first * size, (last - first + 1) * size}
}
