package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/readers/source/storetest"
)

// homes creates repositories for tests, in local folders or in an object store, and changes their files.
// Its methods take the full names of files.
type homes struct {
	store *storetest.Memory // an object store in this process; nil for folders and real stores
	root  string            // of a real object store; empty for folders
	made  int
}

// everywhere runs a test in each kind of home.
func everywhere(t *testing.T, test func(t *testing.T, h *homes)) {
	t.Run("folder", func(t *testing.T) { test(t, &homes{}) })
	t.Run("objects", func(t *testing.T) { test(t, &homes{store: storetest.NewMemory(t)}) })
}

// name returns the name of a repository that does not exist yet.
func (h *homes) name(tb testing.TB) string {
	h.made++
	switch {
	case h.root != "":
		return fmt.Sprintf("%s/%d.varve", h.root, h.made)
	case h.store == nil:
		return filepath.Join(tb.TempDir(), "a.varve")
	}
	return fmt.Sprintf("s3://bucket/a b/%d.varve", h.made)
}

// repository creates a repository.
func (h *homes) repository(tb testing.TB) *Repository {
	tb.Helper()
	r, err := Create(tb.Context(), h.name(tb), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			tb.Error(err)
		}
	})
	return r
}

// change replaces the content of a file by the result of f, or removes the file if that is nil.
func (h *homes) change(tb testing.TB, file string, f func([]byte) []byte) {
	tb.Helper()
	if h.store != nil {
		file = strings.TrimPrefix(file, "s3://")
		if content := f(h.store.Get(file)); content != nil {
			h.store.Put(file, content)
		} else {
			h.store.Remove(file)
		}
		return
	}
	old, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if content := f(old); err == nil && content != nil {
		err = os.WriteFile(file, content, 0o666)
	} else if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func (h *homes) write(tb testing.TB, file, content string) {
	tb.Helper()
	h.change(tb, file, func([]byte) []byte { return []byte(content) })
}

func (h *homes) remove(tb testing.TB, file string) {
	tb.Helper()
	h.change(tb, file, func([]byte) []byte { return nil })
}

// size returns the total size of the files of a repository, except its locks.
func (h *homes) size(tb testing.TB, r *Repository) (n int64) {
	tb.Helper()
	if h.store == nil {
		return sizeOf(tb, r)
	}
	root := strings.TrimPrefix(r.Name(), "s3://") + "/"
	for _, name := range h.store.Names(root) {
		if !strings.HasPrefix(name, root+lockFolder) {
			n += int64(len(h.store.Get(name)))
		}
	}
	return n
}

// pass advances the clock of the object store in this process. A folder needs no clock.
func (h *homes) pass(d time.Duration) {
	if h.store != nil {
		h.store.Pass(d)
	}
}
