package icechunk

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// past is what an append has to know of the snapshot that was exported before.
type past interface {
	// Load returns a snapshot of the manifest by its id.
	Load(ctx context.Context, id string) (*manifest.Snapshot, error)
	// ScanTiles yields the tiles of a segment of the snapshot that is exported now.
	ScanTiles(ctx context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error]
}

// change says which chunks of an array are not as they were: none, those from a place on
// along one axis, or all.
type change struct {
	kind changeKind
	axis int
	from int64 // the first chunk along the axis
}

type changeKind uint8

const (
	unchanged changeKind = iota
	behind
	everything
)

// changes compares the arrays of two snapshots of a manifest. What it cannot tell to be as
// it was, it calls changed.
type changes struct {
	old, now *manifest.Snapshot
	past     past
}

func (c *changes) of(ctx context.Context, a *inputArray) (change, error) {
	i := slices.IndexFunc(c.old.Arrays, func(o manifest.Array) bool { return o.Path == a.spec.Path })
	if i < 0 {
		return change{kind: everything}, nil
	}
	old := &c.old.Arrays[i]
	g, err := old.Face.Grid()
	if err != nil {
		return change{}, fmt.Errorf("%s: the array as it was: %w", old.Path, err)
	}
	ch := growth(g, a.grid)
	if same, err := sameReading(old, a.spec); !same || err != nil || ch.kind == everything {
		return change{kind: everything}, err
	}
	news, ok := c.newTiles(old, a.spec)
	if !ok {
		return change{kind: everything}, nil
	}
	return c.check(ctx, ch, news, old, a.spec)
}

// growth compares grids that have to be alike but for one axis, which may have grown.
func growth(old, now *grid.Grid) change {
	if old.Rank() != now.Rank() {
		return change{kind: everything}
	}
	ch := change{}
	for axis := range now.Rank() {
		a, b := old.Dim(axis), now.Dim(axis)
		if a.Extent() == b.Extent() && a.Chunks() == b.Chunks() && same(a, b) == a.Chunks() {
			continue
		}
		if ch.kind != unchanged || b.Extent() < a.Extent() {
			return change{kind: everything}
		}
		from := same(a, b)
		if from > 0 && b.Offset(from-1)+b.DataSize(from-1) > a.Extent() {
			from-- // a chunk that the array did not fill
		}
		ch = change{behind, axis, from}
	}
	return ch
}

// same counts the leading chunks of two dimensions that have equal edges. It takes a step
// for each run.
func same(a, b grid.Dimension) (n int64) {
	for most := min(a.Chunks(), b.Chunks()); n < most; {
		s, t := a.Span(n), b.Span(n)
		if s.Edge != t.Edge {
			return n
		}
		n = min(s.First+s.Count, t.First+t.Count, most)
	}
	return n
}

// sameReading reports whether stored elements become the same chunks as before.
func sameReading(old, now *manifest.Array) (bool, error) {
	a, b := old.Face, now.Face
	x, err := signature(a)
	if err != nil {
		return false, err
	}
	y, err := signature(b)
	return bytes.Equal(x, y) && old.Reading == now.Reading && slices.Equal(old.Variables, now.Variables) &&
		slices.Equal(old.Dims, now.Dims) && maps.Equal(old.Renamed, now.Renamed), err
}

// signature is the document of a face without its shape and chunks.
func signature(face *zarrjson.Array) ([]byte, error) {
	f := *face
	f.Shape, f.ChunkGrid = make([]int64, len(face.Shape)), zarrjson.RegularGrid(slices.Repeat([]int64{1}, len(face.Shape))...)
	return f.Encode(zarrjson.Compact)
}

// newTiles returns what an array has besides what it had, if that is all still there.
func (c *changes) newTiles(old, now *manifest.Array) ([]manifest.Segment, bool) {
	if old.Placement == "" || now.Placement == "" {
		return nil, old.Placement == now.Placement && len(old.Pieces) <= len(now.Pieces) &&
			slices.EqualFunc(old.Pieces, now.Pieces[:min(len(old.Pieces), len(now.Pieces))], samePiece)
	}
	was, is := placement(c.old, old.Placement), placement(c.now, now.Placement)
	if was == nil || is == nil || !slices.Equal(was.Dims, is.Dims) {
		return nil, false
	}
	return after(was.Segments, is.Segments)
}

// after returns the segments behind those that were there before. The last of those may have
// become longer, where new rows continue it.
func after(was, is []manifest.Segment) ([]manifest.Segment, bool) {
	for i, s := range was {
		if i >= len(is) {
			return nil, false
		}
		n := is[i]
		if s.Table != n.Table || s.Row != n.Row || !slices.Equal(s.Shift, n.Shift) || n.Rows < s.Rows {
			return nil, false
		}
		if n.Rows > s.Rows {
			if i != len(was)-1 {
				return nil, false
			}
			n.Row, n.Rows = n.Row+s.Rows, n.Rows-s.Rows
			return append([]manifest.Segment{n}, is[i+1:]...), true
		}
	}
	return is[len(was):], true
}

func samePiece(a, b manifest.Piece) bool {
	return a.Values == b.Values && slices.Equal(a.Origin, b.Origin) && slices.Equal(a.Shape, b.Shape)
}

func placement(s *manifest.Snapshot, id string) *manifest.PlacementTable {
	for i := range s.Placements {
		if s.Placements[i].ID == id {
			return &s.Placements[i]
		}
	}
	return nil
}

// check makes sure that everything new lies behind what there was.
func (c *changes) check(ctx context.Context, ch change, news []manifest.Segment, old, now *manifest.Array) (change, error) {
	fresh := now.Pieces[min(len(old.Pieces), len(now.Pieces)):]
	if len(news) == 0 && len(fresh) == 0 {
		return ch, nil
	}
	if ch.kind == unchanged {
		return change{kind: everything}, nil
	}
	extent := old.Face.Shape[ch.axis]
	for _, p := range fresh {
		if p.Origin[ch.axis] < extent {
			return change{kind: everything}, nil
		}
	}
	if len(news) == 0 {
		return ch, nil
	}
	dim := slices.Index(placement(c.now, now.Placement).Dims, now.Dims[ch.axis])
	if dim < 0 {
		return change{kind: everything}, nil
	}
	for _, s := range news {
		for tile, err := range c.past.ScanTiles(ctx, s) {
			if err != nil {
				return change{}, err
			}
			if tile.Origin[dim] < extent {
				return change{kind: everything}, nil
			}
		}
	}
	return ch, nil
}
