package sourcetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a web server in this process that serves files and byte ranges, and counts requests.
type Server struct {
	*httptest.Server
	// Latency is the time before each answer begins.
	Latency time.Duration
	// Limit is the number of requests at a time that the server accepts. It answers others with status 429. 0 means no limit.
	Limit int64
	// NoETag omits ETags, so that only Last-Modified identifies versions.
	NoETag bool

	requests, bytes       atomic.Int64
	active, most, refused atomic.Int64

	mu      sync.Mutex
	files   map[string]served
	version int
}

// served is a file on the server.
type served struct {
	content  io.ReaderAt
	size     int64
	modified time.Time
	version  int
}

// NewServer starts a server. It stops at the end of the test.
func NewServer(t testing.TB) *Server {
	s := &Server{files: map[string]served{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Server.Close)
	return s
}

// Put stores a file and returns its URL.
func (s *Server) Put(path string, content []byte) string {
	return s.PutFile(path, bytes.NewReader(content), int64(len(content)))
}

// PutFile stores a file of size bytes and returns its URL.
func (s *Server) PutFile(path string, content io.ReaderAt, size int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	modified := time.Date(2020, 1, 1, 0, 0, s.version, 0, time.UTC)
	s.files[path] = served{content, size, modified, s.version}
	return s.URL + path
}

// Remove removes a file.
func (s *Server) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, path)
}

// Counts returns the number of requests, and of bytes in the bodies of answers.
func (s *Server) Counts() (requests, bytes int64) { return s.requests.Load(), s.bytes.Load() }

// Crowd returns the largest number of requests that were in progress at a time, and the number of refused requests.
func (s *Server) Crowd() (most, refused int64) { return s.most.Load(), s.refused.Load() }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	now := s.active.Add(1)
	defer s.active.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	if s.Limit > 0 && now > s.Limit {
		s.refused.Add(1)
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	time.Sleep(s.Latency)
	s.mu.Lock()
	f, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if !s.NoETag {
		w.Header().Set("ETag", fmt.Sprintf(`"version-%d"`, f.version))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(&countingWriter{w, &s.bytes}, r, "", f.modified, io.NewSectionReader(f.content, 0, f.size))
}

type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}
