package store

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/mosaic"
	"varve/manifest/table"
)

// fileIndex is what a mosaic asks of sources.
type fileIndex struct {
	*table.SourceIndex
	headers []*manifest.Header // by their place in IDs; nil for those nobody needed

	variables manifest.SharedVariables
}

// Header implements mosaic.Files.
func (x *fileIndex) Header(row int64) *manifest.Header {
	if row < 0 || row >= int64(len(x.SourceIndex.Header)) {
		return nil
	}
	return x.headers[x.SourceIndex.Header[row]]
}

// Row implements mosaic.Files.
func (x *fileIndex) Row(row int64) int64 { return x.SourceIndex.Row[row] }

// files returns what is in the sources of a layout's tiles.
func (s *Store) files(ctx context.Context, l *mosaic.Layout) (mosaic.Files, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		index, err := s.tables.Index(ctx)
		if err != nil {
			return nil, err
		}
		s.index = &fileIndex{index, make([]*manifest.Header, len(index.IDs)), manifest.SharedVariables{}}
	}
	x := &fileIndex{s.index.SourceIndex, s.index.headers, s.index.variables}
	fresh := false
	for row := range l.Files() {
		if row < 0 || row >= int64(len(x.SourceIndex.Header)) {
			return nil, fmt.Errorf("%w: a tile of source %d, there are %d", codec.ErrCorrupt, row, len(x.SourceIndex.Header))
		}
		at := x.SourceIndex.Header[row]
		if x.headers[at] != nil {
			continue
		}
		if !fresh { // others may be reading the one there is
			x.headers, fresh = append([]*manifest.Header(nil), x.headers...), true
		}
		h, err := s.tables.Header(ctx, x.IDs[at])
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", row, err)
		}
		own := *h // others may be reading the one in the cache
		own.Variables = slices.Clone(h.Variables)
		x.variables.Share(&own)
		x.headers[at] = &own
	}
	s.index = x
	return x, nil
}
