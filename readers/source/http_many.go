package source

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
)

// Requests for several ranges (RFC 9110, section 14.6):
//
//	GET /ocean.nc                        206 Partial Content
//	Range: bytes=0-99,5000-5099          Content-Type: multipart/byteranges; boundary=SEP
//
//	                                     --SEP
//	                                     Content-Range: bytes 0-99/52428800
//
//	                                     … 100 bytes …
//	                                     --SEP
//	                                     …
//
// Web servers support this. Object stores do not; they send one range or the whole file. After the first such answer, a
// host gets requests for single ranges only.

// oneByOne remembers the hosts that send only one range per request.
type oneByOne struct{ hosts sync.Map }

func (o *oneByOne) is(host string) bool {
	_, known := o.hosts.Load(host)
	return known
}

func (o *oneByOne) add(host string) { o.hosts.Store(host, true) }

// objectStores are headers that only object stores send.
var objectStores = []string{"X-Amz-Request-Id", "X-Guploader-Uploadid", "X-Ms-Request-Id"}

// noteStore remembers the host if it is an object store, which saves one request for several ranges.
func (r *remote) noteStore(a *answer) {
	for _, key := range objectStores {
		if a.Header.Get(key) != "" {
			r.single.add(r.origin.Host)
		}
	}
}

// ReadMany reads several ranges with one request. The error is errOneByOne if the server does not support it.
func (r *remote) ReadMany(ctx context.Context, ranges []Range, into [][]byte) error {
	if r.content != nil || r.single.is(r.origin.Host) {
		return errOneByOne
	}
	var total int64
	for _, w := range ranges {
		total += w.Length
	}
	err := r.persist(ctx, total, func(ctx context.Context) error {
		return r.ask(ctx, ranges, func(a *answer) error { return r.takeMany(a, ranges, into) })
	})
	if errors.Is(err, errOneByOne) {
		r.single.add(r.origin.Host)
	}
	return err
}

// errOneByOne is the error of a server that sends only one range per request.
var errOneByOne = wrongf("the server sends only one range per request: %w", errors.ErrUnsupported)

// takeMany reads the bytes of ranges from an answer.
func (r *remote) takeMany(a *answer, ranges []Range, into [][]byte) error {
	kind, params, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case a.StatusCode == http.StatusOK,
		a.StatusCode == http.StatusPartialContent && (err != nil || kind != "multipart/byteranges"),
		a.StatusCode == http.StatusRequestedRangeNotSatisfiable, a.StatusCode == http.StatusBadRequest, a.StatusCode == http.StatusNotImplemented:
		return errOneByOne
	case a.StatusCode != http.StatusPartialContent:
		return a.failure()
	}
	if err := a.plain(); err != nil {
		return err
	}
	// Servers may send the parts in any order, so they are found by their ranges.
	parts := multipart.NewReader(a.body, params["boundary"])
	left := map[Range][]byte{}
	for i, want := range ranges {
		left[want] = into[i]
	}
	for len(left) > 0 {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return errOneByOne // a server may omit ranges
		}
		if err != nil {
			return &cut{err: err}
		}
		if err := r.takePart(a, part, left); err != nil {
			return err
		}
	}
	a.drain()
	return nil
}

// takePart reads a part, which may be any of the ranges in left, and removes its range from left.
func (r *remote) takePart(a *answer, part *multipart.Part, left map[Range][]byte) error {
	got, size, err := parseContentRange(part.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	if err := r.id.Check(a.identity(size)); err != nil {
		return err
	}
	into, ok := left[got]
	if !ok {
		return errOneByOne // a server may merge ranges
	}
	if n, err := io.ReadFull(part, into); err != nil {
		return &cut{n, len(into), err}
	}
	delete(left, got)
	return nil
}

// showAll formats ranges as in the Range header.
func showAll(ranges []Range) string {
	var b strings.Builder
	for i, r := range ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(show(r))
	}
	return b.String()
}
