package zarrjson

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"varve/codec"
)

// readCodecs reads a list of codecs in the order of encoding.
func readCodecs(v value, n *normalizer) ([]codec.Spec, error) {
	list, err := v.readList("a list of codecs")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return n.emptyList(v)
	}
	if err := checkCount(v.path, len(list)); err != nil {
		return nil, err
	}
	specs := make([]codec.Spec, len(list))
	for i, e := range list {
		if specs[i], err = readCodecSpec(e, n); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// checkCount returns an error for a list of more codecs than a pipeline can have.
func checkCount(path string, n int) error {
	if n > codec.MaxCodecs {
		return unsupportedError(path, "%d codecs (limit %d)", n, codec.MaxCodecs)
	}
	return nil
}

func readCodecSpec(v value, n *normalizer) (codec.Spec, error) {
	name, config, err := v.readExtension()
	if err != nil {
		return codec.Spec{}, err
	}
	if name == "" {
		return codec.Spec{}, corruptError(joinPath(v.path, "name"), "empty")
	}
	if err := refuseInternal(name); err != nil {
		return codec.Spec{}, atPath(v.path, err)
	}
	spec := codec.Spec{Name: n.normalizeName(name)}
	if config.raw != nil {
		// Copy the configuration: the document's buffer belongs to the caller.
		spec.Config = json.RawMessage(compactJSON(config.raw))
	}
	spec.Config, err = n.normalizeConfig(spec.Name, config, spec.Config)
	return spec, err
}

// refuseInternal returns an error for the codecs that only varve has, which have names such as "hdf5.lzf". Other Zarr readers
// do not know them, so no document may have them.
func refuseInternal(name string) error {
	if info, known := codec.Lookup(name); known && info.Client == codec.NoClient && strings.Contains(name, ".") {
		return unsupportedError("name", "%q is not a Zarr codec; re-encode the chunks with one", name)
	}
	return nil
}

func writeCodecs(w *writer, specs []codec.Spec) error {
	w.begin('[')
	for i := range specs {
		raw, err := codecText(&specs[i])
		if err != nil {
			return atPath(indexPath("codecs", i), err)
		}
		w.next()
		w.value(raw)
	}
	w.end(']')
	return nil
}

// knownCodecs maps the name and configuration of a codec to its JSON text.
var knownCodecs memo

// codecText returns the JSON text of a codec, after checking that it can be read back.
func codecText(spec *codec.Spec) ([]byte, error) {
	var room [128]byte
	// The key is the length of the name, the name, and 1 plus the configuration if there
	// is one: so no two codecs have the same key.
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
	v, err := parseValue(raw)
	if err != nil {
		return nil, err
	}
	if _, err := readCodecSpec(v, noNormalizer()); err != nil {
		return nil, err
	}
	knownCodecs.put(key, v.raw)
	return v.raw, nil
}
