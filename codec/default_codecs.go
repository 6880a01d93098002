package codec

import (
	"encoding/json"
	"errors"
)

// DefaultCodecs returns the codecs for chunks that varve encodes itself, where no source
// determines them: little-endian bytes and zstd.
func DefaultCodecs(t Type) []Spec {
	zstd := Spec{Name: "zstd", Config: json.RawMessage(`{"level":3,"checksum":false}`)}
	switch {
	case t.Kind == String:
		return []Spec{{Name: "vlen-utf8"}, zstd}
	case t.Kind == Bytes:
		return []Spec{{Name: "vlen-bytes"}, zstd}
	}
	return []Spec{inMemoryOrder(t), zstd}
}

// inMemoryOrder returns the codec "bytes" for elements as they are in memory.
func inMemoryOrder(t Type) Spec {
	if hasByteOrder(t) {
		return InOrder(LittleEndian)
	}
	return InOrder("")
}

// leastPacked is the size in bytes from which small arrays are compressed. Below it the codec's own
// header and start-up cost outweigh the gain.
const leastPacked = 4096

// CodecsOfCoordinates returns the codecs for an array that is mostly equal steps, such as a coordinate:
// shuffle and zstd reduce these to almost nothing.
func CodecsOfCoordinates(form Form) []Spec {
	t := form.Type
	switch {
	case t.Kind == String:
		return []Spec{{Name: "vlen-utf8"}}
	case t.Kind == Bytes:
		return []Spec{{Name: "vlen-bytes"}}
	}
	specs := []Spec{inMemoryOrder(t)}
	bytes := int64(t.Size)
	for _, n := range form.Shape {
		bytes *= max(n, 1)
	}
	// Blosc shuffles elements of 2 to 16 bytes; others gain nothing.
	if bytes < leastPacked || t.Size < 2 || t.Size > 16 {
		return specs
	}
	return append(specs, Spec{Name: "blosc", Config: bloscConfig("zstd", 5, t)})
}

// hasByteOrder reports whether elements have words of more than one byte.
func hasByteOrder(t Type) bool {
	switch t.Kind {
	case Bool, Raw, FixedBytes:
		return false
	case Struct:
		for _, f := range t.Fields {
			if hasByteOrder(f.Type) {
				return true
			}
		}
		return false
	case Complex:
		return true
	}
	return t.Size > 1
}

// ExactCodecs returns codecs that store arbitrary elements exactly: specs itself if
// Pipeline.CheckExact accepts it, otherwise DefaultCodecs.
func ExactCodecs(specs []Spec, form Form) (codecs []Spec, same bool, err error) {
	p, err := New(specs, form)
	if err != nil {
		return nil, false, err
	}
	if err := p.CheckExact(); errors.Is(err, errors.ErrUnsupported) {
		return DefaultCodecs(form.Type), false, nil
	} else if err != nil {
		return nil, false, err
	}
	return specs, true, nil
}
