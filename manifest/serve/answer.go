package serve

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// span is the part of a body that an answer sends.
type span struct{ from, length int64 }

var errUnsatisfiable = errors.New("no byte of the range is there")

// parseRange returns the part that the header Range asks for; ok is false where there is none
// that this server knows, and all is sent: other units, several ranges, nonsense.
func parseRange(header string, size int64) (s span, ok bool, err error) {
	text, found := strings.CutPrefix(header, "bytes=")
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
	from, good := number(first)
	if !good {
		return span{0, size}, false, nil
	}
	end := size - 1
	if last != "" {
		if end, good = number(last); !good || end < from {
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
	n, good := number(text)
	if !good {
		return span{0, size}, false, nil
	}
	if n == 0 || size == 0 {
		return span{}, false, errUnsatisfiable
	}
	n = min(n, size)
	return span{size - n, n}, true, nil
}

// number reads digits, of which more than fit are as good as the largest that do.
func number(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, true
}

// matches reports whether a list of entity tags has one, or, where that will do, its weak form.
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

// Values of headers that never change are not made for each answer.
var (
	noCache     = []string{"no-cache"} // ask whether it still is the same
	inBytes     = []string{"bytes"}
	octetStream = []string{"application/octet-stream"}
	jsonType    = []string{"application/json"}
)

// settled answers 412 if the client wants another version than the tag's, and 304 if it has
// that.
func settled(w http.ResponseWriter, r *http.Request, etag string) bool {
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

// begin writes the head of an answer of which size bytes are there, and returns what of them
// the body is to be; ok is false where there is to be none.
func begin(w http.ResponseWriter, r *http.Request, etag string, size int64) (part span, ok bool) {
	h := w.Header()
	h.Set("ETag", etag)
	h["Cache-Control"] = noCache
	h["Accept-Ranges"] = inBytes
	part, partial, err := choose(r, etag, size)
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

// choose returns the part of a body that a request wants, which may be all.
func choose(r *http.Request, etag string, size int64) (part span, partial bool, err error) {
	header := r.Header.Get("Range")
	if header == "" || !rangeCounts(r, etag) {
		return span{0, size}, false, nil
	}
	return parseRange(header, size)
}

// rangeCounts reports whether a range is wanted of this version, and else all of it.
func rangeCounts(r *http.Request, etag string) bool {
	condition := r.Header.Get("If-Range")
	return condition == "" || condition == etag
}

// serveBytes answers with bytes that are in memory.
func serveBytes(w http.ResponseWriter, r *http.Request, b body) {
	if settled(w, r, b.etag) {
		return
	}
	part, ok := begin(w, r, b.etag, int64(len(b.data)))
	if !ok {
		return
	}
	if _, err := w.Write(b.data[part.from : part.from+part.length]); err != nil {
		return // the client is gone
	}
}
