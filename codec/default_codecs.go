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
	case hasByteOrder(t):
		return []Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}, zstd}
	}
	return []Spec{{Name: "bytes"}, zstd}
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
