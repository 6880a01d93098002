package store

import (
	"context"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers"
)

// readPieces fills a region of a target from values that are stored in the manifest.
func (a *Array) readPieces(ctx context.Context, t *target, r grid.Region) error {
	// Count the elements that no piece covers: if there are none, the region need not be filled.
	left, err := r.Elements()
	if err != nil {
		return err
	}
	meets, shared := a.piecesIn(r), grid.MakeRegion(len(r.Origin))
	for _, p := range meets {
		shared.Intersect(box(p), r)
		n, _ := shared.Elements()
		left -= n
	}
	if t.Fixed == nil && t.Var == nil {
		t.Elems, t.room = a.store.elems(t.form)
	}
	if left != 0 {
		t.window.fill(r, a.fill())
	}
	for _, p := range meets {
		from, err := a.piece(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
		shared.Intersect(from.region, r)
		if err := t.copyFrom(&from, shared); err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	return t.done(0)
}

func box(p *manifest.Piece) grid.Region { return grid.Region{Origin: p.Origin, Shape: p.Shape} }

// piecesIn returns the pieces that overlap a region.
func (a *Array) piecesIn(r grid.Region) (meets []*manifest.Piece) {
	shared := grid.MakeRegion(len(r.Origin))
	for i := range a.spec.Pieces {
		p := &a.spec.Pieces[i]
		if len(p.Origin) == len(r.Origin) && len(p.Shape) == len(r.Origin) && shared.Intersect(box(p), r) {
			meets = append(meets, p)
		}
	}
	return meets
}

// piece reads the values of a piece.
func (a *Array) piece(ctx context.Context, p *manifest.Piece) (window, error) {
	v, err := a.store.tables.Values(ctx, p.Values)
	if err != nil {
		return window{}, err
	}
	form := a.spec.Schema.Form(p.Shape)
	e := codec.Elems{Fixed: v.Data}
	if form.Type.Varies() {
		e = codec.Elems{Var: v.Texts}
	}
	if !matchesForm(e, form) {
		return window{}, fmt.Errorf("%w: values %s have %d bytes and %d texts, but the piece has shape %v and type %v", codec.ErrCorrupt, p.Values, len(v.Data), len(v.Texts), p.Shape, form.Type)
	}
	return newWindow(e, box(p), form.Type), nil
}

// inlineLocations yields the chunks of an array that is stored in the manifest.
func (a *Array) inlineLocations(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Location] {
	return func(yield func(*manifest.Location, error) bool) {
		w, err := a.grid.WalkChunks(chunks)
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", a.Path(), err))
			return
		}
		for w.Next() {
			l := &manifest.Location{Coords: w.Coords, Source: -1}
			if len(a.piecesIn(w.Region)) > 0 {
				l.Kind = manifest.Verbatim
				l.Inline, err = a.reencodeOnce(ctx, w.Coords)
				l.Size = int64(len(l.Inline))
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}
