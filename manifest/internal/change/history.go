package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"varve/manifest"
	"varve/manifest/table"
)

// History is the Past of a manifest in its own folder.
type History struct {
	repository *manifest.Repository
	readers    map[string]*table.Reader // by snapshot
	placed     bool
}

// NewHistory reads from a repository, which stays the caller's to close. It is for exports that
// hold values.
func NewHistory(r *manifest.Repository) *History {
	return &History{repository: r, readers: map[string]*table.Reader{}}
}

// NewPlaces is NewHistory for exports that name sources: those that lie elsewhere now are others.
func NewPlaces(r *manifest.Repository) *History {
	h := NewHistory(r)
	h.placed = true
	return h
}

// Load implements Past. A snapshot that the manifest no longer has is an fs.ErrNotExist.
func (h *History) Load(ctx context.Context, id string) (*manifest.Snapshot, error) {
	s, err := h.repository.Load(ctx, id)
	var damage *manifest.DamageError
	if errors.As(err, &damage) && damage.Damage == manifest.FileMissing {
		err = fmt.Errorf("snapshot %.12s: %w", id, fs.ErrNotExist)
	}
	return s, err
}

const cacheBytes = 16 << 20 // of tables

// ScanTiles implements Past.
func (h *History) ScanTiles(ctx context.Context, of *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	r, err := h.reader(of)
	if err != nil {
		return func(yield func(manifest.Tile, error) bool) { yield(manifest.Tile{}, err) }
	}
	return r.ScanTiles(ctx, s)
}

// Begins implements Past.
func (h *History) Begins(ctx context.Context, old, now *manifest.Snapshot) (bool, error) {
	was, err := h.reader(old)
	if err != nil {
		return false, err
	}
	is, err := h.reader(now)
	if err != nil {
		return false, err
	}
	return table.Begins(ctx, was, is, h.placed)
}

func (h *History) reader(of *manifest.Snapshot) (*table.Reader, error) {
	if r := h.readers[of.ID]; r != nil {
		return r, nil
	}
	r, err := table.Open(of.Tables, table.InRepository(h.repository), table.NewCache(cacheBytes))
	if err == nil {
		h.readers[of.ID] = r
	}
	return r, err
}

// Close closes the tables that were read.
func (h *History) Close() (err error) {
	for _, r := range h.readers {
		err = errors.Join(err, r.Close())
	}
	return err
}
