package plantest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest"
)

// cutOutside cuts text at the first separator outside of quotes.
func cutOutside(text, separator string) (before, after string, found bool) {
	isQuoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case isQuoted && text[i] == '\\':
			i++
		case text[i] == '"':
			isQuoted = !isQuoted
		case !isQuoted && strings.HasPrefix(text[i:], separator):
			return text[:i], text[i+len(separator):], true
		}
	}
	return text, "", false
}

// fields splits text at spaces outside of quotes.
func fields(text string) (list []string) {
	for text != "" {
		word, rest, _ := cutOutside(text, " ")
		if word != "" {
			list = append(list, word)
		}
		text = rest
	}
	return list
}

// firstWords are the words with which lines begin that are no variables.
var firstWords = []string{"option", "values", "file", "group", "dim", "part"}

// quoted returns a name as it is, or in quotes if the name could not be read again otherwise.
func quoted(name string) string {
	isSpecial := func(r rune) bool {
		return strings.ContainsRune("\"()=*,;\\{}", r) || unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}
	if name == "" || slices.Contains(firstWords, name) || !utf8.ValidString(name) || strings.ContainsFunc(name, isSpecial) {
		return strconv.Quote(name)
	}
	return name
}

func unquoted(word string) (string, error) {
	if strings.HasPrefix(word, `"`) {
		return strconv.Unquote(word)
	}
	return word, nil
}

// formatShape formats lengths: 31x3, or - for none.
func formatShape(shape []int64) string {
	if len(shape) == 0 {
		return "-"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]")
}

func parseShape(text string) (shape []int64, err error) {
	if text == "-" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, "x") {
		n, wrong := strconv.ParseInt(word, 10, 64)
		shape, err = append(shape, n), errors.Join(err, wrong)
	}
	return shape, err
}

// formatRuns formats runs of lengths, a word for each axis: 10x3,5 1x2.
func formatRuns(axes [][][2]int64) (words []string) {
	for _, axis := range axes {
		var list []string
		for _, run := range axis {
			text := fmt.Sprint(run[0])
			if run[1] != 1 {
				text += fmt.Sprint("x", run[1])
			}
			list = append(list, text)
		}
		words = append(words, strings.Join(list, ","))
	}
	return words
}

func parseRuns(words []string) (axes [][][2]int64, err error) {
	for _, word := range words {
		var axis [][2]int64
		for text := range strings.SplitSeq(word, ",") {
			length, count, hasCount := strings.Cut(text, "x")
			n, wrong := strconv.ParseInt(length, 10, 64)
			err = errors.Join(err, wrong)
			k := int64(1)
			if hasCount {
				k, wrong = strconv.ParseInt(count, 10, 64)
				err = errors.Join(err, wrong)
			}
			axis = append(axis, [2]int64{n, k})
		}
		axes = append(axes, axis)
	}
	return axes, err
}

// shortCodecs are short names of codecs that most files use. NAME:N has one parameter.
var shortCodecs = []struct{ short, name, config string }{
	{"little", "bytes", `{"endian":"little"}`},
	{"big", "bytes", `{"endian":"big"}`},
	{"shuffle:", "numcodecs.shuffle", `{"elementsize":N}`},
	{"zlib:", "numcodecs.zlib", `{"level":N}`},
}

func formatCodec(s codec.Spec) string {
	for _, c := range shortCodecs {
		before, after, _ := strings.Cut(c.config, "N")
		number, ok := strings.CutPrefix(string(s.Config), before)
		number, ok2 := strings.CutSuffix(number, after)
		if ok && ok2 && s.Name == c.name && !s.Clip {
			if _, err := strconv.Atoi(number); err == nil || number == "" {
				return c.short + number
			}
		}
	}
	text := s.Name + string(s.Config)
	if s.Clip {
		text = "clipped/" + text
	}
	return text
}

func parseCodec(word string) (codec.Spec, error) {
	for _, c := range shortCodecs {
		number, ok := strings.CutPrefix(word, c.short)
		if _, err := strconv.Atoi(number); ok && (err == nil || number == "") {
			return codec.Spec{Name: c.name, Config: json.RawMessage(strings.Replace(c.config, "N", number, 1))}, nil
		}
	}
	word, isClipped := strings.CutPrefix(word, "clipped/")
	s := codec.Spec{Name: word, Clip: isClipped}
	if name, config, ok := strings.Cut(word, "{"); ok {
		s.Name, s.Config = name, json.RawMessage("{"+config)
		if !json.Valid(s.Config) {
			return s, fmt.Errorf("%s: %s is no JSON", name, s.Config)
		}
	}
	return s, nil
}

func formatCodecs(list []codec.Spec) string {
	var words []string
	for _, s := range list {
		words = append(words, formatCodec(s))
	}
	return strings.Join(words, ",")
}

// parseCodecs parses codecs with commas between them. JSON has commas, too.
func parseCodecs(text string) (list []codec.Spec, err error) {
	depth, isQuoted, from := 0, false, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',' && depth == 0 && !isQuoted:
			s, wrong := parseCodec(text[from:i])
			list, err, from = append(list, s), errors.Join(err, wrong), i+1
		case isQuoted && text[i] == '\\':
			i++
		case text[i] == '"':
			isQuoted = !isQuoted
		case !isQuoted && (text[i] == '{' || text[i] == '['):
			depth++
		case !isQuoted && (text[i] == '}' || text[i] == ']'):
			depth--
		}
	}
	return list, err
}

// formatType formats a type as NumPy names it. Fields of a struct have names: struct{a:int8,b:float32}.
func formatType(t codec.Type) string {
	switch t.Kind {
	case codec.Bytes:
		return "bytes"
	case codec.Struct:
		var list []string
		for _, f := range t.Fields {
			list = append(list, quoted(f.Name)+":"+formatType(f.Type))
		}
		return "struct{" + strings.Join(list, ",") + "}"
	}
	return t.String()
}

func parseType(text string) (codec.Type, error) {
	if list, ok := strings.CutPrefix(text, "struct{"); ok {
		return parseStruct(strings.TrimSuffix(list, "}"))
	}
	if text == "bytes" {
		return codec.Type{Kind: codec.Bytes}, nil
	}
	for _, sizes := range []struct {
		prefix string
		kind   codec.Kind
		unit   int   // of the number after the prefix, in bits
		bytes  []int // nil permits all
	}{
		{"uint", codec.Uint, 1, []int{1, 2, 4, 8}}, {"int", codec.Int, 1, []int{1, 2, 4, 8}}, {"float", codec.Float, 1, []int{2, 4, 8}}, {"complex", codec.Complex, 1, []int{8, 16}},
		{"V", codec.Raw, 8, nil}, {"S", codec.FixedBytes, 8, nil}, {"U", codec.FixedUTF32, 32, nil},
	} {
		number, ok := strings.CutPrefix(text, sizes.prefix)
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 || n > 1<<20 || n*sizes.unit%8 != 0 {
			continue
		}
		if bytes := n * sizes.unit / 8; sizes.bytes == nil || slices.Contains(sizes.bytes, bytes) {
			return codec.Type{Kind: sizes.kind, Size: bytes}, nil
		}
	}
	for _, t := range []codec.Type{{Kind: codec.Bool, Size: 1}, {Kind: codec.String}} {
		if text == t.String() {
			return t, nil
		}
	}
	for _, kind := range []codec.Kind{codec.DateTime, codec.TimeDelta} {
		t := codec.Type{Kind: kind, Size: 8, Unit: "generic"}
		rest, ok := strings.CutPrefix(text, t.String())
		if !ok {
			continue
		}
		if unit := strings.Trim(rest, "[]"); unit != "" {
			t.Unit = strings.TrimLeft(unit, "0123456789")
			t.Ticks = 1
			if n, err := strconv.Atoi(strings.TrimSuffix(unit, t.Unit)); err == nil {
				t.Ticks = n
			}
		}
		return t, nil
	}
	return codec.Type{}, fmt.Errorf("the type %s is not known", text)
}

// parseStruct parses the fields of a struct.
func parseStruct(text string) (codec.Type, error) {
	t := codec.Type{Kind: codec.Struct}
	for text != "" {
		name, rest, ok := cutOutside(text, ":")
		if !ok {
			return t, fmt.Errorf("%s: want NAME:TYPE", text)
		}
		end := len(rest)
		for i, depth := 0, 0; i < len(rest) && end == len(rest); i++ {
			switch {
			case rest[i] == '{':
				depth++
			case rest[i] == '}':
				depth--
			case rest[i] == ',' && depth == 0:
				end = i
			}
		}
		name, err := unquoted(name)
		if err != nil {
			return t, err
		}
		field, err := parseType(rest[:end])
		if err != nil {
			return t, err
		}
		t.Fields, t.Size = append(t.Fields, codec.Field{Name: name, Type: field}), t.Size+field.Size
		text = strings.TrimPrefix(rest[end:], ",")
	}
	return t, nil
}

// formatEnum formats the names of values: clear=0,cloudy=1.
func formatEnum(choices []manifest.Choice) string {
	var words []string
	for _, c := range choices {
		words = append(words, fmt.Sprintf("%s=%d", quoted(c.Name), c.Value))
	}
	return strings.Join(words, ",")
}

func parseEnum(text string) (choices []manifest.Choice, err error) {
	for text != "" {
		var word string
		word, text, _ = cutOutside(text, ",")
		name, number, _ := cutOutside(word, "=")
		name, wrong := unquoted(name)
		value, wrong2 := strconv.ParseInt(number, 10, 64)
		if err = errors.Join(wrong, wrong2); err != nil {
			return nil, err
		}
		choices = append(choices, manifest.Choice{Name: name, Value: value})
	}
	return choices, nil
}
