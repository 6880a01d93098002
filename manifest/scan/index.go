package scan

import (
	"errors"
	"fmt"
	"math"

	"varve/grid"
	"varve/manifest"
	"varve/readers"
)

// maxSparse is the number of rows that a variable may have regardless of the size of its source. Each row more
// needs a byte more of the source.
const maxSparse = 1 << 20

// maxRows limits the rows of any variable.
const maxRows = 1 << 27

// rowBytes is the memory of a row: its offset and size. Few rows have more.
const rowBytes = 16

// placeChunks adds the chunks of a variable.
func (e *entry) placeChunks(s *readers.Storage) error {
	out := &e.out
	out.Storage.Layout = manifest.Chunked
	if s.Grid != nil {
		setEdges(&out.Storage, s.Grid)
	}
	for _, n := range s.ChunkShape {
		out.Storage.Chunks = append(out.Storage.Chunks, int64(min(n, math.MaxInt64)))
	}
	if s.ReadIndex == nil {
		out.Storage.Layout = manifest.Nothing
		return nil
	}
	counts, err := chunkCounts(out)
	if err != nil {
		return err
	}
	rows, err := elements(counts)
	if err != nil {
		return err
	}
	if err := e.checkRows(rows, s); err != nil {
		return err
	}
	if e.streams(s, rows) {
		err := e.streamIndex(rows, counts, s)
		// The damage does not matter, but the rows that the sink has already must be removed.
		if err != nil && isDamage(err) && e.by != nil && e.by.spares(e.v.Path, e.v) {
			return errHanded
		}
		return err
	}
	if err := e.asked.held.claim(rows * rowBytes); err != nil {
		return err
	}
	first := e.found.refs.add(int(rows))
	if rows == 0 || !e.asked.indexes && !wanted(out) {
		return nil
	}
	return e.readIndex(first, counts, s)
}

// setEdges sets the edges of a grid, and the sizes of their data if chunks before the last one of an axis are padded.
func setEdges(s *manifest.Storage, g *grid.Grid) {
	hasPadding := false
	for k := range g.Rank() {
		var stored, data [][2]int64
		at := int64(0)
		for run := range g.Dim(k).Runs() {
			stored, data = append(stored, [2]int64{run.Codec, run.Count}), append(data, [2]int64{run.Data, run.Count})
			end := at + run.Data*run.Count
			// Only the last chunk of the run may be the last one of the axis.
			hasPadding = hasPadding || run.Codec > run.Data && (run.Count > 1 || end < g.Shape()[k])
			at = end
		}
		s.Edges, s.DataSizes = append(s.Edges, stored), append(s.DataSizes, data)
	}
	if !hasPadding {
		s.DataSizes = nil
	}
}

// checkRows returns an error if a variable has more chunks than the file that holds them can contain: then the
// header is damaged.
func (e *entry) checkRows(rows int64, s *readers.Storage) error {
	limit := int64(maxRows)
	if f := e.in; f.src.Size() > 0 && !f.src.IsFolder() && f.data.HoldsChunks {
		size := f.src.Size()
		if s.Source != "" && rows > maxSparse {
			var err error
			if _, size, err = e.identify(&readers.Other{Source: s.Source}); err != nil {
				return err
			}
		}
		limit = min(limit, maxSparse+size)
	}
	if rows > limit {
		return fmt.Errorf("has %d chunks, more than a file of this size can contain (%d): %w", rows, limit, errors.ErrUnsupported)
	}
	return nil
}

// chunkCounts returns the number of chunks along each axis.
func chunkCounts(v *manifest.Variable) ([]int64, error) {
	if v.Storage.Edges != nil {
		g, err := v.Grid()
		if err != nil {
			return nil, err
		}
		return g.Counts(), nil
	}
	if len(v.Storage.Chunks) != len(v.Shape) {
		return nil, fmt.Errorf("chunks of shape %v in a shape of %v: %w", v.Storage.Chunks, v.Shape, errors.ErrUnsupported)
	}
	counts := make([]int64, len(v.Shape))
	for k, n := range v.Shape {
		c := v.Storage.Chunks[k]
		if c < 1 {
			return nil, fmt.Errorf("chunks of length %d: %w", c, errors.ErrUnsupported)
		}
		counts[k] = n / c
		if n%c != 0 {
			counts[k]++
		}
	}
	return counts, nil
}

// readIndex fills the rows from first on with the refs of a storage.
func (e *entry) readIndex(first int, counts []int64, s *readers.Storage) error {
	rows := e.found.refs
	for ref, err := range e.refsOf(s) {
		if err != nil {
			return err
		}
		at := numberOf(ref.Index, counts)
		if at < 0 {
			return noChunk(ref, counts)
		}
		row := first + int(at)
		if ref.Other != nil || s.Source != "" {
			err = e.setOther(row, ref, s)
		} else {
			if rows.Offsets[row] == manifest.NotStored {
				rows.set(row, manifest.Ref{Offset: ref.Offset, Size: int64(ref.Size), Mask: ref.Mask})
				continue
			}
			err = readers.Corruptf("chunk %v occurs twice in the index", ref.Index)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// numberOf returns the number of a chunk in C order, or -1 if it is outside the grid. index may have fewer axes
// than counts: the axes that unfold added have one chunk each.
func numberOf(index []uint64, counts []int64) (at int64) {
	for k, i := range index {
		n := counts[k]
		if i >= uint64(n) {
			return -1
		}
		at = at*n + int64(i)
	}
	return at
}

func noChunk(ref *readers.Ref, counts []int64) error {
	return readers.Corruptf("chunk %v is outside the chunk grid %v", ref.Index, counts)
}

// setOther sets a row to a ref whose bytes are not in the opened source.
func (e *entry) setOther(row int, ref *readers.Ref, s *readers.Storage) error {
	o := ref.Other
	if o == nil {
		o = &readers.Other{Source: s.Source}
	}
	if o.Inline != nil {
		if ref.Offset < 0 || uint64(ref.Offset) > uint64(len(o.Inline)) || ref.Size > uint64(len(o.Inline))-uint64(ref.Offset) {
			return readers.Corruptf("%d bytes at offset %d of %d inline", ref.Size, ref.Offset, len(o.Inline))
		}
		b := append([]byte{}, o.Inline[ref.Offset:][:ref.Size]...)
		e.found.refs.set(row, manifest.Ref{Offset: e.addInline(b), Size: int64(len(b)), Mask: ref.Mask})
		return nil
	}
	k, err := e.other(o)
	if err != nil {
		return err
	}
	size, all := ref.Size, e.others.sizes[k-1]
	if size == readers.WholeSource && ref.Offset >= 0 && ref.Offset <= all {
		size = uint64(all - ref.Offset)
	}
	if ref.Offset < 0 || ref.Offset > all || size > uint64(all-ref.Offset) {
		return readers.Corruptf("chunk %v: %d bytes at offset %d exceed the size of %s (%d)", ref.Index, size, ref.Offset, o.Source, all)
	}
	e.found.refs.set(row, manifest.Ref{Offset: ref.Offset, Size: int64(size), Mask: ref.Mask, Other: k})
	return nil
}
