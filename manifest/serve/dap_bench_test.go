package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// BenchmarkAnswersAt64 compares answers of OPeNDAP with re-encoded chunks of the same 102,400 bytes, for 64 clients at once. The
// first file has float64 and the others float32, so that all chunks of these are re-encoded.
func BenchmarkAnswersAt64(b *testing.B) {
	const days = 200
	dir := b.TempDir()
	b.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	opts := &ingest.Options{}
	for day := range days {
		var data any = make([]float32, 80*160)
		if day == 0 {
			data = make([]float64, 80*160)
		}
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "lat", Length: 80}, {Name: "lon", Length: 160}},
			Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []float64{float64(day)}}, {Name: "sst", Dims: []string{"time", "lat", "lon"}, Data: data}},
		}
		name := filepath.Join(dir, fmt.Sprintf("%03d.nc", day))
		if err := f.Write(name); err != nil {
			b.Fatal(err)
		}
		opts.Sources.Names = append(opts.Sources.Names, name)
	}
	out := filepath.Join(dir, "sst.varve")
	if _, err := ingest.Build(b.Context(), out, opts); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		cache int64
	}{{"uncached", -1}, {"cached", 0}} {
		h, err := serve.New(b.Context(), []string{out}, &serve.Options{Reload: -1, Store: store.Options{Trusted: true, CacheBytes: c.cache}})
		if err != nil {
			b.Fatal(err)
		}
		s := httptest.NewServer(h)
		for name, address := range map[string]func(day int64) string{
			"dap2": func(day int64) string { return fmt.Sprintf("%s/dap.dods?sst[%d][0:79][0:159]", s.URL, day) },
			"dap4": func(day int64) string {
				return fmt.Sprintf("%s/dap.dap?dap4.ce=/sst%%5B%d%%5D%%5B0:79%%5D%%5B0:159%%5D", s.URL, day)
			},
			"core": func(day int64) string { return fmt.Sprintf("%s/core/sst/c/%d/0/0", s.URL, day) },
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) { answersAt64(b, func(n int64) string { return address(1 + n%(days-1)) }) })
		}
		s.Close()
		if err := h.Close(); err != nil {
			b.Error(err)
		}
	}
}

// answersAt64 requests addresses with 64 clients.
func answersAt64(b *testing.B, address func(n int64) string) {
	b.SetBytes(80 * 160 * 8)
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := client.Get(address(next.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK || n < 80*160*8 {
				b.Errorf("%s: %d bytes, %v", resp.Status, n, err)
				return
			}
		}
	})
}
