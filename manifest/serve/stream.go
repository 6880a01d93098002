package serve

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// streamMemory is about the largest memory of an answer that is made while it is sent: two blocks of values, up to eight times
// larger to have whole chunks, and their converted form.
const streamMemory = 64 << 20

// stream answers with bytes that are made while they are sent: size is their number, or -1 if it is not known before, and
// values about that of the values that are read for them. It returns an error if nothing was sent; later, it breaks the
// connection, because nothing else tells the client that the answer is incomplete.
func (s *site) stream(w http.ResponseWriter, r *http.Request, etag string, size, values int64, write func(ctx context.Context, w io.Writer) error) error {
	// Slow clients may hold all memory for answers, so wait for it only for some time.
	done, ok := s.answers.take(r.Context(), min(3*values+64<<10, streamMemory))
	if !ok {
		return errSlow
	}
	defer done()
	h := w.Header()
	h.Set("ETag", etag)
	h["Cache-Control"] = noCache
	if size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	out := &sender{ResponseWriter: w}
	err := write(r.Context(), out)
	if err == nil || out.sent == 0 {
		return err
	}
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	panic(http.ErrAbortHandler)
}

// sender sends an answer that takes time to make. Only the time in which the client is slow counts against its deadline.
type sender struct {
	http.ResponseWriter
	sent   int64
	waited time.Duration
}

func (s *sender) Write(p []byte) (int, error) {
	rec, ok := s.ResponseWriter.(*recorder)
	began := time.Now()
	if ok && rec.status != 0 {
		left := rec.limit*time.Duration(1+s.sent/bodyUnit) - s.waited
		if err := http.NewResponseController(rec.ResponseWriter).SetWriteDeadline(began.Add(left)); err != nil {
			ok = false // the writer has no connection, as in tests
		}
	}
	n, err := s.ResponseWriter.Write(p)
	s.sent += int64(n)
	s.waited += time.Since(began)
	return n, err
}
