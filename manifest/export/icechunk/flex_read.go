package icechunk

import (
	"bytes"
	"encoding/binary"
	"math"
)

// flexReader reads FlexBuffers of all widths. Every distance is checked against the buffer.
type flexReader struct {
	data   []byte
	values int // the number of values that may still be read; a small buffer can refer to the same one many times
}

const (
	maxFlexDepth  = 32
	maxFlexValues = 1 << 20
)

// decodeFlex returns a value that encodeFlex can encode. Typed vectors become []any.
func decodeFlex(data []byte) (any, error) {
	if len(data) < 3 {
		return nil, corruptf("FlexBuffers of %d bytes", len(data))
	}
	width, kind := int(data[len(data)-1]), data[len(data)-2]
	r := &flexReader{data: data[:len(data)-2], values: maxFlexValues}
	return r.value(len(r.data)-width, width, kind, maxFlexDepth)
}

// number returns the unsigned number at a position.
func (r *flexReader) number(at, width int) (uint64, error) {
	if at < 0 || at > len(r.data) || width > len(r.data)-at {
		return 0, corruptf("FlexBuffers: %d bytes at %d exceed the buffer of %d bytes", width, at, len(r.data))
	}
	switch b := r.data[at:]; width {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	case 8:
		return binary.LittleEndian.Uint64(b), nil
	}
	return 0, corruptf("FlexBuffers: invalid width of %d bytes", width)
}

// follow returns the position that a distance refers to.
func (r *flexReader) follow(at, width int) (int, error) {
	distance, err := r.number(at, width)
	if err != nil {
		return 0, err
	}
	if distance > uint64(at) {
		return 0, corruptf("FlexBuffers: distance %d at %d points before the buffer", distance, at)
	}
	return at - int(distance), nil
}

// value reads the element at a position in a container with elements of the given width.
func (r *flexReader) value(at, width int, packed byte, depth int) (any, error) {
	if r.values--; depth == 0 || r.values < 0 {
		return nil, corruptf("FlexBuffers: more than %d values, or nested more than %d deep", maxFlexValues, maxFlexDepth)
	}
	kind := packed >> 2
	if kind <= flexFloat || kind == flexBool {
		return r.scalar(at, width, kind)
	}
	to, err := r.follow(at, width)
	if err != nil {
		return nil, err
	}
	inner := 1 << (packed & 3)
	switch {
	case kind == flexKey:
		return r.key(to)
	case kind == flexString, kind == flexBlob:
		return r.text(to, inner, kind)
	case kind >= flexInIndirect && kind < flexMap:
		return r.scalar(to, inner, kind-flexInIndirect+flexInt)
	case kind == flexMap:
		return r.mapping(to, inner, depth)
	case kind == flexVector:
		return r.vector(to, inner, 0, depth)
	case kind >= flexTyped && kind <= flexTyped+3:
		return r.vector(to, inner, (kind-flexTyped+flexInt)<<2, depth)
	case kind == flexBools:
		return r.vector(to, inner, flexBool<<2, depth)
	}
	return nil, newerf("FlexBuffers of type %d", kind)
}

func (r *flexReader) scalar(at, width int, kind byte) (any, error) {
	n, err := r.number(at, width)
	if err != nil || kind == flexNull {
		return nil, err
	}
	switch kind {
	case flexUint:
		return n, nil
	case flexBool:
		return n != 0, nil
	case flexInt:
		// Shift left, then arithmetically right, to extend the sign.
		shift := 64 - 8*width
		return int64(n<<shift) >> shift, nil
	case flexFloat:
		if width == 4 {
			return float64(math.Float32frombits(uint32(n))), nil
		}
		if width == 8 {
			return math.Float64frombits(n), nil
		}
	}
	return nil, corruptf("FlexBuffers: a number of type %d in %d bytes", kind, width)
}

func (r *flexReader) key(at int) (string, error) {
	n := bytes.IndexByte(r.data[at:], 0)
	if n < 0 {
		return "", corruptf("FlexBuffers: the key at %d is not terminated", at)
	}
	return string(r.data[at : at+n]), nil
}

// length returns the length stored before a position, for elements of the given size.
func (r *flexReader) length(at, width, size int) (int, error) {
	n, err := r.number(at-width, width)
	if err != nil {
		return 0, err
	}
	if n > uint64((len(r.data)-at)/size) {
		return 0, corruptf("FlexBuffers: %d elements at %d exceed the buffer", n, at)
	}
	return int(n), nil
}

func (r *flexReader) text(at, width int, kind byte) (any, error) {
	n, err := r.length(at, width, 1)
	if err != nil {
		return nil, err
	}
	if kind == flexBlob {
		return bytes.Clone(r.data[at : at+n]), nil
	}
	return string(r.data[at : at+n]), nil
}

// vector reads elements of one type or, if packed is 0, of the types that follow the elements.
func (r *flexReader) vector(at, width int, packed byte, depth int) ([]any, error) {
	size := width
	if packed == 0 {
		size++
	}
	n, err := r.length(at, width, size)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for i := range n {
		of := packed
		if packed == 0 {
			of = r.data[at+n*width+i]
		}
		v, err := r.value(at+i*width, width, of, depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (r *flexReader) mapping(at, width, depth int) (any, error) {
	values, err := r.vector(at, width, 0, depth)
	if err != nil {
		return nil, err
	}
	keys, err := r.follow(at-3*width, width)
	if err != nil {
		return nil, err
	}
	keyWidth, err := r.number(at-2*width, width)
	if err != nil {
		return nil, err
	}
	names, err := r.vector(keys, int(keyWidth&15), flexKey<<2, depth)
	if err != nil {
		return nil, err
	}
	if len(names) != len(values) {
		return nil, corruptf("FlexBuffers: %d keys for %d values", len(names), len(values))
	}
	out := map[string]any{}
	for i, name := range names {
		out[name.(string)] = values[i]
	}
	return out, nil
}
