package main

import (
	"path/filepath"
	"testing"
)

// TestCommonFolder checks which folder is looked for if sources are missing.
func TestCommonFolder(t *testing.T) {
	for _, c := range []struct {
		want  string
		names []string
	}{
		{"/a/b", []string{"/a/b/x.nc"}},
		{"/a", []string{"/a/b/x.nc", "/a/c/x.nc"}},
		{"/a/b", []string{"/a/b/x.zip|zip:m/x.nc", "/a/b/x.zip|zip:m/y.nc"}},
		{"/a", []string{"/a/b/x.tar.gz|gzip:|tar:m/x.nc", "/a/y.nc"}},
		{"", []string{"s3://bucket/x.nc"}},
		{"", []string{"s3://bucket/a/x.zip|zip:m/x.nc", "s3://bucket/a/y.nc"}},
	} {
		for i, name := range c.names {
			if c.want != "" {
				c.names[i] = filepath.FromSlash(name)
			}
		}
		if got := commonFolder(c.names); got != filepath.FromSlash(c.want) {
			t.Errorf("%q: got %q, want %q", c.names, got, c.want)
		}
	}
}
