package ingest

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
)

// foldPieces merges pieces of arrays so that there are few. Otherwise a coordinate that grows by
// one step with each append would have a line in the snapshot for each append.
func (a *appending) foldPieces(ctx context.Context, x *planner.Extension) error {
	fresh := map[string]*manifest.Values{}
	for _, v := range x.Values {
		fresh[v.ID] = v
	}
	used := map[string]bool{}
	for i := range x.Arrays {
		array := &x.Arrays[i]
		if err := a.foldArray(ctx, array, fresh); err != nil {
			return fmt.Errorf("%s: %w", array.Path, err)
		}
		for _, p := range array.Pieces {
			used[p.Values] = true
		}
	}
	// Values that were merged into others are not needed any more.
	x.Values = x.Values[:0:0]
	for id, v := range fresh {
		if used[id] {
			x.Values = append(x.Values, v)
		}
	}
	return nil
}

// foldArray merges pieces of one array.
func (a *appending) foldArray(ctx context.Context, array *manifest.Array, fresh map[string]*manifest.Values) error {
	first, sizes := foldable(array)
	at := tail(sizes)
	if at == len(sizes) {
		return nil
	}
	first, sizes = first+at, sizes[at:]
	pieces := array.Pieces[first : first+len(sizes)]
	one := manifest.Piece{Origin: pieces[0].Origin, Shape: slices.Clone(pieces[0].Shape)}
	one.Shape[0] = 0
	values, varies, bytes := &manifest.Values{}, array.Schema.DataType.Type().Varies(), 0
	for i := range pieces {
		v, err := a.valuesOf(ctx, &pieces[i], fresh)
		if err != nil {
			return err
		}
		if varies && int64(len(v.Texts))*textBytes != sizes[i] || !varies && (v.Texts != nil || int64(len(v.Data)) != sizes[i]) {
			return fmt.Errorf("values %s: %d bytes and %d texts, not %d bytes: %w", v.ID, len(v.Data), len(v.Texts), sizes[i], codec.ErrCorrupt)
		}
		for _, text := range v.Texts {
			bytes += len(text)
		}
		if bytes > foldBytes {
			return nil // the texts are longer than was expected
		}
		values.Data, values.Texts = append(values.Data, v.Data...), append(values.Texts, v.Texts...)
		one.Shape[0] += pieces[i].Shape[0]
	}
	values.SetID()
	one.Values, fresh[values.ID] = values.ID, values
	array.Pieces = slices.Concat(array.Pieces[:first], []manifest.Piece{one}, array.Pieces[first+len(sizes):])
	return nil
}

// textBytes is the expected size of a text, whose size is only known when it is read.
const textBytes = 16

// foldable returns the sizes in bytes of adjacent pieces along the first axis, and the index of the
// first one. It excludes the last piece, because the next append may extend it.
func foldable(a *manifest.Array) (first int, sizes []int64) {
	t := a.Schema.DataType.Type()
	for i := range max(len(a.Pieces)-1, 0) {
		p := &a.Pieces[i]
		n := int64(codec.Form{Type: t, Shape: p.Shape}.Bytes())
		if t.Varies() {
			n = textBytes
			for _, length := range p.Shape {
				n *= length
			}
		}
		if i == 0 || n < 0 || !follows(&a.Pieces[i-1], p) {
			first, sizes = i, nil
		}
		sizes = append(sizes, n)
	}
	return first, sizes
}

func (a *appending) valuesOf(ctx context.Context, p *manifest.Piece, fresh map[string]*manifest.Values) (*manifest.Values, error) {
	if v := fresh[p.Values]; v != nil {
		return v, nil
	}
	return a.reader.Values(ctx, p.Values)
}

// follows reports whether q starts where p ends along the first axis, and has the same extent along
// all others.
func follows(p, q *manifest.Piece) bool {
	return len(p.Origin) > 0 && len(p.Origin) == len(q.Origin) && len(p.Shape) == len(p.Origin) && len(q.Shape) == len(p.Shape) &&
		p.Origin[0]+p.Shape[0] == q.Origin[0] &&
		slices.Equal(p.Origin[1:], q.Origin[1:]) && slices.Equal(p.Shape[1:], q.Shape[1:])
}
