package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve/codec"
	"varve/readers/source"
)

// Patched is a run of chunks of an array that were re-encoded and kept: their bytes lie behind
// one another in a file of kind Chunks, and rows of a table of kind Patches say where.
//
//	chunk  offset  length  checksum
//	   17       0   81420  …           ├─ chunk 17 ─┼── chunk 18 ──┼─ …
//	   18   81420   90211  …
//
// It is the array's own: a plan that is made anew makes arrays without any, and they are given
// those that are found to be right. So nobody is served what belongs to another state of the
// archive.
type Patched struct {
	Table     string // the table's Name
	Row, Rows int64  // of the table
	File      string // the Name of the file of chunks

	// Counts is how many chunks the array had along each axis when they were re-encoded: the
	// table's numbers are those of the chunks in C order of that many.
	Counts []int64
	// Shift is how many chunks have come before them since, along each axis.
	Shift []int64
	// Limit bounds the chunks that the array still has so: those whose coordinates, less the
	// shift, are below it along every axis. An array that grows keeps all; one whose chunks
	// are merged keeps those before the first that is another.
	Limit []int64
}

// Number is the number of a chunk in the table, if it may be there.
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

// Check reports what keeps a run from being one of an array with so many axes.
func (p *Patched) Check(rank int) error {
	if len(p.Counts) != rank || len(p.Shift) != rank || len(p.Limit) != rank {
		return fmt.Errorf("%w: patches with counts %v, shift %v and limit %v along %d axes", codec.ErrCorrupt, p.Counts, p.Shift, p.Limit, rank)
	}
	for k, n := range p.Counts {
		if p.Limit[k] < 0 || p.Limit[k] > n || p.Shift[k] < 0 {
			return fmt.Errorf("%w: patches with shift %v and limit %v of %v chunks", codec.ErrCorrupt, p.Shift, p.Limit, p.Counts)
		}
	}
	return nil
}

// Move makes the run one of an array of whose chunks so many, along an axis, are those that
// the array had from its first on, and come behind some that are new. It reports whether
// anything is left.
func (p *Patched) Move(axis int, behind, chunks int64) bool {
	p.Shift, p.Limit = slices.Clone(p.Shift), slices.Clone(p.Limit)
	p.Limit[axis] = min(p.Limit[axis], max(chunks-p.Shift[axis], 0))
	p.Shift[axis] += behind
	return p.Limit[axis] > 0
}

// dropPatches leaves out files of patches that no array has any more.
func (s *Snapshot) dropPatches() {
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

// FileOf says where the file of a table lies, for those who read it without the Repository.
// It changes as little as the table, but may be moved with the folder that it is in.
func (r *Repository) FileOf(ctx context.Context, t Table) (Source, error) {
	if err := ctx.Err(); err != nil {
		return Source{}, err
	}
	if err := t.check(); err != nil {
		return Source{}, fmt.Errorf("%s: %w", r.name, err)
	}
	file, err := r.files.stat(ctx, t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Source{}, r.damaged(t.Name, Missing, "")
	}
	if err != nil {
		return Source{}, err
	}
	return file, r.checkSize(t, file.Size)
}

// OpenFile opens the file of a table of a repository in an object store as a source. Of a folder
// it is errors.ErrUnsupported: FileOf says where the file is.
func (r *Repository) OpenFile(ctx context.Context, t Table) (*source.Source, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	o, ok := r.files.(*objects)
	if !ok {
		return nil, fmt.Errorf("%s: not in an object store: %w", r.path(t.Name), errors.ErrUnsupported)
	}
	if _, err := r.FileOf(ctx, t); err != nil {
		return nil, err
	}
	return o.place.Open(t.Name, t.Bytes)
}

// SaveDraft brings an unfinished snapshot and its tables to disk, under a name, in place of what
// has it. Only LoadDraft finds it, until GC removes it. Its tables are safe from GC as NewTable
// says.
func (r *Repository) SaveDraft(ctx context.Context, name string, snap *Snapshot) error {
	if err := r.enter(ctx); err != nil {
		return err
	}
	snap.Varve = Version
	data, err := encodeSnapshot(snap)
	if err != nil {
		return err
	}
	return r.finish(ctx, draftName(name), snap, data)
}

// LoadDraft returns what SaveDraft kept, maybe in another process: an fs.ErrNotExist if there is
// nothing. From then on no GC removes it or what it names, until the Repository is closed.
func (r *Repository) LoadDraft(ctx context.Context, name string) (*Snapshot, error) {
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	data, err := readAll(ctx, r.files, draftName(name))
	if err != nil {
		return nil, err
	}
	snap, err := decodeSnapshot(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(draftName(name)), err)
	}
	return snap, nil
}

// RemoveDraft removes what SaveDraft kept, if it is there.
func (r *Repository) RemoveDraft(ctx context.Context, name string) error {
	_, err := r.files.remove(ctx, draftName(name))
	return err
}

func draftName(name string) string { return "drafts/" + name + ".json" }
