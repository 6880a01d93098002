package store

import (
	"slices"
	"testing"
)

// TestResealPermitted checks that a relocation seals only sources that the old seal permits, or that are in the new places:
// somebody may have added others to the table of a sealed manifest.
func TestResealPermitted(t *testing.T) {
	ownConfig(t)
	old, err := Seal(nil, nil, slices.Values([]string{"/archive/a/x.nc", "https://data.org/b/y.nc"}))
	if err != nil {
		t.Fatal(err)
	}
	urls := []string{"/archive/a/x.nc", "/new/b/y.nc", "/home/you/.ssh/key", "http://10.0.0.1/secret", "s3://bucket/c/z.nc"}
	made, err := Reseal(old, nil, slices.Values(urls), []string{"/new/b", "s3://bucket/c"})
	want := []string{"/archive/a", "/new/b", "https://data.org/b", "s3://bucket/c"}
	if err != nil || !slices.Equal(made.Prefixes, want) {
		t.Errorf("got %v, %v, want %v", made, err, want)
	}
}
