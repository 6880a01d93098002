package serve

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// recorder is a ResponseWriter that records status and size for metrics and log.
type recorder struct {
	http.ResponseWriter
	kind   kind
	status int
	sent   int64
	err    error // why the request failed
	limit  time.Duration
	base   string // the path of the Handler
	user   string // who asks: a name, or an address
}

// note records the kind of an answer.
func note(w http.ResponseWriter, k kind) {
	if rec, ok := w.(*recorder); ok {
		rec.kind = k
	}
}

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 {
		rec.status = status
		rec.setDeadline()
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	n, err := rec.ResponseWriter.Write(p)
	rec.sent += int64(n)
	return n, err
}

// setDeadline limits the time in which the client must receive the answer, in proportion to its size. The time before
// the first byte does not count.
func (rec *recorder) setDeadline() {
	size, err := strconv.ParseInt(rec.Header().Get("Content-Length"), 10, 64)
	if err != nil {
		size = 0
	}
	late := time.Now().Add(rec.limit * time.Duration(1+min(size/bodyUnit, maxUnits)))
	if err := http.NewResponseController(rec.ResponseWriter).SetWriteDeadline(late); err != nil {
		return // the writer has no connection, as in tests
	}
}

// bodyUnit is the number of bytes that Options.Body allows a client to receive.
const bodyUnit = 4 << 20

// maxUnits limits what a client may take for a file of any size: minutes of more than a century.
const maxUnits = 1 << 26

// ReadFrom implements io.ReaderFrom, so that the server can send a file without copying it.
func (rec *recorder) ReadFrom(src io.Reader) (int64, error) {
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	n, err := io.Copy(rec.ResponseWriter, src)
	rec.sent += n
	return n, err
}

// Unwrap gives http.ResponseController access to the connection.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
