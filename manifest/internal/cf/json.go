package cf

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// AttributeJSON returns the JSON that xarray writes to Zarr for an attribute. A list of one number becomes
// a number, and floats become float64. A list of one text stays a list, unless CF defines the attribute as
// one text.
func AttributeJSON(a *manifest.Attribute) ([]byte, error) {
	switch {
	case a.JSON != "":
		return []byte(a.JSON), nil
	case a.Texts != nil || a.Type.Kind == codec.String:
		if len(a.Texts) == 1 && (a.Scalar || IsOneText(a.Name)) {
			return TextJSON(a.Texts[0])
		}
		return textsJSON(a.Texts)
	case a.Type.Size == 0:
		return nil, errors.New("the attribute has no value")
	case len(a.Data) == a.Type.Size:
		return ElementJSON(a.Type, a.Data)
	}
	list := []byte{'['}
	for element := range slices.Chunk(a.Data, a.Type.Size) {
		spelt, err := ElementJSON(a.Type, element)
		if err != nil {
			return nil, err
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, spelt...)
	}
	return append(list, ']'), nil
}

// ElementJSON returns the JSON of one element of an attribute.
func ElementJSON(t codec.Type, element []byte) ([]byte, error) {
	switch t.Kind {
	case codec.Float: // the value of Python's float(x)
		double := codec.Type{Kind: codec.Float, Size: 8}
		element, _ = Cast(double, t, element)
		t = double
	case codec.FixedBytes:
		return TextJSON(strings.TrimRight(string(element), "\x00"))
	}
	dt, err := zarrjson.DataTypeOf(t)
	if err != nil {
		return nil, err
	}
	return dt.FillJSON(element)
}

func textsJSON(texts []string) ([]byte, error) {
	list := []byte{'['}
	for i, text := range texts {
		spelt, err := TextJSON(text)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, spelt...)
	}
	return append(list, ']'), nil
}

// TextJSON returns the JSON of a text. Bytes that are not UTF-8 are replaced.
func TextJSON(text string) ([]byte, error) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return []byte(`"` + text + `"`), nil
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(strings.ToValidUTF8(text, "\uFFFD"))
	return []byte(strings.TrimSuffix(out.String(), "\n")), err
}
