package zarrjson

import (
	"encoding/binary"
	"encoding/json"

	"varve/codec"
)

// codecs reads a list of codecs, the first of which is nearest to the elements.
func codecs(v value, spelt *spelling) ([]codec.Spec, error) {
	list, err := v.list("a list of codecs")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return spelt.none(v)
	}
	specs := make([]codec.Spec, len(list))
	for i, e := range list {
		if specs[i], err = codecSpec(e, spelt); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

func codecSpec(v value, spelt *spelling) (codec.Spec, error) {
	name, config, err := v.named()
	if err != nil {
		return codec.Spec{}, err
	}
	if name == "" {
		return codec.Spec{}, wrong(join(v.path, "name"), "empty")
	}
	if err := documentable(name); err != nil {
		return codec.Spec{}, at(v.path, err)
	}
	spec := codec.Spec{Name: spelt.name(name)}
	if config.raw != nil {
		spec.Config = json.RawMessage(compacted(config.raw))
	}
	spec.Config, err = spelt.config(spec.Name, config, spec.Config)
	return spec, err
}

// documentable refuses the names that varve gives to codecs of its own, which no other
// reader knows and which stay inside.
func documentable(name string) error {
	if info, known := codec.Lookup(name); known && info.Client == codec.NoClient {
		return unsupported("name", "%q is no codec of Zarr; rebuild the chunks with one that is", name)
	}
	return nil
}

func writeCodecs(w *writer, specs []codec.Spec) error {
	w.begin('[')
	for i := range specs {
		raw, err := codecText(&specs[i])
		if err != nil {
			return at(index("codecs", i), err)
		}
		w.next()
		w.value(raw)
	}
	w.end(']')
	return nil
}

var knownCodecs memo // texts of codecs by name and configuration

// codecText returns the text of a codec, which has passed the check that reading it would make.
func codecText(spec *codec.Spec) ([]byte, error) {
	var room [128]byte
	key := append(binary.AppendUvarint(room[:0], uint64(len(spec.Name))), spec.Name...)
	if spec.Config != nil {
		key = append(append(key, 1), spec.Config...)
	}
	if text, ok := knownCodecs.get(key); ok {
		return text, nil
	}
	raw, err := spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	v, err := document(raw)
	if err != nil {
		return nil, err
	}
	if _, err := codecSpec(v, asItStands()); err != nil {
		return nil, err
	}
	knownCodecs.put(key, v.raw)
	return v.raw, nil
}
