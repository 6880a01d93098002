package zarrjson

import (
	"encoding/json"

	"varve/codec"
)

// spelling takes codecs that others than zarr-python spell in ways of their own, or of drafts,
// for what they mean:
//
//	{"name": "transpose", "configuration": {"order": "F"}}   drafts, WebKnossos: the axes turned round; "C" leaves them
//	{"name": "endian", "configuration": {…}}                 drafts: bytes
//	{"name": "bytes"} of words of more than one byte         WebKnossos, zarrita: little-endian
//	{"name": "bitround", "configuration": {…}}               zarr-extensions, zarrs: numcodecs.bitround
//	no codec at all                                          zarrita: bytes, little-endian
//
// What was read is spelt as clients know it, so that stored bytes can be handed on.
type spelling struct {
	axes    int  // of a chunk; less than 0 if nobody knows
	varies  bool // elements have no fixed size
	wide    bool // elements are words of more than one byte
	changed bool // something was spelt in another way
}

const littleEndian = `{"endian":"little"}`

// spellingOf returns how the codecs of an array are read.
func spellingOf(a *Array) *spelling {
	t := a.DataType.typ
	return &spelling{axes: len(a.Shape), varies: t.Varies(), wide: isWide(t)}
}

// asItStands leaves every codec as it is.
func asItStands() *spelling { return &spelling{axes: -1} }

func isWide(t codec.Type) bool {
	switch t.Kind {
	case codec.Int, codec.Uint, codec.Float, codec.Complex, codec.DateTime, codec.TimeDelta, codec.FixedUTF32:
		return t.Size > 1
	}
	return false
}

// none returns the codecs of an empty list.
func (s *spelling) none(v value) ([]codec.Spec, error) {
	if s.varies || s.axes < 0 {
		return nil, v.refuse("a list of at least one codec")
	}
	s.changed = true
	bytes := codec.Spec{Name: "bytes"}
	if s.wide {
		bytes.Config = json.RawMessage(littleEndian)
	}
	return []codec.Spec{bytes}, nil
}

func (s *spelling) name(name string) string {
	if s.axes < 0 {
		return name
	}
	switch name {
	case "endian":
		s.changed = true
		return "bytes"
	case "bitround":
		s.changed = true
		return "numcodecs.bitround"
	}
	return name
}

// config returns the configuration of a codec, raw if nothing is to be changed.
func (s *spelling) config(name string, config *object, raw json.RawMessage) (json.RawMessage, error) {
	switch name {
	case "bytes":
		if s.wide && len(config.members) == 0 {
			s.changed = true
			return json.RawMessage(littleEndian), nil
		}
	case "transpose":
		if order, ok := config.take("order"); ok && s.axes >= 0 && len(config.members) == 0 {
			return s.order(order, raw)
		}
	case "sharding_indexed":
		return s.inner(config, raw)
	}
	return raw, nil
}

// order returns the configuration of a transpose whose order is a letter.
func (s *spelling) order(v value, raw json.RawMessage) (json.RawMessage, error) {
	letter := string(v.raw)
	if letter != `"C"` && letter != `"F"` {
		return raw, nil
	}
	s.changed = true
	order := make([]int, s.axes)
	for i := range order {
		order[i] = i
		if letter == `"F"` {
			order[i] = s.axes - 1 - i
		}
	}
	return json.Marshal(map[string][]int{"order": order})
}

// inner reads the codecs inside of shards, also for what is wrong with their names.
func (s *spelling) inner(config *object, raw json.RawMessage) (json.RawMessage, error) {
	lists := map[string]*spelling{"codecs": {axes: s.axes, varies: s.varies, wide: s.wide}, "index_codecs": {axes: s.axes, wide: s.axes >= 0}}
	if s.axes >= 0 {
		lists["index_codecs"].axes++
	}
	specs := map[string][]codec.Spec{}
	for _, name := range []string{"codecs", "index_codecs"} {
		for _, m := range config.members {
			if m.name != name {
				continue
			}
			var err error
			if specs[name], err = codecs(config.at(m), lists[name]); err != nil {
				return nil, err
			}
		}
	}
	if !lists["codecs"].changed && !lists["index_codecs"].changed {
		return raw, nil
	}
	s.changed = true
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
