package scan

import (
	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// jsonTag marks, in readers, texts that stand for a value of any kind as JSON.
const jsonTag = "json"

// attributes brings attributes into the form of a manifest. Those of types that Zarr has no
// counterpart of, such as references, are left out.
func (r *reading) attributes(list []readers.Attribute) []manifest.Attribute {
	out := make([]manifest.Attribute, 0, len(list))
	for i := range list {
		if a, ok := attribute(&list[i]); ok {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil
	}
	spell(len(out), func(i int) *string { return &out[i].Name })
	return out
}

func attribute(a *readers.Attribute) (manifest.Attribute, bool) {
	out := manifest.Attribute{Name: a.Name, Scalar: len(a.Shape) == 0 && !a.Null}
	if a.Type == nil || a.Err != nil {
		return out, false
	}
	if a.Null && a.Type.Class == readers.String {
		// So netCDF-4 writes the empty text.
		return manifest.Attribute{Name: a.Name, Type: codec.Type{Kind: codec.String}, Texts: []string{""}, Scalar: true}, true
	}
	if a.Type.Class == readers.String || a.Type.Class == readers.VarLen && (a.Type.IsText || a.Type.InMemory != nil) {
		out.Type = codec.Type{Kind: codec.String}
		if a.Type.Tag == jsonTag {
			out.Type.Kind = codec.Bytes
		}
		out.Texts = make([]string, len(a.Texts))
		for i, t := range a.Texts {
			out.Texts[i] = string(t)
		}
		return out, true
	}
	stored, _ := flatten(a.Type)
	t, _, err := elementOf(stored)
	if err != nil || t.Varies() {
		return out, false
	}
	out.Type, out.Data = t, widen(stored, t, a.Data)
	return out, true
}
