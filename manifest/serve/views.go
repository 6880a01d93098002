package serve

import (
	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/regular"
	"varve/zarrjson"
	"varve/zarrjson/clients"
)

// View describes a view that a server has of a manifest, for Zarr clients.
type View struct {
	Path    string // below the manifest's address
	Arrays  []ViewArray
	Omitted []string // paths of the arrays that the view leaves out
}

// ViewArray is an array in a view.
type ViewArray struct {
	Path     string
	Features []clients.Feature // what a client must know to read it
}

// Views describes all views of arrays. It reads nothing.
func Views(arrays []manifest.Array) ([]View, error) {
	views := make([]View, hierarchies)
	for k := range hierarchies {
		views[k].Path = "/" + k.prefix()
		for i := range arrays {
			a := &arrays[i]
			g, err := a.Schema.Grid()
			if err != nil {
				return nil, err
			}
			features, ok := featuresIn(k, a.Schema, g)
			if ok {
				views[k].Arrays = append(views[k].Arrays, ViewArray{a.Path, features})
			} else {
				views[k].Omitted = append(views[k].Omitted, a.Path)
			}
		}
	}
	return views, nil
}

// featuresIn returns the features of an array in a view. ok is false if the view leaves it out.
func featuresIn(k hierarchy, schema *zarrjson.Array, g *grid.Grid) (features []clients.Feature, ok bool) {
	choose := codec.ExactCodecs
	switch {
	case k == inV2:
		v2, _, err := schema.ToV2(zarrjson.V2Options{Fill: zarrjson.MaskFill, Separator: '.'})
		if err == nil {
			features, err = clients.FeaturesV2(v2)
		}
		return features, err == nil
	case k == inFull, k == inRegular && schema.ChunkGrid.Name == zarrjson.Regular:
		return clients.Features(schema), true
	case k == inCore && !schema.DataType.Type().IsCore():
		return nil, false
	case k == inCore:
		choose = regular.CoreCodecs
	}
	adapted, err := regular.Schema(schema, g, choose)
	if err != nil {
		return nil, false
	}
	return clients.Features(adapted), true
}
