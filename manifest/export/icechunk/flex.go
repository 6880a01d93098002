package icechunk

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// FlexBuffers encode the configuration of a repository and the metadata of snapshots: binary JSON in which
// each container chooses the width of its numbers. This writer supports strings, booleans, numbers, vectors
// and maps, with all numbers 8 bytes wide:
//
//	string   length(8)  bytes  0
//	key      bytes  0
//	vector   length(8)  elements(8 each)  types(1 each)
//	map      keys: distance(8)  width of a distance there(8)  length(8)  values(8 each)  types(1 each)
//	         keys are  length(8)  distances to the keys, sorted
//	end      distance to the root, or the root itself(8)  its type(1)  width(1)
//
// A distance points backwards, to the first element. A type is a kind shifted left by 2, plus the logarithm
// of the width of the referenced value.

// The kinds of values.
const (
	flexNull       = 0
	flexInt        = 1
	flexUint       = 2
	flexFloat      = 3
	flexKey        = 4
	flexString     = 5
	flexInIndirect = 6 // an int64 stored elsewhere; 7 and 8 are uint64 and float64
	flexMap        = 9
	flexVector     = 10
	flexTyped      = 11 // a vector of int64; 12 to 14 are uint64, float64 and keys
	flexBlob       = 25
	flexBool       = 26
	flexBools      = 36
)

const flexWidth = 8

type flexWriter struct{ data []byte }

// encodeFlex encodes nil, a bool, int64, uint64, float64, string, []byte, []any or map[string]any.
func encodeFlex(v any) ([]byte, error) {
	w := &flexWriter{}
	word, kind, err := w.put(v)
	if err != nil {
		return nil, err
	}
	w.align()
	w.word(word, kind)
	return append(w.data, kind<<2|3, flexWidth), nil
}

func (w *flexWriter) align() {
	for len(w.data)%flexWidth != 0 {
		w.data = append(w.data, 0)
	}
}

func (w *flexWriter) u64(v uint64) { w.data = binary.LittleEndian.AppendUint64(w.data, v) }

// word writes an element: a number, or the distance back to position v.
func (w *flexWriter) word(v uint64, kind byte) {
	switch kind {
	case flexNull, flexInt, flexUint, flexFloat, flexBool:
		w.u64(v)
	default:
		w.u64(uint64(len(w.data)) - v)
	}
}

// put writes the object that an element refers to, if any, and returns the number or the position.
func (w *flexWriter) put(v any) (word uint64, kind byte, err error) {
	switch v := v.(type) {
	case nil:
		return 0, flexNull, nil
	case bool:
		if v {
			word = 1
		}
		return word, flexBool, nil
	case int64:
		return uint64(v), flexInt, nil
	case uint64:
		return v, flexUint, nil
	case float64:
		return math.Float64bits(v), flexFloat, nil
	case string:
		return w.text([]byte(v), flexString), flexString, nil
	case []byte:
		return w.text(v, flexBlob), flexBlob, nil
	case []any:
		return w.vector(v)
	case map[string]any:
		return w.mapping(v)
	}
	return 0, 0, newerf("FlexBuffers: cannot encode a %T", v)
}

func (w *flexWriter) text(v []byte, kind byte) uint64 {
	w.align()
	w.u64(uint64(len(v)))
	at := uint64(len(w.data))
	w.data = append(w.data, v...)
	if kind == flexString {
		w.data = append(w.data, 0)
	}
	return at
}

func (w *flexWriter) vector(v []any) (uint64, byte, error) {
	words, kinds, err := w.all(v)
	if err != nil {
		return 0, 0, err
	}
	w.align()
	return w.elements(words, kinds), flexVector, nil
}

func (w *flexWriter) all(v []any) (words []uint64, kinds []byte, err error) {
	words, kinds = make([]uint64, len(v)), make([]byte, len(v))
	for i := range v {
		if words[i], kinds[i], err = w.put(v[i]); err != nil {
			return nil, nil, err
		}
	}
	return words, kinds, nil
}

// elements writes a length, elements and their types.
func (w *flexWriter) elements(words []uint64, kinds []byte) uint64 {
	w.u64(uint64(len(words)))
	at := uint64(len(w.data))
	for i := range words {
		w.word(words[i], kinds[i])
	}
	for _, kind := range kinds {
		w.data = append(w.data, kind<<2|3)
	}
	return at
}

func (w *flexWriter) mapping(v map[string]any) (uint64, byte, error) {
	names := slices.Sorted(maps.Keys(v))
	offsets, values := make([]uint64, len(names)), make([]any, len(names))
	for i, name := range names {
		offsets[i], values[i] = uint64(len(w.data)), v[name]
		w.data = append(append(w.data, name...), 0)
	}
	words, kinds, err := w.all(values)
	if err != nil {
		return 0, 0, err
	}
	w.align()
	w.u64(uint64(len(names)))
	keys := uint64(len(w.data))
	for _, offset := range offsets {
		w.word(offset, flexKey)
	}
	w.word(keys, flexKey)
	w.u64(flexWidth)
	return w.elements(words, kinds), flexMap, nil
}
