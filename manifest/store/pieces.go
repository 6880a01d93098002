package store

import (
	"context"
	"fmt"
	"slices"

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

// inlineRuns yields the chunks in a box of an array that is stored in the manifest. Chunks without a piece are yielded
// together, so that the work follows from the pieces, and not from the shape that a snapshot declares.
func (a *Array) inlineRuns(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return func(yield func(*manifest.Run, error) bool) {
		pieces := make([]*manifest.Piece, 0, len(a.spec.Pieces))
		for i := range a.spec.Pieces {
			if p := &a.spec.Pieces[i]; len(p.Origin) == a.grid.Rank() && len(p.Shape) == a.grid.Rank() && !box(p).IsEmpty() {
				pieces = append(pieces, p)
			}
		}
		l := &inlineLister{a: a, ctx: ctx, box: chunks, yield: yield}
		l.run.Coords = slices.Clone(chunks.Origin)
		if !chunks.IsEmpty() {
			l.list(0, pieces)
		}
	}
}

// inlineLister lists the chunks of an array that is stored in the manifest.
type inlineLister struct {
	a     *Array
	ctx   context.Context
	box   grid.Region
	yield func(*manifest.Run, error) bool
	run   manifest.Run
}

// list lists the chunks that have the coordinates of l.run along the axes before k. pieces are the pieces that overlap
// these chunks along these axes. It returns false to end the list.
func (l *inlineLister) list(k int, pieces []*manifest.Piece) bool {
	switch {
	case len(pieces) == 0:
		return l.missing(k-1, 1)
	case k == len(l.box.Shape):
		return l.one()
	}
	d := l.a.grid.Dim(k)
	for at, end := l.box.Origin[k], l.box.End(k); at < end; {
		from, to, ok := grid.Bounds(d, at)
		if !ok {
			return l.fail(grid.ErrOutOfBounds)
		}
		var here []*manifest.Piece
		next := end // the first chunk after this one that a piece meets, if none meets this one
		for _, p := range pieces {
			switch {
			case p.Origin[k]+p.Shape[k] <= from:
			case p.Origin[k] < to:
				here = append(here, p)
			default:
				if chunk, err := d.Find(p.Origin[k]); err == nil {
					next = min(next, chunk)
				}
			}
		}
		l.run.Coords[k] = at
		if len(here) > 0 {
			if !l.list(k+1, here) {
				return false
			}
			at++
			continue
		}
		if !l.missing(k, next-at) {
			return false
		}
		at = next
	}
	return true
}

// missing yields n indices of axis k, with all chunks of the axes after it. Without any piece k is -1.
func (l *inlineLister) missing(k int, n int64) bool {
	for j := k + 1; j < len(l.box.Shape); j++ {
		l.run.Coords[j] = l.box.Origin[j]
		n *= l.box.Shape[j]
	}
	l.run.Location = manifest.Location{Coords: l.run.Coords, Source: -1, Kind: manifest.Missing}
	l.run.Chunks = n
	return l.yield(&l.run, l.ctx.Err()) && l.ctx.Err() == nil
}

// one yields one chunk with pieces.
func (l *inlineLister) one() bool {
	data, err := l.a.reencodeOnce(l.ctx, l.run.Coords)
	if err != nil {
		return l.fail(err)
	}
	l.run.Location = manifest.Location{Coords: l.run.Coords, Source: -1, Kind: manifest.Verbatim, Inline: data, Size: int64(len(data))}
	l.run.Chunks = 1
	return l.yield(&l.run, nil)
}

// fail ends the list with an error.
func (l *inlineLister) fail(err error) bool {
	l.yield(nil, fmt.Errorf("%s: %w", l.a.Path(), err))
	return false
}
