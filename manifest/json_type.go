package manifest

import (
	"fmt"
	"slices"

	"varve/codec"
)

// typeDocument is the JSON of a type that Zarr does not have.
type typeDocument struct {
	Kind   string          `json:"kind"`
	Size   int             `json:"size"`
	Unit   string          `json:"unit,omitempty"`
	Ticks  int             `json:"ticks,omitempty"`
	Fields []fieldDocument `json:"fields,omitempty"`
}

type fieldDocument struct {
	Name label        `json:"name"`
	Type typeDocument `json:"type"`
}

// kindNames are the names of kinds, indexed by codec.Kind.
var kindNames = []string{
	"none", "bool", "int", "uint", "float", "complex", "raw", "fixed_bytes", "fixed_utf32",
	"datetime", "timedelta", "struct", "string", "bytes",
}

func describe(t codec.Type) *typeDocument {
	doc := &typeDocument{Kind: "none", Size: t.Size, Unit: t.Unit, Ticks: t.Ticks}
	if int(t.Kind) < len(kindNames) {
		doc.Kind = kindNames[t.Kind]
	}
	for _, f := range t.Fields {
		doc.Fields = append(doc.Fields, fieldDocument{label(f.Name), *describe(f.Type)})
	}
	return doc
}

// Limits of a type that is read, so that hostile JSON cannot exhaust memory.
const (
	maxTypeDepth = 32
	maxTypeSize  = 1 << 30
)

func (doc *typeDocument) read(depth int) (codec.Type, error) {
	kind := slices.Index(kindNames, doc.Kind)
	if kind < 0 {
		return codec.Type{}, fmt.Errorf("type: kind %.40q is not one of %v", doc.Kind, kindNames)
	}
	if doc.Size < 0 || doc.Size > maxTypeSize || depth > maxTypeDepth {
		return codec.Type{}, fmt.Errorf("type: size %d or nesting depth %d is out of range", doc.Size, depth)
	}
	t := codec.Type{Kind: codec.Kind(kind), Size: doc.Size, Unit: doc.Unit, Ticks: doc.Ticks}
	for _, f := range doc.Fields {
		of, err := f.Type.read(depth + 1)
		if err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, codec.Field{Name: string(f.Name), Type: of})
	}
	return t, nil
}
