package manifest

import (
	"fmt"
	"slices"

	"varve/codec"
)

// Patched is a run of compacted chunks of an array: chunks that were re-encoded and stored. Their
// bytes follow one another in a file of kind Chunks, and rows of a table of kind Patches locate them.
//
//	chunk  offset  length  checksum
//	   17       0   81420  …           ├─ chunk 17 ─┼── chunk 18 ──┼─ …
//	   18   81420   90211  …
//
// The run belongs to one array of one snapshot. A new plan makes arrays without runs, and package
// patches adds the runs that are still correct. So no client gets chunks of an outdated state of the
// archive.
type Patched struct {
	Table     string // Name of the table
	Row, Rows int64  // range of rows in the table
	File      string // Name of the file of chunks

	// Counts is the number of chunks along each axis when they were re-encoded. A chunk's number in
	// the table is its index in C order of these counts.
	Counts []int64
	// Shift is the number of chunks that were inserted before the run since then, along each axis.
	Shift []int64
	// Limit says which chunks are still valid: their coordinates minus Shift are below Limit along
	// every axis. If the array grew, all chunks are valid. If some of its chunks were merged, the
	// chunks before the first merged one are.
	Limit []int64
}

// Number returns the number of the chunk in the table. ok is false if the run does not cover these
// coordinates.
func (p *Patched) Number(coords []int64) (n int64, ok bool) {
	for k, at := range coords {
		at -= p.Shift[k]
		if at < 0 || at >= p.Limit[k] {
			return 0, false
		}
		n = n*p.Counts[k] + at
	}
	return n, true
}

// Check returns a codec.ErrCorrupt if the run cannot belong to an array with this many axes.
func (p *Patched) Check(rank int) error {
	if len(p.Counts) != rank || len(p.Shift) != rank || len(p.Limit) != rank {
		return fmt.Errorf("%w: patches have counts %v, shift %v and limit %v, but the array has %d axes", codec.ErrCorrupt, p.Counts, p.Shift, p.Limit, rank)
	}
	for k, n := range p.Counts {
		if p.Limit[k] < 0 || p.Limit[k] > n || p.Shift[k] < 0 {
			return fmt.Errorf("%w: patches have shift %v and limit %v for %v chunks", codec.ErrCorrupt, p.Shift, p.Limit, p.Counts)
		}
	}
	return nil
}

// Move adapts the run to an array that changed along an axis: as many chunks as inserted says were inserted
// before all others, and of the former chunks only the first ones, as many as unchanged says, are still
// valid. It reports whether any chunk of the run is still valid.
func (p *Patched) Move(axis int, inserted, unchanged int64) bool {
	p.Shift, p.Limit = slices.Clone(p.Shift), slices.Clone(p.Limit)
	p.Limit[axis] = min(p.Limit[axis], max(unchanged-p.Shift[axis], 0))
	p.Shift[axis] += inserted
	return p.Limit[axis] > 0
}

// DropPatches removes from Tables the files of compacted chunks that no array uses any more.
func (s *Snapshot) DropPatches() {
	used := map[string]bool{}
	for i := range s.Arrays {
		for _, p := range s.Arrays[i].Patches {
			used[p.Table], used[p.File] = true, true
		}
	}
	first := map[TableKind]int64{}
	var kept []Table
	for _, t := range s.Tables {
		if t.Kind == Patches || t.Kind == Chunks {
			if !used[t.Name] {
				continue
			}
			t.First = first[t.Kind]
			first[t.Kind] += t.Rows
		}
		kept = append(kept, t)
	}
	s.Tables = kept
}
