package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/table"
)

// fileIndex implements mosaic.Files. It reads a header only when it is first needed: each file may have its
// own header, and a read of one day should not load the headers of all files.
//
// It keeps headers, because an export needs all of them again for each array. They have only the attributes that values
// depend on: files often differ in others, such as actual_range, and then they share one header here.
type fileIndex struct {
	*table.SourceIndex
	tables  tables
	headers []atomic.Pointer[manifest.FileHeader] // by index in IDs; nil if not needed so far

	mu     sync.Mutex
	shared *manifest.Shared
}

// Header implements mosaic.Files.
func (x *fileIndex) Header(ctx context.Context, row int64) (*manifest.FileHeader, error) {
	if row < 0 || row >= int64(x.SourceIndex.Header.Len()) {
		return nil, nil
	}
	at := x.SourceIndex.Header.At(int(row))
	if h := x.headers[at].Load(); h != nil {
		return h, nil
	}
	h, err := x.tables.Header(ctx, x.IDs[at])
	if err != nil {
		return nil, fmt.Errorf("source %d: %w", row, err)
	}
	return x.addHeader(at, h), nil
}

// addHeader stores a header, or returns the one that another goroutine stored first.
func (x *fileIndex) addHeader(at int64, h *manifest.Header) *manifest.FileHeader {
	// manifest.Shared changes variables. Other goroutines may read those of h, so it gets copies.
	own := manifest.Header{Dimensions: h.Dimensions}
	for _, v := range h.Variables {
		own.Variables = append(own.Variables, convert.Needed(v))
	}
	own.SetID()
	x.mu.Lock()
	defer x.mu.Unlock()
	if kept := x.headers[at].Load(); kept != nil {
		return kept
	}
	made := x.shared.Header(&own, nil)
	x.headers[at].Store(made)
	return made
}

// Row implements mosaic.Files.
func (x *fileIndex) Row(row int64) int64 { return x.SourceIndex.Row.At(int(row)) }

// files returns the index of the sources.
func (s *Store) files(ctx context.Context) (*fileIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		index, err := s.tables.Index(ctx)
		if err != nil {
			return nil, err
		}
		s.index = &fileIndex{SourceIndex: index, tables: s.tables, shared: manifest.NewShared(),
			headers: make([]atomic.Pointer[manifest.FileHeader], len(index.IDs))}
	}
	return s.index, nil
}
