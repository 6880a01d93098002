package cf

import (
	"math"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// Flag is a value of a variable and the word for its meaning (CF section 3.5).
type Flag struct {
	Value int64
	Word  string
}

// FlagsOf parses flag_values and flag_meanings. It reports false if one of them is missing, if their
// counts differ, or if there are flag_masks, with which a value can have several words.
func FlagsOf(attributes []manifest.Attribute) ([]Flag, bool) {
	values := manifest.Lookup(attributes, FlagValues)
	words, ok := Text(attributes, FlagMeanings)
	if values == nil || !ok || !IsNumber(values.Type) || manifest.Lookup(attributes, FlagMasks) != nil {
		return nil, false
	}
	var flags []Flag
	list := strings.Fields(words)
	for element := range slices.Chunk(values.Data, values.Type.Size) {
		x := Float(values.Type, element)
		// Beyond 2^53 a float64 cannot tell neighbouring integers apart.
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 || len(flags) == len(list) {
			return nil, false
		}
		flags = append(flags, Flag{int64(x), list[len(flags)]})
	}
	return flags, len(flags) == len(list) && len(flags) > 0
}

// JoinFlags returns the union of flags. It reports false if a value would have two words, or a word
// two values.
func JoinFlags(flags, more []Flag) ([]Flag, bool) {
	for _, f := range more {
		at := slices.IndexFunc(flags, func(g Flag) bool { return g.Value == f.Value || g.Word == f.Word })
		switch {
		case at < 0:
			flags = append(flags, f)
		case flags[at] != f:
			return nil, false
		}
	}
	return flags, true
}

// FlagAttributes returns flag_values and flag_meanings as JSON.
func FlagAttributes(flags []Flag) (values, meanings []byte, err error) {
	t := codec.Type{Kind: codec.Int, Size: 8}
	a := manifest.Attribute{Type: t}
	words := make([]string, len(flags))
	for i, f := range flags {
		a.Data = AppendWord(a.Data, uint64(f.Value), t.Size)
		words[i] = f.Word
	}
	if values, err = AttributeJSON(&a); err != nil {
		return nil, nil, err
	}
	meanings, err = TextJSON(strings.Join(words, " "))
	return values, meanings, err
}
