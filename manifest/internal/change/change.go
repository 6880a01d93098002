// Package change tells which chunks of an array differ between two snapshots of a manifest, so
// that an export of the one can be carried on to the other by writing those and no others, and
// that a server knows whether who has read the documents of the one may be given chunks of the other.
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

// Past is what has to be known of a manifest to compare a snapshot with one that an export was
// made of.
type Past interface {
	Tables
	// Load returns a snapshot of the manifest by its id; without one, an fs.ErrNotExist.
	Load(ctx context.Context, id string) (*manifest.Snapshot, error)
}

// Tables are what has to be known of two snapshots besides what is in them.
type Tables interface {
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
	From int64  // with Behind, the number of the first such chunk along the axis
	Why  string // with Everything, what keeps it from being less
}

func everything(format string, args ...any) Change {
	return Change{Kind: Everything, Why: fmt.Sprintf(format, args...)}
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
	Past     Tables

	rows  func() (bool, error) // whether they mean what they did, once that was asked for
	tiled map[tiling]bool      // what was found out of placements, which many arrays share
}

// tiling is whether all tiles of a placement are those of another, but for some behind an end.
type tiling struct {
	was, is string // the ids of the placements
	dim     int
	end     int64
}

// Of compares the chunks of an array of the snapshot Now, whose grid is given: what they hold,
// how they are cut, and that whatever the older ones are in is still there.
func (c *Snapshots) Of(ctx context.Context, now *manifest.Array, is *grid.Grid) (Change, error) {
	old := c.before(now)
	switch {
	case old == nil:
		return everything(isNew), nil
	case !keepsPatches(old, now):
		return everything("files of its re-encoded chunks are no longer used"), nil
	}
	g, err := old.Schema.Grid()
	if err != nil {
		return Change{}, fmt.Errorf("%s: the array as it was: %w", old.Path, err)
	}
	return c.confirm(ctx, Growth(g, is), old, now)
}

// Elements compares the elements of an array of the snapshot Now, however it is cut into
// chunks: with Behind, From is the first index along the axis that was not there.
func (c *Snapshots) Elements(ctx context.Context, now *manifest.Array) (Change, error) {
	old := c.before(now)
	if old == nil {
		return everything(isNew), nil
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
		ch = Change{Kind: Behind, Axis: axis, From: n}
	}
	return c.confirm(ctx, ch, old, now)
}

const isNew = "it was not there"

func grownOtherwise(was, is []int64) Change {
	if slices.Equal(was, is) {
		return everything("it is cut into other chunks along more than one dimension")
	}
	return everything("its shape was %v and is %v: not one dimension alone grew", was, is)
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
	if ch.Kind == Everything {
		return ch, nil
	}
	why, err := OtherReading(old, now)
	if why == "" && err == nil {
		why, err = c.elsewhere(ctx, ch, old, now)
	}
	if why != "" || err != nil {
		return Change{Kind: Everything, Why: why}, err
	}
	return ch, nil
}

// keepsPatches reports whether the files of re-encoded chunks that an array had are still its:
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
		return grownOtherwise(old.Shape(), now.Shape())
	}
	ch := Change{}
	for axis := range now.Rank() {
		a, b := old.Dim(axis), now.Dim(axis)
		if a.Extent() == b.Extent() && a.Chunks() == b.Chunks() && grid.CommonPrefix(a, b, 0) == a.Chunks() {
			continue
		}
		if ch.Kind != None || b.Extent() < a.Extent() {
			return grownOtherwise(old.Shape(), now.Shape())
		}
		from := grid.CommonPrefix(a, b, 0)
		if from > 0 && b.Offset(from-1)+b.DataSize(from-1) > a.Extent() {
			from-- // a chunk that the array did not fill
		}
		ch = Change{Kind: Behind, Axis: axis, From: from}
	}
	return ch
}

// Chunks compares grids of which the newer one counts: ok reports whether every chunk that there
// was is still there, at its coordinates and with its edges; filled whether one of them has
// elements now that lay behind the array's end.
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
		filled = filled || n > 0 && b.DataSize(n-1) != a.DataSize(n-1)
	}
	return true, filled
}

// OtherReading says what keeps equal tiles, or equal pieces, from becoming equal bytes in two
// arrays, if something does but for how they are cut into chunks.
func OtherReading(old, now *manifest.Array) (why string, err error) {
	switch {
	case !slices.Equal(old.Variables, now.Variables):
		return fmt.Sprintf("it was made of the variables %q and is of %q", old.Variables, now.Variables), nil
	case !slices.Equal(old.Dims, now.Dims) || !maps.Equal(old.Renamed, now.Renamed) || !slices.Equal(old.Unnamed, now.Unnamed):
		return fmt.Sprintf("its dimensions were %q and are %q", old.Dims, now.Dims), nil
	case old.Reading != now.Reading:
		return "stored elements are read in another way", nil
	}
	return OtherEncoding(old.Schema, now.Schema)
}

// OtherEncoding says what keeps equal elements from becoming equal bytes under two schemas, or from
// meaning the same, if something does but for how they are cut into chunks.
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

// otherMembers names what differs between two documents, or one of which only one has.
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

// encoding is what a schema says of the bytes of its chunks, but for their shapes.
func encoding(schema *zarrjson.Array) ([]byte, error) {
	f := *schema
	ones := slices.Repeat([]int64{1}, len(schema.Shape))
	f.Shape, f.ChunkGrid, f.Attributes = ones, zarrjson.RegularGrid(ones...), zarrjson.Attributes{}
	for _, name := range cf.Telling {
		if value, ok := schema.Attributes.Get(name); ok {
			if err := f.Attributes.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	return f.Encode(zarrjson.Compact)
}

const (
	movedFiles  = "files came in front of or between those that were there, or took their places"
	movedValues = "values that the manifest keeps of it came in front of or between others, or took their places"
	isKept      = "its values are in the manifest now, or were"
	otherTiles  = "it is put together along other dimensions"
	otherRows   = "the manifest's tables of files or references were not only added to"
	otherAxis   = "it grew along a dimension that files are not joined along"
)

// elsewhere says what keeps everything that an array had from being where it was, and all that
// it has besides from lying behind what there was along the axis of a change, if something does.
func (c *Snapshots) elsewhere(ctx context.Context, ch Change, old, now *manifest.Array) (why string, err error) {
	end := int64(math.MaxInt64) // nothing new may be anywhere
	if ch.Kind == Behind {
		end = old.Schema.Shape[ch.Axis]
	}
	switch {
	case old.Placement == "" && now.Placement == "":
		return unless(piecesBehind(old.Pieces, now.Pieces, ch.Axis, end), movedValues), nil
	case old.Placement == "" || now.Placement == "":
		return isKept, nil
	}
	was, is := placement(c.Old, old.Placement), placement(c.Now, now.Placement)
	if was == nil || is == nil || !slices.Equal(was.Dims, is.Dims) {
		return otherTiles, nil
	}
	if same, err := c.sameRows(ctx); !same || err != nil {
		return otherRows, err
	}
	dim := -1 // nothing may be new along any; a scalar has none
	if ch.Kind == Behind {
		if dim = slices.Index(is.Dims, now.Dims[ch.Axis]); dim < 0 {
			return otherAxis, nil
		}
	}
	same, err := c.sameTiles(ctx, was, is, dim, end)
	return unless(same, movedFiles), err
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// sameTiles is tilesBehind for placements, whose first segments need not be read if they are equal.
func (c *Snapshots) sameTiles(ctx context.Context, was, is *manifest.PlacementTable, dim int, end int64) (bool, error) {
	key := tiling{was.ID, is.ID, dim, end}
	if same, known := c.tiled[key]; known {
		return same, nil
	}
	had, has := was.Segments, is.Segments
	for len(had) > 0 && len(has) > 0 && equalSegments(had[0], has[0]) {
		had, has = had[1:], has[1:]
	}
	same, err := tilesBehind(c.tiles(ctx, c.Old, had), c.tiles(ctx, c.Now, has), dim, end)
	if err != nil {
		return false, err
	}
	if c.tiled == nil {
		c.tiled = map[tiling]bool{}
	}
	c.tiled[key] = same
	return same, nil
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
