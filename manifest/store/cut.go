package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/zarrjson"
)

// Range is the indices From to To-1 along an axis.
type Range = mosaic.Range

// Part is the part of an array that a cut keeps: for each axis some ranges, one after another. An axis without ranges is whole.
type Part struct {
	Array  *Array
	Ranges [][]Range
}

// Cut returns a store with parts of arrays of s, in this order. A chunk that is in a part as a whole is served as before; a chunk
// that a range cuts is re-encoded. Compacted chunks are not used. The store shares everything with s: close one of the two.
func (s *Store) Cut(ctx context.Context, parts []Part) (*Store, error) {
	snap := *s.snapshot
	snap.Arrays, snap.Merged = make([]manifest.Array, len(parts)), nil
	cut := &Store{
		snapshot: &snap, repository: s.repository, access: s.access, opener: s.opener, ownOpener: s.ownOpener, trace: s.trace, patches: s.patches,
		paths: map[string]*Array{}, workers: s.workers, sources: s.sources, flight: s.flight, cache: newCache(s.cache.limit), buffers: s.buffers,
		layouts: map[string]*mosaic.Layout{},
	}
	values := map[string]*manifest.Values{}
	cut.tables = cutTables{s.tables, values}
	digest := sha256.New()
	fmt.Fprintln(digest, s.snapshot.ID)
	for i, p := range parts {
		fmt.Fprintln(digest, p.Array.Path(), p.Ranges)
		spec, err := p.spec()
		switch {
		case err != nil:
		case p.Array.isInManifest():
			spec.Pieces, err = p.pieces(ctx, spec, values)
		default:
			spec.Placement, err = cut.cutLayout(ctx, &p)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Array.Path(), err)
		}
		snap.Arrays[i] = *spec
		a, err := cut.newArray(&snap.Arrays[i])
		if err != nil {
			return nil, err
		}
		cut.arrays = append(cut.arrays, a)
		cut.paths[a.Path()] = a
	}
	snap.ID = fmt.Sprintf("%x", digest.Sum(nil))
	return cut, nil
}

// IsPart reports whether the store is the result of Cut. Then no repository has its snapshot.
func (s *Store) IsPart() bool {
	_, isPart := s.tables.(cutTables)
	return isPart
}

// cutTables are tables with the values of arrays that are stored in the manifest.
type cutTables struct {
	tables
	values map[string]*manifest.Values
}

// Values returns values by their ID.
func (t cutTables) Values(ctx context.Context, id string) (*manifest.Values, error) {
	if v := t.values[id]; v != nil {
		return v, nil
	}
	return t.tables.Values(ctx, id)
}

// spec returns the array with the shape and the chunks of the part, and without values.
func (p *Part) spec() (*manifest.Array, error) {
	spec, schema := *p.Array.spec, *p.Array.spec.Schema
	spec.Schema, spec.CodecSizes, spec.Patches, spec.Pieces, spec.Chunks = &schema, nil, nil, nil, manifest.Counts{}
	shape, sizes := slices.Clone(schema.Shape), make([]grid.Sizes, len(schema.Shape))
	isWhole := true
	for k := range shape {
		d := p.Array.grid.Dim(k)
		if sizes[k] = grid.SizesOf(d); len(p.Ranges[k]) == 0 {
			continue
		}
		isWhole, shape[k] = false, 0
		for _, r := range p.Ranges[k] {
			shape[k] += r.Len()
		}
		var err error
		if sizes[k], err = cutSizes(d, p.Ranges[k]); err != nil {
			return nil, err
		}
	}
	if isWhole {
		return &spec, nil
	}
	if schema.ChunkGrid.Encoded != nil {
		return nil, fmt.Errorf("a part of an array with padded chunks: %w; open the store without padding", errors.ErrUnsupported)
	}
	g, err := grid.FromSizes(shape, sizes...)
	if err != nil {
		return nil, err
	}
	form := zarrjson.AsRectilinear
	if g.IsRegular() {
		form = zarrjson.AsRegular
	}
	schema.Shape = shape
	if schema.ChunkGrid, err = zarrjson.DescribeGrid(g, form); err != nil {
		return nil, err
	}
	return &spec, nil
}

// cutSizes returns the chunk lengths of some ranges of a dimension: chunks end where chunks of the dimension or ranges end. If only
// the last chunk is cut, the lengths stay regular.
func cutSizes(d grid.Dimension, ranges []Range) (grid.Sizes, error) {
	size, isRegular := d.IsRegular()
	if isRegular && len(ranges) == 1 && ranges[0].From%size == 0 {
		return grid.Every(size), nil
	}
	var runs []grid.Run
	for _, r := range ranges {
		for at := r.From; at < r.To; {
			chunk, err := d.Find(at)
			if err != nil {
				return grid.Sizes{}, err
			}
			_, end, _ := grid.Bounds(d, chunk)
			end = min(end, r.To)
			if n := len(runs); n > 0 && runs[n-1].Data == end-at {
				runs[n-1].Count++
			} else {
				runs = append(runs, grid.Times(end-at, 1))
			}
			at = end
		}
	}
	if len(runs) == 0 {
		return grid.Every(1), nil // the length of an axis without elements does not matter
	}
	return grid.RunLength(runs...), nil
}

// cutLayout makes the layout of a part and returns its name.
func (s *Store) cutLayout(ctx context.Context, p *Part) (string, error) {
	a := p.Array
	whole, err := a.store.layout(ctx, a.spec.Placement)
	if err != nil {
		return "", err
	}
	dims := slices.Clone(whole.Dims())
	for k, dim := range a.spec.Dims {
		if len(p.Ranges[k]) > 0 && !slices.Contains(dims, dim) {
			dims = append(dims, dim)
		}
	}
	ranges := make([][]Range, len(dims))
	for j, dim := range dims {
		if k := slices.Index(a.spec.Dims, dim); k >= 0 {
			ranges[j] = p.Ranges[k]
		}
	}
	name := fmt.Sprint(a.spec.Placement, " ", strings.Join(dims, " "), " ", ranges)
	if _, ok := s.layouts[name]; ok {
		return name, nil
	}
	s.layouts[name], err = whole.Cut(dims, ranges)
	return name, err
}

// pieces reads the values of a part of an array that is stored in the manifest.
func (p *Part) pieces(ctx context.Context, spec *manifest.Array, values map[string]*manifest.Values) ([]manifest.Piece, error) {
	if slices.ContainsFunc(spec.Schema.Shape, func(n int64) bool { return n == 0 }) {
		return nil, nil
	}
	form := spec.Schema.Form(spec.Schema.Shape)
	if form.Bytes() > manifest.DefaultValueBytes*16 {
		return nil, fmt.Errorf("%d bytes of an array that is stored in the manifest: %w", form.Bytes(), errors.ErrUnsupported)
	}
	to := newWindow(codec.NewElems(form), grid.Whole(spec.Schema.Shape), form.Type)
	err := p.eachBox(0, grid.MakeRegion(len(p.Ranges)), make([]int64, len(p.Ranges)), func(box grid.Region, at []int64) error {
		part := p.Array.spec.Schema.Form(box.Shape)
		from := newWindow(codec.NewElems(part), grid.Region{Origin: at, Shape: box.Shape}, form.Type)
		if err := p.Array.ReadRegion(ctx, box, from.Elems); err != nil {
			return err
		}
		return to.copyFrom(&from, from.region)
	})
	id := "cut " + spec.Path
	values[id] = &manifest.Values{ID: id, Data: to.Fixed, Texts: to.Var}
	return []manifest.Piece{{Origin: make([]int64, len(p.Ranges)), Shape: spec.Schema.Shape, Values: id}}, err
}

// eachBox calls do with each box of the array that the part has, and its position in the part. The axes before k are set.
func (p *Part) eachBox(k int, box grid.Region, at []int64, do func(box grid.Region, at []int64) error) error {
	if k == len(p.Ranges) {
		return do(box, at)
	}
	ranges := p.Ranges[k]
	if len(ranges) == 0 {
		ranges = []Range{{To: p.Array.grid.Shape()[k]}}
	}
	at[k] = 0
	for _, r := range ranges {
		box.Origin[k], box.Shape[k] = r.From, r.Len()
		if err := p.eachBox(k+1, box, at, do); err != nil {
			return err
		}
		at[k] += r.Len()
	}
	return nil
}
