package describe

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/hdf5"
)

// netcdf describes the file as netcdf-c sees it.
func (in *inspection) netcdf() document {
	view, err := in.tree.NetCDF(in.ctx)
	if err != nil {
		return document{"error": err.Error()}
	}
	if view.Refused != nil {
		doc := document{"error": view.Refused.Error(), "marked": view.Marked}
		if view.Crashes {
			doc["status"] = "crash" // what netcdf-c does with it
		}
		return doc
	}
	doc := document{"marked": view.Marked, "format": "NETCDF4", "attributes": netcdfAttributes(view.Root.Attributes, view.Root.AttrErr)}
	if view.Classic {
		doc["format"] = "NETCDF4_CLASSIC"
	}
	dims, groups, variables := []document{}, []document{}, []document{}
	todo := []*hdf5.NetCDFGroup{view.Root}
	for len(todo) > 0 {
		g := todo[0]
		todo = append(todo[1:], g.Groups...)
		for _, d := range g.Dims {
			dims = append(dims, document{"path": d.Path, "length": d.Length, "unlimited": d.Unlimited})
		}
		for _, v := range g.Vars {
			if v.TypeName != "" {
				variables = append(variables, in.netcdfVariable(v))
			}
		}
		if g != view.Root {
			groups = append(groups, document{"path": g.Path, "attributes": netcdfAttributes(g.Attributes, g.AttrErr)})
		}
	}
	doc["dimensions"], doc["groups"], doc["variables"] = dims, groups, variables
	return doc
}

func (in *inspection) netcdfVariable(v *hdf5.NetCDFVar) document {
	doc := document{"path": v.Path, "dtype": v.TypeName, "shape": listed(v.Shape())}
	dims := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		dims[i] = d.Path
	}
	doc["dims"] = dims
	doc["attributes"] = netcdfAttributes(v.Attributes, v.AttrErr)
	size := v.ElementSize()
	n, ok := readers.Elements(v.Shape())
	if !in.opts.Values || size == 0 || !ok || n > maxHashedValues/uint64(size) {
		return doc
	}
	if sum, ok := in.sums[v.Object]; ok && v.SameValues() {
		doc["values"] = sum
		return doc
	}
	values, err := v.Values(in.ctx, maxHashedValues)
	if err != nil {
		doc["values"] = "undecodable: " + err.Error()
	} else {
		doc["values"] = hashOf(values)
	}
	return doc
}

func netcdfAttributes(list []hdf5.NetCDFAttribute, err error) []document {
	var name *hdf5.NameError
	switch {
	case errors.As(err, &name):
		return []document{{"error": "UnicodeDecodeError: " + err.Error()}}
	case err != nil:
		return []document{{"error": "AttributeError: " + err.Error()}}
	}
	out := make([]document, len(list))
	for i, a := range list {
		out[i] = netcdfAttribute(a)
		out[i]["name"] = a.Name
	}
	return out
}

func netcdfAttribute(a hdf5.NetCDFAttribute) document {
	switch {
	case a.Other == "unsupported":
		return document{"error": "attribute has an unsupported datatype"}
	case a.Other != "":
		return document{"dtype": a.Other}
	case a.Number != "":
		return numbersAttribute(a)
	case a.Chars && a.Name == "_FillValue":
		return document{"dtype": "other"}
	}
	texts := make([]string, len(a.Texts))
	for i, t := range a.Texts {
		texts[i] = strings.ReplaceAll(replaceInvalid(t), "\x00", "")
	}
	if len(texts) != 1 && !a.Chars {
		sum := make([][]byte, len(texts))
		for i, t := range texts {
			sum[i] = []byte(t)
		}
		return document{"dtype": "str", "shape": []int{len(texts)}, "sha256": hashTexts(sum)}
	}
	text := strings.Join(texts, "")
	if utf8.RuneCountInString(text) <= 64 {
		return document{"dtype": "str", "value": text}
	}
	return document{"dtype": "str", "sha256": hashOf([]byte(text))}
}

func numbersAttribute(a hdf5.NetCDFAttribute) document {
	doc := document{"dtype": a.Number, "shape": []int{a.Count}}
	if a.Count > 8 {
		doc["sha256"] = hashOf(a.Data)
		return doc
	}
	values := make([]any, a.Count)
	size := int(a.Number[2] - '0')
	for i := range values {
		values[i] = number(a.Number[1], a.Data[i*size:(i+1)*size])
	}
	doc["value"] = values
	return doc
}

// number decodes a little-endian number; what JSON has no number for becomes a text.
func number(kind byte, b []byte) any {
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	switch kind {
	case 'u':
		return v
	case 'i':
		shift := 64 - 8*len(b)
		return int64(v<<shift) >> shift
	}
	f := math.Float64frombits(v)
	if len(b) == 4 {
		f = float64(math.Float32frombits(uint32(v)))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strings.TrimPrefix(strings.ToLower(fmt.Sprint(f)), "+")
	}
	return json.RawMessage(strconv.FormatFloat(f, 'e', -1, 64)) // 1e+20 is a float to any reader
}

// replaceInvalid decodes UTF-8 as Python does with errors="replace": each longest beginning
// of a character that is not completed becomes one U+FFFD.
func replaceInvalid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = invalidPrefix(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// invalidPrefix is how many bytes at the start of b begin a character without finishing it.
func invalidPrefix(b []byte) int {
	for n := min(3, len(b)); n > 1; n-- {
		if !utf8.FullRune(b[:n]) {
			return n
		}
	}
	return 1
}
