package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// packingOf reads what the attributes of a face say of its numbers.
func packingOf(face *zarrjson.Array) (cf.Packing, error) {
	p := cf.Packing{Type: face.DataType.Type()}
	if !cf.IsNumber(p.Type) {
		return p, nil
	}
	p.Type = signed(face, p.Type)
	var err error
	if p.Scale, err = number(face, cf.ScaleFactor); err != nil {
		return p, err
	}
	if p.Offset, err = number(face, cf.AddOffset); err != nil {
		return p, err
	}
	if raw, ok := face.Attributes.Get(cf.FillValue); ok {
		mask, err := face.DataType.DecodeMask(raw)
		if err != nil {
			return p, err
		}
		p.Masks = append(p.Masks, mask)
	}
	p.Masks, err = appendMissing(p.Masks, face)
	return p, err
}

func signed(face *zarrjson.Array, t codec.Type) codec.Type {
	switch says := text(face, cf.Unsigned); {
	case says == "true" && t.Kind == codec.Int:
		t.Kind = codec.Uint
	case says == "false" && t.Kind == codec.Uint:
		t.Kind = codec.Int
	}
	return t
}

// text is an attribute of a face that is one text, or empty.
func text(face *zarrjson.Array, name string) (s string) {
	if raw, ok := face.Attributes.Get(name); ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

func number(face *zarrjson.Array, name string) (*cf.Number, error) {
	raw, ok := face.Attributes.Get(name)
	if !ok {
		return nil, nil
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	if err != nil {
		return nil, fmt.Errorf("attributes.%s of the face is %s, want a number", name, raw)
	}
	return &cf.Number{Type: codec.Type{Kind: codec.Float, Size: 8}, Value: f}, nil
}

// appendMissing adds the numbers of the attribute missing_value, which is one or a list.
func appendMissing(masks [][]byte, face *zarrjson.Array) ([][]byte, error) {
	raw, ok := face.Attributes.Get(cf.MissingValue)
	if !ok {
		return masks, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, item := range list {
		if mask, ok := element(face.DataType.Type(), string(bytes.TrimSpace(item))); ok {
			masks = append(masks, mask)
		}
	}
	return masks, nil
}

// element is a JSON number as an element of a type, or false if there is none.
func element(t codec.Type, number string) ([]byte, bool) {
	wide := codec.Type{Kind: codec.Int, Size: 8}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return cf.Cast(t, wide, cf.AppendWord(nil, uint64(n), 8))
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil {
		wide.Kind = codec.Uint
		return cf.Cast(t, wide, cf.AppendWord(nil, n, 8))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, false
	}
	wide.Kind = codec.Float
	return cf.Cast(t, wide, cf.AppendWord(nil, math.Float64bits(f), 8))
}
