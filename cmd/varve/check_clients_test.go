package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// TestCheckClients checks what GDAL reads of the demo: in the core view everything, in the other views all arrays but the
// one with the codecs of netCDF-4, and nothing that a view leaves out.
func TestCheckClients(t *testing.T) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs([]string{"check", "../../fixtures/demo", "--match", "*.nc", "--json", "--clients", "--quiet"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var document struct{ Views []viewJSON }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		lacks   []string
		omitted []string
	}{
		"/":         {[]string{"3 codec numcodecs.shuffle", "3 codec numcodecs.zlib", "3 grid rectilinear"}, nil},
		"/regular/": {[]string{"3 codec numcodecs.shuffle", "3 codec numcodecs.zlib"}, nil},
		"/core/":    {nil, nil},
		"/v2/":      {nil, []string{"/t2m"}},
	}
	if len(document.Views) != len(want) {
		t.Errorf("%d views", len(document.Views))
	}
	for _, v := range document.Views {
		i := slices.IndexFunc(v.Clients, func(c clientJSON) bool { return c.Name == "GDAL" })
		c := v.Clients[i]
		reads := []string{"/lat", "/lon", "/t2m", "/time"}
		if w := want[v.View]; len(w.lacks)+len(w.omitted) > 0 {
			reads = []string{"/lat", "/lon", "/time"}
		}
		slices.Sort(c.Reads)
		if !slices.Equal(c.Reads, reads) || !slices.Equal(c.Lacks["/t2m"], want[v.View].lacks) || !slices.Equal(v.Omitted, want[v.View].omitted) {
			t.Errorf("%s: %+v, omitted %v", v.View, c, v.Omitted)
		}
	}
}
