package source

import (
	"net/http"
	"testing"
)

// FuzzContentRange checks that every accepted header is a valid range.
func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-99/1000", "bytes 0-0/1", "bytes 5-4/10", "bytes */10", "bytes 0-9/*", "bytes 0-9223372036854775807/9223372036854775807", "", "bytes", "bytes -1-5/6", "bytes 1-2/18446744073709551616"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := &answer{Response: &http.Response{Header: http.Header{"Content-Range": {text}}}}
		r, size, err := a.contentRange()
		if err == nil && (r.Offset < 0 || r.Length <= 0 || r.End() > size || r.End() <= r.Offset) {
			t.Errorf("%q: got %v of %d", text, r, size)
		}
		if size, ok := unsatisfied(text); ok && size < 0 {
			t.Errorf("%q: got size %d", text, size)
		}
		_ = retryAfter(text)
	})
}
