package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/present"
	"varve/manifest/store"
	"varve/readers/source"
)

// inMemory is a source of a scheme of a program.
type inMemory struct {
	*bytes.Reader
	etag string
}

func (m inMemory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return m.Reader.ReadAt(p, off)
}

func (m inMemory) Identity() source.Identity { return source.Identity{Size: m.Size(), ETag: m.etag} }
func (m inMemory) Close() error              { return nil }

// TestOwnScheme builds from names of a scheme that only the program knows, reads with a trace, and notices a new version.
func TestOwnScheme(t *testing.T) {
	version := `"1"`
	var mu sync.Mutex
	var begun, ended []string
	opts := &source.Options{
		Schemes: map[string]source.OpenFunc{"tape": func(_ context.Context, name string) (source.Ranges, error) {
			data, err := os.ReadFile(filepath.Join("../../fixtures/demo", strings.TrimPrefix(name, "tape://robot/")))
			return inMemory{bytes.NewReader(data), version}, err
		}},
		Trace: func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, op.Name+" "+op.Object)
			return ctx, func(error) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, op.Name)
			}
		},
	}
	opener := source.NewOpener(opts)
	defer opener.Close()
	out := filepath.Join(t.TempDir(), "own.varve")
	names := []string{"tape://robot/2021-01.nc", "tape://robot/2021-02.nc"}
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Opener: opener, Sources: ingest.Sources{Names: names}}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Opener: opener, Trace: opts.Trace})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	begun, ended = nil, nil
	_, err = present.Read[float64](t.Context(), st, "t2m", present.Sel{})
	if err != nil {
		t.Fatal(err)
	}
	if len(begun) != len(ended) || !slices.Contains(begun, "store.read /t2m") || !slices.Contains(begun, "source.read "+names[1]) {
		t.Errorf("traced %q", begun)
	}
	version = `"2"`
	changed, err := store.Open(t.Context(), out, &store.Options{Opener: opener})
	if err != nil {
		t.Fatal(err)
	}
	defer changed.Close()
	if _, err := present.Read[float64](t.Context(), changed, "t2m", present.Sel{}); !errors.Is(err, source.ErrChanged) {
		t.Errorf("another version: got %v, want ErrChanged", err)
	}
}
