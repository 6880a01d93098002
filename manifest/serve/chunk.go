package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"varve/manifest"
	"varve/zarrjson"
)

// served is an array together with its chunk keys in one view.
type served struct {
	array
	keys zarrjson.KeyEncoding
	// tag identifies the inputs of re-encoded chunks: equal tags and coordinates mean equal bytes.
	tag []byte
}

// serveChunk answers a request for one chunk.
func (s *site) serveChunk(w http.ResponseWriter, r *http.Request, a *served, coords []int64) {
	loc, err := a.Locate(r.Context(), coords)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header()["Content-Type"] = octetStream
	switch {
	case loc.Kind == manifest.Missing:
		note(w, kindMissing)
		refuse(w, r, errFill)
	case loc.Kind == manifest.Reencoded:
		note(w, kindReencoded)
		s.serveReencoded(w, r, a, coords)
	case loc.Source < 0:
		note(w, kindInline)
		serveBytes(w, r, body{loc.Inline, tagOf("inline", loc.Inline)})
	default:
		note(w, kindVerbatim)
		s.serveStored(w, r, a, &loc)
	}
}

// serveStored answers with unchanged bytes of a source.
func (s *site) serveStored(w http.ResponseWriter, r *http.Request, a *served, loc *manifest.Location) {
	from, err := s.origins.get(r.Context(), s.data, loc.Source)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	etag := from.etag(loc.Offset, loc.Size)
	if answerConditional(w, r, etag) {
		return
	}
	// Local files go through sendfile, without passing through memory; the store reads everything else.
	if done, err := from.serveFile(w, r, loc); done || err != nil {
		if err != nil {
			s.fail(w, r, err)
		}
		return
	}
	if from.path == "" && s.serveKept(w, r, etag) {
		return
	}
	s.serveRead(w, r, a, loc, etag, from.path == "")
}

// serveKept answers with a chunk from the disk cache. It is false if the cache does not have the chunk.
func (s *site) serveKept(w http.ResponseWriter, r *http.Request, etag string) bool {
	size := s.disk.size(etag)
	if size < 0 {
		return false
	}
	done, ok := s.answers.take(r.Context(), size)
	if !ok {
		s.fail(w, r, errSlow)
		return true
	}
	defer done()
	data := s.disk.get(etag)
	if data == nil {
		return false
	}
	serveBytes(w, r, body{data, etag})
	return true
}

// serveRead answers with bytes that the store reads from the source. A HEAD request reads one byte, to check
// that the source still has the chunk. A whole chunk is kept in the disk cache if isKept is set.
func (s *site) serveRead(w http.ResponseWriter, r *http.Request, a *served, loc *manifest.Location, etag string, isKept bool) {
	var data []byte
	part, _, err := selectPart(r, etag, loc.Size)
	if err == nil {
		if r.Method == http.MethodHead {
			part.length = min(part.length, 1)
		}
		// The memory for answers is limited. Wait for it only for some time, because slow clients may use all
		// of it.
		done, ok := s.answers.take(r.Context(), part.length)
		if !ok {
			s.fail(w, r, errSlow)
			return
		}
		defer done()
		if data, err = a.ReadStored(r.Context(), loc, part.from, part.length); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if _, ok := begin(w, r, etag, loc.Size); !ok {
		// begin has answered an invalid range or a HEAD request.
		return
	}
	if _, err := w.Write(data); err != nil {
		return // the client has disconnected
	}
	if isKept && int64(len(data)) == loc.Size {
		s.disk.put(etag, data)
	}
}

// serveReencoded answers with a chunk that is encoded for this request. Its entity tag depends only on the
// inputs, so a client that has the chunk gets 304 without any encoding.
func (s *site) serveReencoded(w http.ResponseWriter, r *http.Request, a *served, coords []int64) {
	etag := tagOf("re-encoded", a.tag, a.keys.Append(nil, coords))
	if answerConditional(w, r, etag) {
		return
	}
	if s.serveKept(w, r, etag) {
		return
	}
	data, done, err := s.reencode(r.Context(), a, coords)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer done()
	s.serveData(w, r, data, etag)
	if data != nil {
		s.disk.put(etag, data)
	}
}

// reencode creates a chunk within the limit of concurrent re-encoding. The limit is released before the
// client receives the data, so a slow client occupies memory but does not block others. The caller calls done
// after sending the data.
func (s *site) reencode(ctx context.Context, a *served, coords []int64) (data []byte, done func(), err error) {
	p, err := a.Pipeline(coords)
	if err != nil {
		return nil, nil, err
	}
	if err := p.Form().CheckSize(); err != nil {
		return nil, nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
	}
	// The elements, and their encoded form.
	made, ok := s.create(ctx, 2*p.Form().MemorySize())
	if !ok {
		return nil, nil, errBusy
	}
	defer made()
	if data, err = a.Chunk(ctx, coords); err != nil {
		return nil, nil, err
	}
	if done, ok = s.answers.take(ctx, int64(len(data))); !ok {
		return nil, nil, errSlow
	}
	return data, done, nil
}

// serveData answers with the bytes of a chunk. data is nil if all elements are the fill value; an empty,
// non-nil slice is an empty chunk.
func (s *site) serveData(w http.ResponseWriter, r *http.Request, data []byte, etag string) {
	if data == nil {
		note(w, kindMissing)
		refuse(w, r, errFill)
		return
	}
	serveBytes(w, r, body{data, etag})
}

// fail answers with the fault that describes an error, and records the error for the log.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client has disconnected
	}
	refuse(w, r, faultOf(err))
}
