package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"varve/readers/source"
)

// Server is a Handler that listens.
type Server struct {
	// Connections bounds those that are open at a time; 0 stands for 16,384. More of them wait, and
	// so do more than half the files that the process may have open.
	Connections int
	// Header and Idle are how long a client may take to say what it wants, and to ask again. 0
	// stands for 10 s and 2 minutes.
	Header, Idle time.Duration
	// Drain is how long requests under way may take when the server stops; 0 stands for 30 s.
	Drain time.Duration
	// Cert and Key are files for TLS; without them there is none.
	Cert, Key string
	// Log takes what goes wrong with connections; nil for nowhere.
	Log *slog.Logger
}

const maxHeaderBytes = 64 << 10

// Listen returns a listener for HOST:PORT, where port 0 picks one, or for unix:PATH, and what
// to call it. Files for TLS that cannot be used are told before anybody calls.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, string, error) {
	if s.Cert != "" {
		if _, err := tls.LoadX509KeyPair(s.Cert, s.Key); err != nil {
			return nil, "", fmt.Errorf("certificate %s with key %s: %w", s.Cert, s.Key, err)
		}
	}
	var config net.ListenConfig
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if err := removeSocket(ctx, path); err != nil {
			return nil, "", err
		}
		l, err := config.Listen(ctx, "unix", path)
		return l, address, err
	}
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	scheme := "http://"
	if s.Cert != "" {
		scheme = "https://"
	}
	return l, scheme + l.Addr().String(), nil
}

// removeSocket removes what a server left behind that was killed, and nothing else.
func removeSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s: %w, and is no socket", path, fs.ErrExist)
	}
	var dialer net.Dialer
	if c, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return errors.Join(fmt.Errorf("%s: somebody listens there", path), c.Close())
	}
	return os.Remove(path)
}

// Serve answers on a listener until ctx is done; then it takes no more requests, lets those
// under way finish, and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener, h *Handler) error {
	server := s.newServer(h)
	limited := newLimited(l, server, source.ShareOfOpen(orDefault(s.Connections, 16384), 2))
	failed := make(chan error, 1)
	go func() {
		if s.Cert != "" {
			failed <- server.ServeTLS(limited, s.Cert, s.Key)
			return
		}
		failed <- server.Serve(limited)
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	h.Drain()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), orDefault(s.Drain, 30*time.Second))
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		return errors.Join(fmt.Errorf("requests under way did not finish: %w", err), server.Close())
	}
	return nil
}

func (s *Server) newServer(h *Handler) *http.Server {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: orDefault(s.Header, 10*time.Second),
		ReadTimeout:       orDefault(s.Header, 10*time.Second),
		IdleTimeout:       orDefault(s.Idle, 2*time.Minute),
		MaxHeaderBytes:    maxHeaderBytes,
	}
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return server
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// limited is a listener that accepts no more than so many connections at a time.
type limited struct {
	net.Listener
	places chan struct{}
	done   chan struct{}
	once   sync.Once
}

func newLimited(l net.Listener, server *http.Server, n int) *limited {
	limit := &limited{Listener: l, places: make(chan struct{}, n), done: make(chan struct{})}
	server.ConnContext = withConn
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			<-limit.places
		}
	}
	return limit
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return newConn(c), nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}
