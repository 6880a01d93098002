package serve

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// span is the part of a body that an answer sends.
type span struct{ from, length int64 }

var errUnsatisfiable = errors.New("the range starts beyond the last byte")

// parseRange returns the part of a body of size bytes that a Range header selects. ok is false, and the part
// is the whole body, if the server does not support the header: other units, several ranges or invalid
// syntax.
func parseRange(header string, size int64) (s span, ok bool, err error) {
	text, found := strings.CutPrefix(header, "bytes=")
	// RFC 9110 permits a server to ignore a range that it does not support; clients then get the whole body.
	if !found || strings.Contains(text, ",") {
		return span{0, size}, false, nil
	}
	first, last, found := strings.Cut(strings.TrimSpace(text), "-")
	if !found {
		return span{0, size}, false, nil
	}
	if first == "" {
		return suffixRange(last, size)
	}
	from, good := parseNumber(first)
	if !good {
		return span{0, size}, false, nil
	}
	end := size - 1
	if last != "" {
		if end, good = parseNumber(last); !good || end < from {
			return span{0, size}, false, nil
		}
		end = min(end, size-1)
	}
	if from >= size {
		return span{}, false, errUnsatisfiable
	}
	return span{from, end - from + 1}, true, nil
}

func suffixRange(text string, size int64) (span, bool, error) {
	n, good := parseNumber(text)
	if !good {
		return span{0, size}, false, nil
	}
	if n == 0 || size == 0 {
		return span{}, false, errUnsatisfiable
	}
	n = min(n, size)
	return span{size - n, n}, true, nil
}

// parseNumber parses decimal digits. Numbers that overflow become the largest int64: a range beyond that has
// no more bytes anyway.
func parseNumber(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, true
}

// matches reports whether a list of entity tags contains etag. If weak is true, weak tags with the same value
// match too.
func matches(header, etag string, weak bool) bool {
	for item := range strings.SplitSeq(header, ",") {
		item = strings.TrimSpace(item)
		if weak {
			item = strings.TrimPrefix(item, "W/")
		}
		if item == "*" || item == etag {
			return true
		}
	}
	return false
}

// Header values that never change, allocated once.
var (
	noCache     = []string{"no-cache"} // clients must revalidate before reuse
	inBytes     = []string{"bytes"}
	octetStream = []string{"application/octet-stream"}
	jsonType    = []string{"application/json"}
)

// answerConditional answers 412 if If-Match excludes the entity tag, and 304 if If-None-Match includes it. It
// reports whether it answered.
func answerConditional(w http.ResponseWriter, r *http.Request, etag string) bool {
	if header := r.Header.Get("If-Match"); header != "" && !matches(header, etag, false) {
		refuse(w, r, errOtherVersion)
		return true
	}
	if header := r.Header.Get("If-None-Match"); header == "" || !matches(header, etag, true) {
		return false
	}
	h := w.Header()
	h.Set("ETag", etag)
	h["Cache-Control"] = noCache
	delete(h, "Content-Type")
	delete(h, "Content-Encoding")
	w.WriteHeader(http.StatusNotModified)
	return true
}

// begin writes the status and headers of an answer with size bytes. It returns the part that the body has to
// contain; ok is false if no body follows.
func begin(w http.ResponseWriter, r *http.Request, etag string, size int64) (part span, ok bool) {
	h := w.Header()
	h.Set("ETag", etag)
	h["Cache-Control"] = noCache
	h["Accept-Ranges"] = inBytes
	part, partial, err := selectPart(r, etag, size)
	if err != nil {
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
		refuse(w, r, &fault{Status: http.StatusRequestedRangeNotSatisfiable, Kind: "range", Reason: err.Error()})
		return part, false
	}
	status := http.StatusOK
	if partial {
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(part.from, 10)+"-"+
			strconv.FormatInt(part.from+part.length-1, 10)+"/"+strconv.FormatInt(size, 10))
	}
	h.Set("Content-Length", strconv.FormatInt(part.length, 10))
	w.WriteHeader(status)
	return part, r.Method != http.MethodHead
}

// selectPart returns the part of a body that the request selects, or the whole body.
func selectPart(r *http.Request, etag string, size int64) (part span, partial bool, err error) {
	header := r.Header.Get("Range")
	// A client that resumes a download joins this part with an earlier part. If the source has changed since
	// then, it must get the whole new body.
	if header == "" || !rangeCounts(r, etag) {
		return span{0, size}, false, nil
	}
	return parseRange(header, size)
}

// rangeCounts reports whether the Range header applies: If-Range is absent or names this version.
func rangeCounts(r *http.Request, etag string) bool {
	condition := r.Header.Get("If-Range")
	return condition == "" || condition == etag
}

// serveBytes answers with bytes from memory.
func serveBytes(w http.ResponseWriter, r *http.Request, b body) {
	if answerConditional(w, r, b.etag) {
		return
	}
	part, ok := begin(w, r, b.etag, int64(len(b.data)))
	if !ok {
		return
	}
	if _, err := w.Write(b.data[part.from : part.from+part.length]); err != nil {
		return // the client has disconnected
	}
}
