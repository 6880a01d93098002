// Package change computes which chunks of an array differ between two snapshots of a manifest. So an
// export of the older snapshot can be updated by writing only these chunks, and a server knows whether a
// client with the metadata of the older snapshot may get chunks of the newer one.
package change

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// Past provides older snapshots of a manifest and their tables, to compare the current snapshot with the
// exported one.
type Past interface {
	Tables
	// Load returns a snapshot of the manifest by its ID. A missing one is an fs.ErrNotExist.
	Load(ctx context.Context, id string) (*manifest.Snapshot, error)
}

// Tables provides the tables of two snapshots.
type Tables interface {
	// ScanTiles yields the tiles of a segment of a snapshot.
	ScanTiles(ctx context.Context, of *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error]
	// Begins reports whether the first rows of a newer snapshot's sources and refs are the older one's
	// rows, so that row numbers have the same meaning in both.
	Begins(ctx context.Context, old, now *manifest.Snapshot) (bool, error)
}

// Change says which chunks of an array differ.
type Change struct {
	Kind Kind
	Axis int
	From int64  // for Tail: the number of the first chunk that differs along the axis
	Why  string // for Everything: what prevents a smaller change
}

func everything(format string, args ...any) Change {
	return Change{Kind: Everything, Why: fmt.Sprintf(format, args...)}
}

// Kind says how many chunks a change covers.
type Kind uint8

// The kinds of changes.
const (
	None       Kind = iota
	Tail            // only chunks from some index on along one axis
	Everything      // possibly all chunks
)

// Snapshots compares the arrays of two snapshots of a manifest. It reports a chunk as changed unless it
// can prove that it is unchanged.
type Snapshots struct {
	Old, Now *manifest.Snapshot
	Past     Tables

	rows        func() (bool, error) // the result of sameRows, once it is known
	sameTilesOf map[tilesKey]bool    // results of sameTiles, because many arrays share a placement
}

// tilesKey identifies a call of sameTiles.
type tilesKey struct {
	was, is string // IDs of the placements
	dim     int
	end     int64
}

// Of compares the chunks of an array of the snapshot Now, whose chunk grid is newGrid: their values, their
// shapes, and whether the files of compacted chunks still belong to the manifest.
func (c *Snapshots) Of(ctx context.Context, now *manifest.Array, newGrid *grid.Grid) (Change, error) {
	old := c.before(now)
	switch {
	case old == nil:
		return everything(whyNew), nil
	case !keepsPatches(old, now):
		return everything("files of its compacted chunks are no longer used"), nil
	}
	oldGrid, err := old.Schema.Grid()
	if err != nil {
		return Change{}, fmt.Errorf("%s in the older snapshot: %w", old.Path, err)
	}
	return c.confirm(ctx, Growth(oldGrid, newGrid), old, now)
}

// Elements compares the elements of an array of the snapshot Now, whatever its chunk grid is. For Tail,
// From is the first new index along the axis.
func (c *Snapshots) Elements(ctx context.Context, now *manifest.Array) (Change, error) {
	old := c.before(now)
	if old == nil {
		return everything(whyNew), nil
	}
	was, is := old.Schema.Shape, now.Schema.Shape
	if len(was) != len(is) {
		return grownOtherwise(was, is), nil
	}
	ch := Change{}
	for axis, n := range was {
		if n == is[axis] {
			continue
		}
		if ch.Kind != None || n > is[axis] {
			return grownOtherwise(was, is), nil
		}
		ch = Change{Kind: Tail, Axis: axis, From: n}
	}
	return c.confirm(ctx, ch, old, now)
}

const whyNew = "the array is new"

func grownOtherwise(was, is []int64) Change {
	if slices.Equal(was, is) {
		return everything("its chunk grid changed along more than one dimension")
	}
	return everything("its shape changed from %v to %v, which is not growth along one dimension", was, is)
}

// before returns the array in the older snapshot, or nil.
func (c *Snapshots) before(now *manifest.Array) *manifest.Array {
	i := slices.IndexFunc(c.Old.Arrays, func(o manifest.Array) bool { return o.Path == now.Path })
	if i < 0 {
		return nil
	}
	return &c.Old.Arrays[i]
}

// confirm returns ch if nothing but the shape and the chunk grid changed, else Everything.
func (c *Snapshots) confirm(ctx context.Context, ch Change, old, now *manifest.Array) (Change, error) {
	if ch.Kind == Everything {
		return ch, nil
	}
	why, err := OtherReading(old, now)
	if why == "" && err == nil {
		why, err = c.whyMoved(ctx, ch, old, now)
	}
	if why != "" || err != nil {
		return Change{Kind: Everything, Why: why}, err
	}
	return ch, nil
}

// keepsPatches reports whether the array still uses its files of compacted chunks. References of an
// export point into them, and GC removes a file that no array uses.
func keepsPatches(old, now *manifest.Array) bool {
	return !slices.ContainsFunc(old.Patches, func(was manifest.Patched) bool {
		return !slices.ContainsFunc(now.Patches, func(is manifest.Patched) bool { return is.File == was.File })
	})
}

// Growth compares grids. The result is Everything unless they are equal, or differ along one axis only
// and the newer one is not shorter.
func Growth(old, now *grid.Grid) Change {
	if old.Rank() != now.Rank() {
		return grownOtherwise(old.Shape(), now.Shape())
	}
	ch := Change{}
	for axis := range now.Rank() {
		a, b := old.Dim(axis), now.Dim(axis)
		if a.Extent() == b.Extent() && a.Chunks() == b.Chunks() && grid.CommonPrefix(a, b, 0) == a.Chunks() {
			continue
		}
		// A second axis differs, or elements were removed.
		if ch.Kind != None || b.Extent() < a.Extent() {
			return grownOtherwise(old.Shape(), now.Shape())
		}
		from := grid.CommonPrefix(a, b, 0)
		if _, end, ok := grid.Bounds(b, from-1); ok && end > a.Extent() {
			from-- // the old end of the array cut this chunk, so it has new elements now
		}
		ch = Change{Kind: Tail, Axis: axis, From: from}
	}
	return ch
}

// Chunks compares grids. ok reports whether every chunk of the older grid exists in the newer one,
// with the same coordinates and edges. filled reports whether one of them has new elements, which were
// beyond the array's shape before.
func Chunks(old, now *grid.Grid) (ok, filled bool) {
	if old.Rank() != now.Rank() {
		return false, false
	}
	for axis := range old.Rank() {
		a, b := old.Dim(axis), now.Dim(axis)
		n := a.Chunks()
		if b.Extent() < a.Extent() || grid.CommonPrefix(a, b, 0) < n {
			return false, false
		}
		was, hasLast := a.DataSize(n - 1)
		is, _ := b.DataSize(n - 1)
		filled = filled || hasLast && is != was
	}
	return true, filled
}

// OtherReading returns the reason why equal tiles or pieces give different bytes in two arrays, whatever
// their chunk grids are. It is empty if they give equal bytes.
func OtherReading(old, now *manifest.Array) (why string, err error) {
	switch {
	case !slices.Equal(old.Variables, now.Variables):
		return fmt.Sprintf("its variables changed from %q to %q", old.Variables, now.Variables), nil
	case !slices.Equal(old.Dims, now.Dims) || !maps.Equal(old.Renamed, now.Renamed) || !slices.Equal(old.Unnamed, now.Unnamed):
		return fmt.Sprintf("its dimensions changed from %q to %q", old.Dims, now.Dims), nil
	case old.Reading != now.Reading:
		return "the conversion of stored elements changed", nil
	}
	return OtherEncoding(old.Schema, now.Schema)
}

// OtherEncoding returns the reason why equal elements have different bytes or a different meaning under
// two schemas, whatever their chunk grids are. It is empty if bytes and meaning are equal.
func OtherEncoding(old, now *zarrjson.Array) (why string, err error) {
	was, err := encoding(old)
	if err != nil {
		return "", err
	}
	is, err := encoding(now)
	if err != nil || bytes.Equal(was, is) {
		return "", err
	}
	return "its " + strings.Join(otherMembers(was, is), ", ") + " changed", nil
}

// otherMembers returns the names of members that differ between two JSON objects.
func otherMembers(a, b []byte) (names []string) {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(a, &was) != nil || json.Unmarshal(b, &is) != nil {
		return []string{"metadata"}
	}
	for name, text := range was {
		if !bytes.Equal(text, is[name]) {
			names = append(names, name)
		}
	}
	for name := range is {
		if was[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// encoding returns the parts of a schema that determine the bytes of chunks and the meaning of elements,
// without shapes.
func encoding(schema *zarrjson.Array) ([]byte, error) {
	f := *schema
	ones := slices.Repeat([]int64{1}, len(schema.Shape))
	f.Shape, f.ChunkGrid, f.Attributes = ones, zarrjson.RegularGrid(ones...), zarrjson.Attributes{}
	// Other attributes, such as a history, often change with an append and change no chunk.
	for _, name := range cf.MeaningAttributes {
		if value, ok := schema.Attributes.Get(name); ok {
			if err := f.Attributes.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	return f.Encode(zarrjson.Compact)
}

const (
	whyMovedFiles   = "files were inserted before or between the former ones, or replaced them"
	whyMovedValues  = "values in the manifest were inserted before or between the former ones, or replaced them"
	whyOtherStorage = "its values moved into or out of the manifest"
	whyOtherTiles   = "its files are placed along other dimensions"
	whyOtherRows    = "the manifest's tables of sources or references were changed, not only extended"
	whyOtherAxis    = "it grew along a dimension along which no files are placed"
)

// whyMoved returns the reason why some older values are not at their old positions, or why some new values
// are before the end of the older ones along the axis of ch. It is empty if neither is the case.
func (c *Snapshots) whyMoved(ctx context.Context, ch Change, old, now *manifest.Array) (why string, err error) {
	end := int64(math.MaxInt64) // new values are allowed nowhere
	if ch.Kind == Tail {
		end = old.Schema.Shape[ch.Axis]
	}
	switch {
	case old.Placement == "" && now.Placement == "":
		return unless(piecesAppended(old.Pieces, now.Pieces, ch.Axis, end), whyMovedValues), nil
	case old.Placement == "" || now.Placement == "":
		return whyOtherStorage, nil
	}
	was, is := placement(c.Old, old.Placement), placement(c.Now, now.Placement)
	if was == nil || is == nil || !slices.Equal(was.Dims, is.Dims) {
		return whyOtherTiles, nil
	}
	if same, err := c.sameRows(ctx); !same || err != nil {
		return whyOtherRows, err
	}
	dim := -1 // new values are allowed along no dimension
	if ch.Kind == Tail {
		if dim = slices.Index(is.Dims, now.Dims[ch.Axis]); dim < 0 {
			return whyOtherAxis, nil
		}
	}
	same, err := c.sameTiles(ctx, was, is, dim, end)
	return unless(same, whyMovedFiles), err
}

// unless returns why, or nothing if ok.
func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// sameTiles is tilesAppended for the tiles of two placements. It skips equal segments at the start without
// reading them, and remembers its results.
func (c *Snapshots) sameTiles(ctx context.Context, was, is *manifest.PlacementTable, dim int, end int64) (bool, error) {
	key := tilesKey{was.ID, is.ID, dim, end}
	if same, known := c.sameTilesOf[key]; known {
		return same, nil
	}
	had, has := was.Segments, is.Segments
	// An append keeps all segments and adds its own, so usually little is left to read.
	for len(had) > 0 && len(has) > 0 && equalSegments(had[0], has[0]) {
		had, has = had[1:], has[1:]
	}
	same, err := tilesAppended(c.tiles(ctx, c.Old, had), c.tiles(ctx, c.Now, has), dim, end)
	if err != nil {
		return false, err
	}
	if c.sameTilesOf == nil {
		c.sameTilesOf = map[tilesKey]bool{}
	}
	c.sameTilesOf[key] = same
	return same, nil
}

func equalSegments(a, b manifest.Segment) bool {
	return a.Table == b.Table && a.Row == b.Row && a.Rows == b.Rows && slices.Equal(a.Shift, b.Shift)
}

// sameRows reports whether row numbers of sources and refs have the same meaning in both snapshots. This
// is computed once for all arrays.
func (c *Snapshots) sameRows(ctx context.Context) (bool, error) {
	if c.rows == nil {
		same, err := c.Past.Begins(ctx, c.Old, c.Now)
		c.rows = func() (bool, error) { return same, err }
	}
	return c.rows()
}

// piecesAppended is tilesAppended for values in the manifest.
func piecesAppended(old, now []manifest.Piece, axis int, end int64) bool {
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

// tilesAppended reports whether all old tiles are among the new ones, in the same order, and all other
// new tiles start at or after end along one dimension.
func tilesAppended(old, now iter.Seq2[manifest.Tile, error], dim int, end int64) (bool, error) {
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
