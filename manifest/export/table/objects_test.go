package table

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest/repo"
	"varve/readers/source/storetest"
)

// TestObjects checks that a table in an object store equals the table in a file, uploaded at once or in parts, and that it
// replaces an existing object only with Force.
func TestObjects(t *testing.T) {
	large := newListing(t, []int64{400_000})
	large.arrays[0], large.rows = many{large.arrays[0].(*listed)}, 1<<17
	for name, l := range map[string]*listing{"small.parquet": newListing(t, []int64{40}), "large.arrow": large} {
		t.Run(name, func(t *testing.T) {
			m := storetest.NewMemory(t)
			local, at := filepath.Join(t.TempDir(), name), "s3://bucket/a b/"+name
			for _, dest := range []string{local, at} {
				if _, err := write(t.Context(), l, dest, nil); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(local)
			if err != nil || !bytes.Equal(m.Get("bucket/a b/"+name), want) {
				t.Errorf("%d bytes, want %d: %v", len(m.Get("bucket/a b/"+name)), len(want), err)
			}
			if parts := slices.ContainsFunc(m.Log(), func(r string) bool { return r == "POST bucket/a b/"+name }); parts != (l == large) {
				t.Errorf("%d bytes went in parts: %t", len(want), parts)
			}
			if _, err := write(t.Context(), l, at, nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), at) {
				t.Errorf("over a table: %v", err)
			}
			if _, err := write(t.Context(), l, at, &Options{Force: true}); err != nil {
				t.Error(err)
			}
			if got := m.Names("bucket/"); len(got) != 1 || m.Uploads() > 0 {
				t.Errorf("there are %q", got)
			}
		})
	}
}

// TestStoppedInStore checks that a table that cannot be stored does not replace the old object, nor an object that
// another process stored meanwhile.
func TestStoppedInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	l := newListing(t, []int64{40})
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".parquet") {
			return storetest.Denied
		}
		return nil
	})
	if _, err := write(t.Context(), l, "s3://bucket/t.parquet", nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if got := m.Names("bucket/"); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
	for _, force := range []bool{false, true} {
		m.SetFault(func(r *http.Request) storetest.Fault {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".parquet") {
				m.Put("bucket/t.parquet", []byte("theirs"))
			}
			return nil
		})
		if _, err := write(t.Context(), l, "s3://bucket/t.parquet", &Options{Force: force}); !errors.Is(err, repo.ErrConflict) {
			t.Errorf("another process was faster: %v", err)
		}
		if got := string(m.Get("bucket/t.parquet")); got != "theirs" {
			t.Errorf("there is %q", got)
		}
		m.Remove("bucket/t.parquet")
	}
	m.SetFault(nil)
	m.Put("bucket/t.parquet/x", nil)
	if _, err := write(t.Context(), l, "s3://bucket/t.parquet", &Options{Force: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a folder: %v", err)
	}
}
