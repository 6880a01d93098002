package table

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"varve/manifest"
	"varve/readers/parquet"
)

// Patch is the location of a compacted chunk in a file of chunks.
type Patch struct {
	Chunk          int64 // number of the chunk; see manifest.Patched
	Offset, Length int64
	Checksum       uint32 // CRC-32C of the bytes
}

// NewPatches starts a table of patches. The chunk numbers of each run have to increase.
func NewPatches(w io.Writer) *Writer[Patch] {
	return &Writer[Patch]{b: newTable(w, manifest.Patches, patchColumns), add: func(b *builder, p Patch) error {
		if p.Chunk < 0 || p.Offset < 0 || p.Length < 0 {
			return fmt.Errorf("patch %d: chunk %d has length %d and offset %d", b.total, p.Chunk, p.Length, p.Offset)
		}
		b.int(patchChunkColumn, p.Chunk)
		b.int(patchOffsetColumn, p.Offset)
		b.int(patchLengthColumn, p.Length)
		b.int(patchChecksumColumn, int64(p.Checksum))
		return nil
	}}
}

// patchPage is a decoded page of patches.
type patchPage struct {
	first int64 // row within the table
	rows  []Patch
}

// Patch returns a chunk of a run by its number. ok is false if the run does not have it.
func (r *Reader) Patch(ctx context.Context, run *manifest.Patched, chunk int64) (p Patch, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return p, false, err
	}
	s, err := r.byName(ctx, manifest.Patches, run.Table)
	if err != nil {
		return p, false, err
	}
	if run.Row < 0 || run.Rows < 0 || run.Rows > s.rows || run.Row > s.rows-run.Rows {
		return p, false, s.damaged(fmt.Errorf("a run has %d rows from row %d on, but the table has %d", run.Rows, run.Row, s.rows))
	}
	// A binary search over rows, which reads one page at each step.
	for low, high := run.Row, run.Row+run.Rows; low < high; {
		page, err := s.patchPage((low + high) / 2)
		if err != nil {
			return p, false, err
		}
		// The run may start or end within the page.
		from, to := max(low-page.first, 0), min(high-page.first, int64(len(page.rows)))
		at, found := slices.BinarySearchFunc(page.rows[from:to], chunk, func(p Patch, chunk int64) int {
			return int(min(max(p.Chunk-chunk, -1), 1))
		})
		switch {
		case found:
			return page.rows[from+int64(at)], true, nil
		case at == 0:
			high = page.first + from
		case int64(at) == to-from:
			low = page.first + to
		default:
			low = high
		}
	}
	return p, false, nil
}

// Patches yields the chunks of a run in the order of their numbers.
func (r *Reader) Patches(ctx context.Context, run *manifest.Patched) iter.Seq2[Patch, error] {
	return func(yield func(Patch, error) bool) {
		s, err := r.byName(ctx, manifest.Patches, run.Table)
		if err == nil && (run.Row < 0 || run.Rows < 0 || run.Rows > s.rows || run.Row > s.rows-run.Rows) {
			err = s.damaged(fmt.Errorf("a run has %d rows from row %d on, but the table has %d", run.Rows, run.Row, s.rows))
		}
		for row := run.Row; err == nil && row < run.Row+run.Rows; {
			var page *patchPage
			if page, err = s.patchPage(row); err != nil {
				break
			}
			for ; row < min(run.Row+run.Rows, page.first+int64(len(page.rows))); row++ {
				if !yield(page.rows[row-page.first], nil) {
					return
				}
			}
			err = ctx.Err()
		}
		if err != nil {
			yield(Patch{}, err)
		}
	}
}

func (s *section) patchPage(row int64) (*patchPage, error) {
	at, err := s.find(row)
	if err != nil {
		return nil, err
	}
	key := cacheKey{s.id, int32(at.group), int32(at.page), pageContent}
	return cached(s.cache, key, func() (*patchPage, int64, error) {
		p := &patchPage{first: at.first, rows: make([]Patch, at.rows)}
		columns := make([]parquet.Values, len(patchColumns))
		for i := range columns {
			if err := s.read(at, i, &columns[i]); err != nil {
				return nil, 0, err
			}
		}
		for i := range p.rows {
			sum := columns[patchChecksumColumn].Ints[i]
			if sum < 0 || sum > math.MaxUint32 {
				return nil, 0, s.damaged(fmt.Errorf("row %d: checksum is %d", at.first+int64(i), sum))
			}
			p.rows[i] = Patch{columns[patchChunkColumn].Ints[i], columns[patchOffsetColumn].Ints[i], columns[patchLengthColumn].Ints[i], uint32(sum)}
		}
		return p, 32*at.rows + 64, nil
	})
}
