package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// document is an encoded JSON document, plain and compressed.
type document struct {
	plain, zipped body
}

// body is the content of an answer and its entity tag.
type body struct {
	data []byte
	etag string
}

// minZipped is the size in bytes from which a document is also compressed.
const minZipped = 512

func newDocument(data []byte) *document {
	d := &document{plain: body{data, tagOf("document", data)}}
	if len(data) < minZipped {
		return d
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	if cerr := z.Close(); err != nil || cerr != nil || b.Len() >= len(data) {
		return d // not worth compressing; writing to memory does not fail
	}
	d.zipped = body{b.Bytes(), tagOf("gzip", data)}
	return d
}

// tagOf returns a strong entity tag: a digest of kind and parts, which must identify the answer's bytes.
func tagOf(kind string, parts ...[]byte) string {
	h := sha256.New()
	h.Write([]byte(kind))
	for _, p := range parts {
		// The separator keeps ("ab", "c") and ("a", "bc") apart.
		h.Write([]byte{0})
		h.Write(p)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// serve answers with the document.
func (d *document) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Vary", "Accept-Encoding")
	b := d.plain
	if d.zipped.data != nil && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		b = d.zipped
	}
	serveBytes(w, r, b)
}

// takesGzip reports whether the client accepts gzip. Requests with a range get the plain document, because a
// range counts its bytes.
func takesGzip(r *http.Request) bool {
	if r.Header.Get("Range") != "" {
		return false
	}
	for _, item := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(item, ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		q = strings.ReplaceAll(q, " ", "")
		return !strings.HasPrefix(q, "q=0") || strings.Trim(q[len("q=0"):], ".0") != ""
	}
	return false
}
