package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
	"varve/readers/source/storetest"
)

// TestInteropObjects runs the suite of all sources against real object stores.
func TestInteropObjects(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			store := start(t)
			opener := source.NewOpener(nil)
			n := 0
			sourcetest.Run(t, func(t testing.TB, content []byte) sourcetest.Stored {
				n++
				key := fmt.Sprintf("suite/%d.nc", n)
				store.Put(t, key, content)
				return sourcetest.Stored{
					Open:    func(ctx context.Context) (*source.Source, error) { return opener.Open(ctx, store.Root+"/"+key) },
					Release: opener.Close,
					Change: func(content []byte) error {
						if content == nil {
							store.Remove(t, key)
						} else {
							store.Put(t, key, content)
						}
						return nil
					},
				}
			})
		})
	}
}

// awkward are keys that are valid file names, but contain characters with a meaning in URLs and XML.
var awkward = []string{
	"a b.nc", "100%.nc", "a%20b.nc", "c#d.nc", "e?f=g.nc", "h+i.nc", "j&k.nc", "l=m.nc", "é/ü ñ.nc", "日本/語.nc", "<n>.nc",
	"o'p\".nc", "q;r:s@t,u!.nc", "v~w(x)*y.nc", "z[0].nc", "$1.nc", `back\slash.nc`,
}

// TestInteropObjectNames stores, lists and reads objects whose names are hard to sign.
func TestInteropObjectNames(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			store := start(t)
			opener := source.NewOpener(nil)
			var want []string
			for _, key := range awkward {
				if kind == "az" && strings.Contains(key, `\`) {
					continue // Azure treats it as a slash
				}
				store.Put(t, "odd/"+key, []byte(key))
				want = append(want, key)
			}
			for _, key := range want {
				name := store.Root + "/odd/" + key
				s, err := opener.Open(t.Context(), name)
				if err != nil {
					t.Error(err)
					continue
				}
				got := make([]byte, s.Size())
				if _, err := s.ReadAt(t.Context(), got, 0); err != nil || string(got) != key || s.Name() != name {
					t.Errorf("%s: got %q, %v", s.Name(), got, err)
				}
				again, err := opener.OpenVersion(t.Context(), s.Name(), s.Identity())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := again.ReadAt(t.Context(), got, 0); err != nil || s.Identity().ETag == "" {
					t.Errorf("%s, version %v: %v", name, s.Identity(), err)
				}
			}
			var listed []string
			for _, folder := range []string{"odd", "odd/é", "odd/日本"} {
				s, err := opener.Open(t.Context(), store.Root+"/"+folder)
				if err != nil {
					t.Fatal(err)
				}
				for e, err := range s.List(t.Context(), "") {
					if err != nil {
						t.Fatal(err)
					}
					if !e.Folder {
						listed = append(listed, strings.TrimPrefix(folder+"/"+e.Name, "odd/"))
					}
				}
			}
			slices.Sort(want)
			if slices.Sort(listed); !slices.Equal(listed, want) {
				t.Errorf("listed %q, want %q", listed, want)
			}
		})
	}
}

// TestInteropObjectListings lists more objects than one page holds.
func TestInteropObjectListings(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			store := start(t)
			const files = 1050
			for i := range files {
				store.Put(t, fmt.Sprintf("many/%04d.nc", i), []byte("x"))
			}
			store.Put(t, "many/sub/one.nc", []byte("12"))
			opener := source.NewOpener(nil)
			s, err := opener.Open(t.Context(), store.Root+"/many/")
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for e, err := range s.List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				if seen[e.Name] || e.Folder != (e.Name == "sub") || !e.Folder && e.Size != 1 {
					t.Errorf("listed %+v", e)
				}
				seen[e.Name] = true
			}
			if len(seen) != files+1 {
				t.Errorf("listed %d, want %d", len(seen), files+1)
			}
			for pattern, want := range map[string]int{"many/00?0.nc": 10, "many/*": files + 1, "m*/s*/*.nc": 1, "*/*/*.nc": 1, "many/0000.nc": 1, "none/*": 0} {
				got := 0
				for _, err := range opener.Glob(t.Context(), store.Root+"/"+pattern) {
					if err != nil {
						t.Fatal(err)
					}
					got++
				}
				if got != want {
					t.Errorf("%s: %d, want %d", pattern, got, want)
				}
			}
			member, err := s.ReadMember(t.Context(), "sub/one.nc", 10)
			if err != nil || string(member) != "12" {
				t.Errorf("member: %q, %v", member, err)
			}
			if _, err := s.Member(t.Context(), "sub/two.nc"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing member: %v", err)
			}
		})
	}
}

// TestInteropRefused reads with a wrong key, and without credentials. Both stores check them.
func TestInteropRefused(t *testing.T) {
	for kind, env := range map[string]map[string]string{
		"s3": {"AWS_SECRET_ACCESS_KEY": "another", "AWS_NO_SIGN_REQUEST": "YES"},
		"az": {"AZURE_STORAGE_KEY": "YW5vdGhlcg==", "AZURE_NO_SIGN_REQUEST": "true"},
	} {
		t.Run(kind, func(t *testing.T) {
			store := storetest.Kinds[kind](t)
			store.Put(t, "a.nc", []byte("12345"))
			for name, value := range env {
				t.Run(name, func(t *testing.T) {
					t.Setenv(name, value)
					opener := source.NewOpener(nil)
					_, err := opener.Open(t.Context(), store.Root+"/a.nc")
					if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("got %v, want fs.ErrPermission", err)
					}
					if strings.Contains(fmt.Sprint(err), value) && value != "YES" && value != "true" {
						t.Errorf("the error contains the key: %v", err)
					}
					t.Log(err)
				})
			}
		})
	}
}
