package plan

import (
	"encoding/json"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// attributeJSON writes an attribute of a group; nil for what no JSON says.
func attributeJSON(a *manifest.Attribute) ([]byte, error) {
	if a.Texts != nil || a.Type.Kind == codec.String {
		if len(a.Texts) == 1 && (a.Scalar || cf.IsOneText(a.Name)) {
			return json.Marshal(a.Texts[0])
		}
		return json.Marshal(a.Texts)
	}
	if a.Type.Size == 0 {
		return nil, nil
	}
	t, err := zarrjson.DataTypeOf(a.Type)
	if err != nil {
		return nil, nil
	}
	if len(a.Data) == a.Type.Size {
		return t.FillJSON(a.Data)
	}
	list := []json.RawMessage{}
	for element := range slices.Chunk(a.Data, a.Type.Size) {
		one, err := t.FillJSON(element)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return json.Marshal(list)
}
