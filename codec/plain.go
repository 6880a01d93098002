package codec

import (
	"encoding/json"
	"errors"
)

// Plain is how chunks are encoded that are no file's.
func Plain(t Type) []Spec {
	zstd := Spec{Name: "zstd", Config: json.RawMessage(`{"level":3,"checksum":false}`)}
	switch {
	case t.Kind == String:
		return []Spec{{Name: "vlen-utf8"}, zstd}
	case t.Kind == Bytes:
		return []Spec{{Name: "vlen-bytes"}, zstd}
	case ordered(t):
		return []Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}, zstd}
	}
	return []Spec{{Name: "bytes"}, zstd}
}

// ordered reports whether elements have words whose bytes have an order.
func ordered(t Type) bool {
	switch t.Kind {
	case Bool, Raw, FixedBytes:
		return false
	case Struct:
		for _, f := range t.Fields {
			if ordered(f.Type) {
				return true
			}
		}
		return false
	case Complex:
		return true
	}
	return t.Size > 1
}

// ForAny returns the codecs in which any elements can be stored that were stored in some: the
// same if Pipeline.Exact says so, else plain ones.
func ForAny(specs []Spec, form Form) (codecs []Spec, same bool, err error) {
	p, err := New(specs, form)
	if err != nil {
		return nil, false, err
	}
	if err := p.Exact(); errors.Is(err, errors.ErrUnsupported) {
		return Plain(form.Type), false, nil
	} else if err != nil {
		return nil, false, err
	}
	return specs, true, nil
}
