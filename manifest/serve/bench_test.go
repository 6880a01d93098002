package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// nowhere is a ResponseWriter that discards everything.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkOverhead measures the cost of an answer without reading and sending its data.
func BenchmarkOverhead(b *testing.B) {
	h := newHandlerOf(b, &Options{open: fakeOpen(newFake(b))}, "a")
	for name, path := range map[string]string{"missing": "/small/c/2/0", "verbatim": "/small/c/0/0", "file": "/big/c/0/0", "document": "/zarr.json"} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", path, nil)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&nowhere{http.Header{}}, r)
			}
		})
	}
}

// BenchmarkSendfile requests a chunk over TCP repeatedly. The client runs in the same process, so a remote
// client would see a higher rate.
func BenchmarkSendfile(b *testing.B) {
	s := start(b, newHandler(b, newFake(b)))
	ask(b, "GET", s.URL+"/big/c/0/0")
	buffer := make([]byte, 1<<17)
	b.SetBytes(131072)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := http.Get(s.URL + "/big/c/0/0")
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(buffer)
		}
		resp.Body.Close()
	}
}
