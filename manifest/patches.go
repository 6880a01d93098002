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
	// Shift is the number of chunks that were inserted before them since then, along each axis.
	Shift []int64
	// Limit bounds the chunks that are still valid: their coordinates minus Shift are below Limit
	// along every axis. An array that grows keeps all chunks. An array whose chunks are merged keeps
	// the chunks before the first merged one.
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

// Move adapts the run to an array that changed along an axis: inserted chunks came in front, and only
// the first kept chunks of the former array are unchanged. It reports whether any chunk of the run is
// left.
func (p *Patched) Move(axis int, behind, chunks int64) bool {
	p.Shift, p.Limit = slices.Clone(p.Shift), slices.Clone(p.Limit)
	p.Limit[axis] = min(p.Limit[axis], max(chunks-p.Shift[axis], 0))
	p.Shift[axis] += behind
	return p.Limit[axis] > 0
}

// dropPatches removes the files of compacted chunks that no array uses any more.
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

// FileOf returns the location of a table's file, for code that reads it without the Repository. The
// file never changes, but users may move the folder that it is in.
func (r *Repository) FileOf(ctx context.Context, t Table) (Source, error) {
	if err := ctx.Err(); err != nil {
		return Source{}, err
	}
	if err := t.check(); err != nil {
		return Source{}, fmt.Errorf("%s: %w", r.name, err)
	}
	file, err := r.files.stat(ctx, t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Source{}, r.damaged(t.Name, FileMissing, "")
	}
	if err != nil {
		return Source{}, err
	}
	return file, r.checkSize(t, file.Size)
}

// OpenFile opens a table's file as a source, if the repository is in an object store. For a folder it
// returns an errors.ErrUnsupported: use FileOf.
func (r *Repository) OpenFile(ctx context.Context, t Table) (*source.Source, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	o, ok := r.files.(*objects)
	if !ok {
		return nil, fmt.Errorf("%s: the file is not in an object store: %w", r.path(t.Name), errors.ErrUnsupported)
	}
	if _, err := r.FileOf(ctx, t); err != nil {
		return nil, err
	}
	return o.place.Open(t.Name, t.Bytes)
}

// SaveDraft stores an unfinished snapshot and its tables under a name, and replaces an earlier draft
// of that name. Only LoadDraft returns it, and GC removes it. NewTable says how long its tables are
// safe from GC.
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

// LoadDraft returns the snapshot that SaveDraft stored, also in another process. If there is none it
// is an fs.ErrNotExist. GC keeps the draft and its tables until the Repository is closed.
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

// RemoveDraft removes the draft that SaveDraft stored, if there is one.
func (r *Repository) RemoveDraft(ctx context.Context, name string) error {
	_, err := r.files.remove(ctx, draftName(name))
	return err
}

func draftName(name string) string { return "drafts/" + name + ".json" }
