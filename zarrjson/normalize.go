package zarrjson

import (
	"encoding/json"

	"varve/codec"
)

// normalizer converts codecs in the spelling of drafts and of other writers to
// zarr-python's:
//
//	{"name": "transpose", "configuration": {"order": "F"}}   drafts, WebKnossos: "F" reverses the axes, "C" keeps them
//	{"name": "endian", "configuration": {…}}                 drafts: bytes
//	{"name": "bytes"} for elements of more than one byte     WebKnossos, zarrita: little-endian
//	{"name": "bitround", "configuration": {…}}               zarr-extensions, zarrs: numcodecs.bitround
//	no codec at all                                          zarrita: bytes, little-endian
//
// Clients know the resulting spelling, so stored bytes can be served without re-encoding.
type normalizer struct {
	rank       int  // of a chunk; less than 0: change nothing
	isVarying  bool // elements have no fixed size
	hasWords   bool // elements are words of more than one byte
	hasChanged bool // a spelling was converted
}

var littleEndian = codec.InOrder(codec.LittleEndian)

// normalizerOf returns the normalizer for the codecs of an array.
func normalizerOf(a *Array) *normalizer {
	t := a.DataType.typ
	return &normalizer{rank: len(a.Shape), isVarying: t.Varies(), hasWords: isMultibyte(t)}
}

// noNormalizer returns a normalizer that changes nothing.
func noNormalizer() *normalizer { return &normalizer{rank: -1} }

// isMultibyte reports whether a type has words of more than one byte, and so a byte
// order.
func isMultibyte(t codec.Type) bool {
	switch t.Kind {
	case codec.Int, codec.Uint, codec.Float, codec.Complex, codec.DateTime, codec.TimeDelta, codec.FixedUTF32:
		return t.Size > 1
	}
	return false
}

// emptyList returns the codecs that an empty list means.
func (s *normalizer) emptyList(v value) ([]codec.Spec, error) {
	if s.isVarying || s.rank < 0 {
		return nil, v.refuse("a list of at least one codec")
	}
	s.hasChanged = true
	if s.hasWords {
		return []codec.Spec{littleEndian}, nil
	}
	return []codec.Spec{codec.InOrder("")}, nil
}

func (s *normalizer) normalizeName(name string) string {
	if s.rank < 0 {
		return name
	}
	switch name {
	case "endian":
		s.hasChanged = true
		return "bytes"
	case "bitround":
		s.hasChanged = true
		return "numcodecs.bitround"
	}
	return name
}

// normalizeConfig returns the configuration of a codec; raw if nothing changes.
func (s *normalizer) normalizeConfig(name string, config *object, raw json.RawMessage) (json.RawMessage, error) {
	switch name {
	case "bytes":
		if s.hasWords && len(config.members) == 0 {
			s.hasChanged = true
			return littleEndian.Config, nil
		}
	case "transpose":
		if order, ok := config.take("order"); ok && s.rank >= 0 && len(config.members) == 0 {
			return s.normalizeOrder(order, raw)
		}
	case "sharding_indexed":
		return s.normalizeInner(config, raw)
	}
	return raw, nil
}

// normalizeOrder returns the configuration of a transpose whose order is a letter.
func (s *normalizer) normalizeOrder(v value, raw json.RawMessage) (json.RawMessage, error) {
	letter := string(v.raw)
	if letter != `"C"` && letter != `"F"` {
		return raw, nil
	}
	s.hasChanged = true
	order := make([]int, s.rank)
	for i := range order {
		order[i] = i
		if letter == `"F"` {
			order[i] = s.rank - 1 - i
		}
	}
	return json.Marshal(map[string][]int{"order": order})
}

// normalizeInner returns the configuration of a shard with its inner codecs normalized.
// It also checks their names.
func (s *normalizer) normalizeInner(config *object, raw json.RawMessage) (json.RawMessage, error) {
	lists := map[string]*normalizer{"codecs": {rank: s.rank, isVarying: s.isVarying, hasWords: s.hasWords}, "index_codecs": {rank: s.rank, hasWords: s.rank >= 0}}
	// A shard's index has one dimension more than the shard: offset and length.
	if s.rank >= 0 {
		lists["index_codecs"].rank++
	}
	specs := map[string][]codec.Spec{}
	for _, name := range []string{"codecs", "index_codecs"} {
		for _, m := range config.members {
			if m.name != name {
				continue
			}
			var err error
			if specs[name], err = readCodecs(config.memberValue(m), lists[name]); err != nil {
				return nil, err
			}
		}
	}
	if !lists["codecs"].hasChanged && !lists["index_codecs"].hasChanged {
		return raw, nil
	}
	s.hasChanged = true
	return encode(Compact, func(w *writer) error {
		w.begin('{')
		for _, m := range config.members {
			w.name(m.name)
			if specs[m.name] == nil {
				w.value(m.raw)
			} else if err := writeCodecs(w, specs[m.name]); err != nil {
				return err
			}
		}
		w.end('}')
		return nil
	})
}
