// Package gribcodec declares arrays of GRIB messages with codecs of other programs, so that exports refer to the messages in their files.
package gribcodec

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/codec/grib/message"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// Codec names the codec by which readers of an export decode GRIB messages.
type Codec string

// The values of Codec.
const (
	None       Codec = ""           // chunks are re-encoded, and every client reads them
	Kerchunk   Codec = "grib"       // the codec of kerchunk, which needs ecCodes; Zarr format 2 only
	Gribberish Codec = "gribberish" // the codec of the Python package gribberish; Zarr format 3 only
)

// Result lists arrays of GRIB messages by their paths.
type Result struct {
	Verbatim  []string // declared with the codec
	Reencoded []string // not declared with it: the codec would give other values for some chunks
}

// Apply returns the arrays of a store. It declares an array with the codec if all chunks are whole GRIB messages, and the codec decodes
// them to the values that varve reads. For Gribberish, it reads every message.
func Apply(ctx context.Context, s *store.Store, c Codec) (arrays []*store.Array, r Result, err error) {
	arrays = slices.Clone(s.Arrays())
	switch c {
	case None:
		return arrays, r, nil
	case Kerchunk, Gribberish:
	default:
		return nil, r, fmt.Errorf("GRIB codec %q: want %s or %s, or nothing", c, Kerchunk, Gribberish)
	}
	for i, a := range arrays {
		if _, ok := a.Schema().Attributes.Get("GRIB_gridType"); !ok || a.Spec().Placement == "" {
			continue
		}
		other, ok, err := c.declare(ctx, a)
		if err != nil {
			return nil, r, fmt.Errorf("%s: %w", a.Path(), err)
		}
		if ok {
			arrays[i] = other
			r.Verbatim = append(r.Verbatim, a.Path())
		} else {
			r.Reencoded = append(r.Reencoded, a.Path())
		}
	}
	return arrays, r, nil
}

// declare returns the array with the codec, and whether the codec gives the right values for all chunks.
func (c Codec) declare(ctx context.Context, a *store.Array) (*store.Array, bool, error) {
	schema := a.Schema()
	config := map[string]any{"var": path.Base(a.Path())}
	if c == Kerchunk {
		config["dtype"] = fmt.Sprint("float", 8*schema.DataType.Type().Size)
	}
	if t := schema.DataType.Type(); t.Kind != codec.Float || t.Size < 4 {
		return nil, false, nil
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, false, err
	}
	out, err := a.WithCodecs([]codec.Spec{{Name: string(c), Config: raw}})
	if err != nil {
		return nil, false, err
	}
	counts, err := out.Count(ctx)
	if err != nil || counts.Verbatim == 0 || counts.Reencoded > 0 {
		return nil, false, err
	}
	if c == Gribberish {
		ok, err := decodesAll(ctx, out)
		return out, ok, err
	}
	return out, true, nil
}

// decodesAll reports whether gribberish decodes all messages of an array as varve does.
func decodesAll(ctx context.Context, a *store.Array) (bool, error) {
	for l, err := range a.Locations(ctx, grid.Whole(a.Grid().Counts())) {
		if err != nil {
			return false, err
		}
		if l.Kind == manifest.Missing {
			continue
		}
		b, err := a.Chunk(ctx, l.Coords)
		if err != nil {
			return false, err
		}
		f, g, err := message.Open(b)
		if err != nil {
			return false, err
		}
		info, err := f.Describe()
		if err != nil {
			return false, err
		}
		if !decodes(f, g, &info) {
			return false, nil
		}
	}
	return true, nil
}

// The grids and packings of edition 2 that gribberish 1.9 decodes to the values of ecCodes. "clients.py matrix" in fixtures/grib compares
// them.
var (
	grids    = []string{"regular_ll", "rotated_ll", "lambert", "reduced_gg", "unstructured_grid"}
	packings = []string{"grid_simple", "grid_complex", "grid_complex_spatial_differencing", "grid_ccsds", "grid_jpeg"}
)

// decodes reports whether gribberish decodes a field as ecCodes does. Messages of edition 1 count only if they
// have a regular grid, simple packing and no bitmap.
func decodes(f *grib.Field, g *geo.Grid, info *grib.Info) bool {
	if f.Edition == 1 {
		return g.Type == "regular_ll" && info.Packing == "grid_simple" && f.Bitmap == nil
	}
	return slices.Contains(grids, g.Type) && slices.Contains(packings, info.Packing) && info.Management == 0
}
