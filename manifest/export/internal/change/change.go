// Package change tells which chunks of an array differ between two snapshots of a manifest, so
// that an export of the one can be carried on to the other by writing those and no others.
package change

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// Past is what has to be known of a manifest besides two of its snapshots.
type Past interface {
	// Load returns a snapshot of the manifest by its id; without one, an fs.ErrNotExist.
	Load(ctx context.Context, id string) (*manifest.Snapshot, error)
	// ScanTiles yields the tiles of a segment of a snapshot.
	ScanTiles(ctx context.Context, of *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error]
	// Begins reports whether the rows of sources and refs of a snapshot are the first of a
	// newer one's, so that their numbers mean the same.
	Begins(ctx context.Context, old, now *manifest.Snapshot) (bool, error)
}

// Change says which chunks of an array are not as they were.
type Change struct {
	Kind Kind
	Axis int
	From int64 // with Behind, the number of the first such chunk along the axis
}

// Kind is how much of an array differs.
type Kind uint8

// The kinds.
const (
	None       Kind = iota
	Behind          // only chunks from a place on along one axis
	Everything      // all, for all that is known
)

// Snapshots compares the arrays of two snapshots of a manifest. What it cannot tell to be as
// it was, it calls changed.
type Snapshots struct {
	Old, Now *manifest.Snapshot
	Past     Past

	rows func() (bool, error) // whether they mean what they did, once that was asked for
}

// Of compares the chunks of an array of the snapshot Now, whose grid is given: what they hold,
// how they are cut, and that whatever the older ones are in is still there.
func (c *Snapshots) Of(ctx context.Context, now *manifest.Array, is *grid.Grid) (Change, error) {
	old := c.before(now)
	if old == nil || !keepsPatches(old, now) {
		return Change{Kind: Everything}, nil
	}
	g, err := old.Face.Grid()
	if err != nil {
		return Change{}, fmt.Errorf("%s: the array as it was: %w", old.Path, err)
	}
	return c.confirm(ctx, Growth(g, is), old, now)
}

// Elements compares the elements of an array of the snapshot Now, however it is cut into
// chunks: with Behind, From is the first index along the axis that was not there.
func (c *Snapshots) Elements(ctx context.Context, now *manifest.Array) (Change, error) {
	old := c.before(now)
	if old == nil || len(old.Face.Shape) != len(now.Face.Shape) {
		return Change{Kind: Everything}, nil
	}
	ch := Change{}
	for axis, n := range old.Face.Shape {
		if n == now.Face.Shape[axis] {
			continue
		}
		if ch.Kind != None || n > now.Face.Shape[axis] {
			return Change{Kind: Everything}, nil
		}
		ch = Change{Behind, axis, n}
	}
	return c.confirm(ctx, ch, old, now)
}

// before is an array as it was, or nil.
func (c *Snapshots) before(now *manifest.Array) *manifest.Array {
	i := slices.IndexFunc(c.Old.Arrays, func(o manifest.Array) bool { return o.Path == now.Path })
	if i < 0 {
		return nil
	}
	return &c.Old.Arrays[i]
}

// confirm returns a change if that is all that changed of an array.
func (c *Snapshots) confirm(ctx context.Context, ch Change, old, now *manifest.Array) (Change, error) {
	if same, err := sameReading(old, now); !same || err != nil || ch.Kind == Everything {
		return Change{Kind: Everything}, err
	}
	if ok, err := c.onlyBehind(ctx, ch, old, now); !ok || err != nil {
		return Change{Kind: Everything}, err
	}
	return ch, nil
}

// keepsPatches reports whether the files of rebuilt chunks that an array had are still its:
// refs lead into them, and a file that no array needs is deleted some day.
func keepsPatches(old, now *manifest.Array) bool {
	return !slices.ContainsFunc(old.Patches, func(was manifest.Patched) bool {
		return !slices.ContainsFunc(now.Patches, func(is manifest.Patched) bool { return is.File == was.File })
	})
}

// Growth compares grids of which the newer one counts. They have to be alike but for one axis,
// which may have grown.
func Growth(old, now *grid.Grid) Change {
	if old.Rank() != now.Rank() {
		return Change{Kind: Everything}
	}
	ch := Change{}
	for axis := range now.Rank() {
		a, b := old.Dim(axis), now.Dim(axis)
		if a.Extent() == b.Extent() && a.Chunks() == b.Chunks() && same(a, b) == a.Chunks() {
			continue
		}
		if ch.Kind != None || b.Extent() < a.Extent() {
			return Change{Kind: Everything}
		}
		from := same(a, b)
		if from > 0 && b.Offset(from-1)+b.DataSize(from-1) > a.Extent() {
			from-- // a chunk that the array did not fill
		}
		ch = Change{Behind, axis, from}
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

// onlyBehind reports whether everything that an array had is still where it was, and all that
// it has besides lies behind what there was along the axis of a change.
func (c *Snapshots) onlyBehind(ctx context.Context, ch Change, old, now *manifest.Array) (bool, error) {
	end := int64(math.MaxInt64) // nothing new may be anywhere
	if ch.Kind == Behind {
		end = old.Face.Shape[ch.Axis]
	}
	if old.Placement == "" || now.Placement == "" {
		return old.Placement == now.Placement && piecesBehind(old.Pieces, now.Pieces, ch.Axis, end), nil
	}
	was, is := placement(c.Old, old.Placement), placement(c.Now, now.Placement)
	if was == nil || is == nil || !slices.Equal(was.Dims, is.Dims) {
		return false, nil
	}
	if same, err := c.sameRows(ctx); !same || err != nil {
		return false, err
	}
	dim := -1 // nothing may be new along any; a scalar has none
	if ch.Kind == Behind {
		if dim = slices.Index(is.Dims, now.Dims[ch.Axis]); dim < 0 {
			return false, nil
		}
	}
	had, has := was.Segments, is.Segments
	for len(had) > 0 && len(has) > 0 && equalSegments(had[0], has[0]) {
		had, has = had[1:], has[1:]
	}
	return tilesBehind(c.tiles(ctx, c.Old, had), c.tiles(ctx, c.Now, has), dim, end)
}

func equalSegments(a, b manifest.Segment) bool {
	return a.Table == b.Table && a.Row == b.Row && a.Rows == b.Rows && slices.Equal(a.Shift, b.Shift)
}

// sameRows reports whether the rows of sources and refs mean what they did, which is the same
// for all arrays.
func (c *Snapshots) sameRows(ctx context.Context) (bool, error) {
	if c.rows == nil {
		same, err := c.Past.Begins(ctx, c.Old, c.Now)
		c.rows = func() (bool, error) { return same, err }
	}
	return c.rows()
}

func piecesBehind(old, now []manifest.Piece, axis int, end int64) bool {
	if len(old) > len(now) || !slices.EqualFunc(old, now[:len(old)], samePiece) {
		return false
	}
	return !slices.ContainsFunc(now[len(old):], func(p manifest.Piece) bool { return len(p.Origin) == 0 || p.Origin[axis] < end })
}

func samePiece(a, b manifest.Piece) bool {
	return a.Values == b.Values && slices.Equal(a.Origin, b.Origin) && slices.Equal(a.Shape, b.Shape)
}

func (c *Snapshots) tiles(ctx context.Context, of *manifest.Snapshot, segments []manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		for _, s := range segments {
			for tile, err := range c.Past.ScanTiles(ctx, of, s) {
				if !yield(tile, err) || err != nil {
					return
				}
			}
		}
	}
}

// tilesBehind reports whether tiles are those that there were, in the same order, with
// others among them that all lie behind an end along one dimension.
func tilesBehind(old, now iter.Seq2[manifest.Tile, error], dim int, end int64) (bool, error) {
	next, stop := iter.Pull2(old)
	defer stop()
	was, err, more := next()
	for tile, failed := range now {
		if failed != nil || err != nil {
			return false, cmp.Or(failed, err)
		}
		switch {
		case more && sameTile(was, tile):
			was, err, more = next()
		case dim < 0 || tile.Origin[dim] < end:
			return false, nil
		}
	}
	return !more, err
}

func sameTile(a, b manifest.Tile) bool {
	return a.File == b.File && slices.Equal(a.Origin, b.Origin) && slices.Equal(a.Start, b.Start) && slices.Equal(a.Shape, b.Shape)
}

func placement(s *manifest.Snapshot, id string) *manifest.PlacementTable {
	for i := range s.Placements {
		if s.Placements[i].ID == id {
			return &s.Placements[i]
		}
	}
	return nil
}
