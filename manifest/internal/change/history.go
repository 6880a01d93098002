package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// History is the Past of a manifest that is stored in a repository.
type History struct {
	repository     *repo.Repository
	readers        map[string]*table.Reader // by snapshot
	comparesPlaces bool                     // a source that was moved is another source
}

// NewHistory returns the history of a repository, for exports that contain values. The caller closes
// the repository.
func NewHistory(r *repo.Repository) *History {
	return &History{repository: r, readers: map[string]*table.Reader{}}
}

// NewPlaces is NewHistory for exports that contain the locations of sources. For them a source that was
// moved is another source.
func NewPlaces(r *repo.Repository) *History {
	h := NewHistory(r)
	h.comparesPlaces = true
	return h
}

// Load implements Past.
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
	return table.Begins(ctx, was, is, h.comparesPlaces)
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

// Close closes the tables that were opened.
func (h *History) Close() (err error) {
	for _, r := range h.readers {
		err = errors.Join(err, r.Close())
	}
	return err
}
