package convert

import (
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// FuzzNew makes conversions for random attributes of a header and a schema, and applies them.
func FuzzNew(f *testing.F) {
	f.Add(uint8(codec.Int), uint8(2), uint8(codec.Float), uint8(4), uint8(1), []byte("\x01\x02\x03\x04\x05\x06\x07\x08"), "true", `{"_FillValue":"AAAAAAAA+H8="}`)
	f.Add(uint8(codec.Float), uint8(8), uint8(codec.Float), uint8(8), uint8(0), []byte("\x00\x00\x00\x00\x00\x00\xf0\x3f"), "", `{"scale_factor":1.0,"missing_value":[1,"x",1e400,-0]}`)
	f.Add(uint8(codec.Int), uint8(4), uint8(codec.Int), uint8(8), uint8(2), []byte("\x01\x00\x00\x00"), "hours since 2000-01-01", `{"units":"minutes since 1970-01-01","_FillValue":-9}`)
	f.Add(uint8(codec.FixedBytes), uint8(3), uint8(codec.String), uint8(0), uint8(0), []byte("abcdef"), "", `{}`)
	f.Fuzz(func(t *testing.T, kind, size, toKind, toSize, reading uint8, data []byte, text, attributes string) {
		from := codec.Type{Kind: codec.Kind(kind), Size: int(size)}
		to := codec.Type{Kind: codec.Kind(toKind), Size: int(toSize)}
		if to.Kind == codec.String || to.Kind == codec.Bytes {
			to.Size = 0
		}
		dt, err := zarrjson.DataTypeOf(to)
		if err != nil {
			return
		}
		parsed, err := zarrjson.ParseAttributes([]byte(attributes))
		if err != nil {
			return
		}
		v := &manifest.Variable{Path: "/x", Type: from, Fill: manifest.Fill{Value: data}}
		for _, name := range []string{cf.FillValue, cf.MissingValue, cf.ScaleFactor, cf.AddOffset} {
			v.Attributes = append(v.Attributes, manifest.Attribute{Name: name, Type: from, Data: data[:min(len(data), int(size)*(len(name)%3))]})
		}
		for _, name := range []string{cf.Unsigned, cf.UnitsName} {
			v.Attributes = append(v.Attributes, manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{text}})
		}
		readings := []manifest.Reading{manifest.AsStored, manifest.Unpacked, manifest.Retimed}
		c, err := New(v, &zarrjson.Array{DataType: dt, Attributes: parsed}, readings[int(reading)%len(readings)])
		if err != nil || from.Size == 0 {
			return
		}
		n := len(data) / from.Size
		dst := codec.NewElems(codec.Form{Type: to, Shape: []int64{int64(n)}})
		_ = c.Apply(dst, codec.Elems{Fixed: data[:n*from.Size]}) // some times have no place in a schema
		if !to.Varies() && len(c.Fill()) != to.Size {
			t.Errorf("fill of %d bytes for %s", len(c.Fill()), to)
		}
	})
}
