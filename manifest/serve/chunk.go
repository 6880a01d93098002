package serve

import (
	"context"
	"errors"
	"net/http"

	"varve/manifest/store"
	"varve/zarrjson"
)

// served is an array with the names of its chunks in one view.
type served struct {
	array
	keys zarrjson.KeyEncoding
	// tag tells what re-encoded chunks are made of: the same tag and coordinates, the same bytes.
	tag []byte
}

// serveChunk answers with a chunk.
func (s *site) serveChunk(w http.ResponseWriter, r *http.Request, a *served, coords []int64) {
	loc, err := a.Locate(r.Context(), coords)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header()["Content-Type"] = octetStream
	switch {
	case loc.Kind == store.Missing:
		note(w, kindMissing)
		refuse(w, r, errFill)
	case loc.Kind == store.Reencoded:
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

// serveStored answers with bytes of a source as they are.
func (s *site) serveStored(w http.ResponseWriter, r *http.Request, a *served, loc *store.Location) {
	from, err := s.origins.get(r.Context(), s.data, loc.Source)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	etag := from.etag(loc.Offset, loc.Size)
	if settled(w, r, etag) {
		return
	}
	if done, err := from.serveFile(w, r, loc); done || err != nil {
		if err != nil {
			s.fail(w, r, err)
		}
		return
	}
	s.serveRead(w, r, a, loc, etag)
}

// serveRead answers with bytes of a source that the store reads: those that are asked for, or
// one to see that the source still has them.
func (s *site) serveRead(w http.ResponseWriter, r *http.Request, a *served, loc *store.Location, etag string) {
	var data []byte
	part, _, err := choose(r, etag, loc.Size)
	if err == nil {
		if r.Method == http.MethodHead {
			part.length = min(part.length, 1)
		}
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
		return
	}
	if _, err := w.Write(data); err != nil {
		return // the client is gone
	}
}

// serveRebuilt answers with bytes that are made now. What they are made of tells their tag, so
// that nothing is made for a client that has them.
func (s *site) serveReencoded(w http.ResponseWriter, r *http.Request, a *served, coords []int64) {
	etag := tagOf("re-encoded", a.tag, a.keys.Append(nil, coords))
	if settled(w, r, etag) {
		return
	}
	data, done, err := s.reencode(r.Context(), a, coords)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer done()
	s.serveData(w, r, data, etag)
}

// re-encode makes a chunk when it is its turn, which is over before a client receives it: who is
// slow keeps memory, but nobody from having chunks made. Who has sent the data says so.
func (s *site) reencode(ctx context.Context, a *served, coords []int64) (data []byte, done func(), err error) {
	made, ok := s.reencodes.take(ctx, 1)
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

// serveData answers with the bytes of a chunk; nil, and not no bytes, is one that turned out
// to be all fill.
func (s *site) serveData(w http.ResponseWriter, r *http.Request, data []byte, etag string) {
	if data == nil {
		note(w, kindMissing)
		refuse(w, r, errFill)
		return
	}
	serveBytes(w, r, body{data, etag})
}

// fail answers with what is to be told of an error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // nobody is there to be told
	}
	refuse(w, r, faultOf(err))
}
