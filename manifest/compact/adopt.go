package compact

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// adopt takes up the chunks of a draft that are those of the next snapshot, and returns how
// many there are.
func (c *compaction) adopt(ctx context.Context, draft *manifest.Snapshot) (chunks int64, err error) {
	if !sameRows(draft, c.planned) {
		return 0, nil
	}
	for i := range c.planned.Arrays {
		now := &c.planned.Arrays[i]
		at := slices.IndexFunc(draft.Arrays, func(a manifest.Array) bool { return a.Path == now.Path })
		if at < 0 {
			continue
		}
		was := &draft.Arrays[at]
		same, err := sameTiles(draft, c.planned, was, now)
		if err != nil {
			return 0, err
		}
		if !same {
			continue
		}
		n, err := c.adoptRuns(ctx, draft, was, now)
		if chunks += n; err != nil {
			return 0, err
		}
	}
	return chunks, nil
}

// adoptRuns takes up the runs of one array that are still there.
func (c *compaction) adoptRuns(ctx context.Context, draft *manifest.Snapshot, was, now *manifest.Array) (chunks int64, err error) {
	for _, p := range was.Patches {
		if slices.ContainsFunc(now.Patches, func(q manifest.Patched) bool { return p.Table == q.Table && p.Row == q.Row }) {
			continue
		}
		left, err := clip(&p, was.Face, now.Face)
		if err != nil {
			return 0, err
		}
		files, err := c.filesOf(ctx, draft, &p)
		if err != nil {
			return 0, err
		}
		if !left || files == nil {
			continue
		}
		for _, t := range files {
			c.list(t)
		}
		now.Patches = append(slices.Clip(now.Patches), p)
		chunks += p.Rows
	}
	return chunks, nil
}

// filesOf returns the files of a run, or nil if they are not what was written.
func (c *compaction) filesOf(ctx context.Context, draft *manifest.Snapshot, p *manifest.Patched) (files []manifest.Table, err error) {
	for _, t := range draft.Tables {
		if t.Name != p.Table && t.Name != p.File {
			continue
		}
		_, err := c.repo.FileOf(ctx, t)
		if errors.Is(err, codec.ErrCorrupt) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		files = append(files, t)
	}
	if len(files) < 2 {
		return nil, nil
	}
	return files, nil
}

// sameRows reports whether the rows of sources and refs of an older snapshot mean the same in
// a newer one.
func sameRows(old, now *manifest.Snapshot) bool {
	for _, kind := range []manifest.TableKind{manifest.Sources, manifest.Refs, manifest.Blobs} {
		was, is := namesOf(old, kind), namesOf(now, kind)
		if len(was) > len(is) || !slices.Equal(was, is[:len(was)]) {
			return false
		}
	}
	return true
}

func namesOf(s *manifest.Snapshot, kind manifest.TableKind) (names []string) {
	for _, t := range s.Tables {
		if t.Kind == kind {
			names = append(names, t.Name)
		}
	}
	return names
}

// sameTiles reports whether an array is an older one to which at most tiles were added at its
// end, and whose chunks are encoded alike.
func sameTiles(old, next *manifest.Snapshot, was, now *manifest.Array) (bool, error) {
	if was.Reading != now.Reading || was.Placement != now.Placement || was.Placement == "" || !slices.Equal(was.Variables, now.Variables) ||
		!slices.Equal(was.Dims, now.Dims) || !maps.Equal(was.Renamed, now.Renamed) {
		return false, nil
	}
	a, b := segmentsOf(old, was.Placement), segmentsOf(next, now.Placement)
	if len(a) > len(b) || !slices.EqualFunc(a, b[:len(a)], sameSegment) {
		return false, nil
	}
	x, err := encoding(was.Face)
	if err != nil {
		return false, err
	}
	y, err := encoding(now.Face)
	return bytes.Equal(x, y), err
}

func segmentsOf(s *manifest.Snapshot, placement string) []manifest.Segment {
	for i := range s.Placements {
		if s.Placements[i].ID == placement {
			return s.Placements[i].Segments
		}
	}
	return nil
}

func sameSegment(a, b manifest.Segment) bool {
	return a.Table == b.Table && a.Row == b.Row && a.Rows == b.Rows && slices.Equal(a.Shift, b.Shift)
}

// encoding is what a face says of the bytes of its chunks, but for their shapes.
func encoding(face *zarrjson.Array) ([]byte, error) {
	f := *face
	ones := slices.Repeat([]int64{1}, len(face.Shape))
	f.Shape, f.ChunkGrid, f.Attributes = ones, zarrjson.RegularGrid(ones...), zarrjson.Attributes{}
	return f.Encode(zarrjson.Compact)
}

// clip lowers the limit of a run to the chunks that two faces have in common, and reports
// whether there are any.
func clip(p *manifest.Patched, was, now *zarrjson.Array) (left bool, err error) {
	a, err := was.Grid()
	if err != nil {
		return false, err
	}
	b, err := now.Grid()
	if err != nil || a.Rank() != b.Rank() {
		return false, err
	}
	left = true
	for axis := range a.Rank() {
		left = p.Clip(axis, common(a.Dim(axis), b.Dim(axis))) && left
	}
	return left, nil
}

// common counts the leading chunks that two dimensions have in common. It takes a step for
// each run of edges.
func common(a, b grid.Dimension) (n int64) {
	most := min(a.Chunks(), b.Chunks())
	for n < most {
		s, t := a.Span(n), b.Span(n)
		if s.Edge != t.Edge {
			return n
		}
		n = min(s.First+s.Count, t.First+t.Count, most)
	}
	// The last chunk may not have been filled by one of them.
	if n > 0 && a.DataSize(n-1) != b.DataSize(n-1) {
		n--
	}
	return n
}
