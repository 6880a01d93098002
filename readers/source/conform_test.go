package source_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

func TestMemory(t *testing.T) {
	sourcetest.Run(t, func(_ testing.TB, content []byte) sourcetest.Stored {
		m := sourcetest.NewMemory(content)
		return sourcetest.Stored{
			Open: func(ctx context.Context) (*source.Source, error) {
				return source.New("memory", m.Reopen()), ctx.Err()
			},
			Change: func(content []byte) error {
				m.Change(content)
				return nil
			},
		}
	})
}

func TestFile(t *testing.T) {
	sourcetest.Run(t, storeFile(func(name string, content []byte) error {
		if content == nil {
			return os.Remove(name)
		}
		return os.WriteFile(name, content, 0o644)
	}))
}

// TestReplacedFile replaces files by renaming another file over them, as careful programs do.
func TestReplacedFile(t *testing.T) {
	sourcetest.Run(t, storeFile(func(name string, content []byte) error {
		if content == nil {
			return os.Remove(name)
		}
		if err := os.WriteFile(name+".new", content, 0o644); err != nil {
			return err
		}
		return os.Rename(name+".new", name)
	}))
}

func storeFile(change func(name string, content []byte) error) sourcetest.Store {
	return func(t testing.TB, content []byte) sourcetest.Stored {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
		// Clocks of file systems tick slowly, so this file gets an earlier time than any other.
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
		return sourcetest.Stored{
			Open:   func(ctx context.Context) (*source.Source, error) { return source.Open(ctx, name) },
			Change: func(content []byte) error { return change(name, content) },
		}
	}
}

func TestHTTP(t *testing.T) {
	sourcetest.Run(t, storeOn(sourcetest.NewServer(t), source.Open, nil))
}

func TestHTTPWithoutETag(t *testing.T) {
	server := sourcetest.NewServer(t)
	server.NoETag = true
	sourcetest.Run(t, storeOn(server, source.Open, nil))
}

// TestHTTPShared checks sources that share connections and a cache of one block.
func TestHTTPShared(t *testing.T) {
	opener := source.NewOpener(&source.Options{CacheBytes: 1})
	sourcetest.Run(t, storeOn(sourcetest.NewServer(t), opener.Open, opener.Close))
}

// TestDownload reads from a server that does not support byte ranges. The downloaded copy does not change.
func TestDownload(t *testing.T) {
	server := sourcetest.NewServer(t)
	plain := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		plain.ServeHTTP(w, r)
	})
	dir := t.TempDir()
	opener := source.NewOpener(&source.Options{Download: true, TempDir: dir})
	store := storeOn(server, opener.Open, opener.Close)
	t.Run("suite", func(t *testing.T) {
		sourcetest.Run(t, func(t testing.TB, content []byte) sourcetest.Stored {
			stored := store(t, content)
			stored.Change = nil
			return stored
		})
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("leftover files: %v, %v", left, err)
	}
}

func storeOn(server *sourcetest.Server, open func(context.Context, string) (*source.Source, error), release func() error) sourcetest.Store {
	n := 0
	return func(_ testing.TB, content []byte) sourcetest.Stored {
		n++
		path := fmt.Sprintf("/%d.nc", n)
		url := server.Put(path, content)
		return sourcetest.Stored{
			Release: release,
			Open:    func(ctx context.Context) (*source.Source, error) { return open(ctx, url) },
			Change: func(content []byte) error {
				if content == nil {
					server.Remove(path)
				} else {
					server.Put(path, content)
				}
				return nil
			},
		}
	}
}
