package store

import (
	"errors"
	"net"
	"strings"
	"testing"

	"varve/manifest"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// TestRebinding checks that an allowed host name that resolves to a forbidden address is rejected.
func TestRebinding(t *testing.T) {
	ownConfig(t)
	t.Setenv("HTTP_PROXY", "")
	t.Setenv("http_proxy", "")
	for _, address := range [][4]byte{{169, 254, 169, 254}, {100, 100, 100, 200}} {
		sourcetest.ResolveAll(t, address)
		m, snap, _ := archive(t, 1, true)
		m.sources[0].Source = manifest.Source{URL: "http://data.example.org/x.nc", Size: m.sources[0].Size, Modified: m.sources[0].Modified}
		_, err := readWith(t, m, snap, Options{Allow: []string{"http://data.example.org/"}})
		if !errors.Is(err, source.ErrForbidden) || !strings.Contains(err.Error(), net.IP(address[:]).String()) {
			t.Errorf("%v: got %v, want %v", address, err, source.ErrForbidden)
		}
	}
}
