package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve/readers/source"
)

// Server listens for HTTP requests and passes them to a Handler.
type Server struct {
	// Connections limits the number of open connections; 0 means 16,384. Half of the files that the process may
	// open is also a limit. More connections wait.
	Connections int
	// Header is how long a client may take to send a request's header, and Idle how long a connection may
	// stay without requests; 0 means 10 s and 2 minutes.
	Header, Idle time.Duration
	// Drain is how long running requests may take when the server stops; 0 means 30 s.
	Drain time.Duration
	// Cert and Key are PEM files for TLS; empty means no TLS.
	Cert, Key string
	// ClientCA is a PEM file of authorities. With it, clients need a certificate that one of them signed.
	ClientCA string
	// Log receives errors of connections; nil discards them.
	Log *slog.Logger
}

const maxHeaderBytes = 64 << 10

// Listen returns a listener for HOST:PORT (port 0 picks a free one), unix:PATH, or the socket that systemd passes (systemd:),
// and its URL. It fails early if the TLS files are unusable.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, string, error) {
	if s.Cert != "" {
		if _, err := tls.LoadX509KeyPair(s.Cert, s.Key); err != nil {
			return nil, "", fmt.Errorf("certificate %s with key %s: %w", s.Cert, s.Key, err)
		}
	}
	if _, err := s.clientTLS(); err != nil {
		return nil, "", err
	}
	var config net.ListenConfig
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if err := removeSocket(ctx, path); err != nil {
			return nil, "", err
		}
		l, err := config.Listen(ctx, "unix", path)
		return l, address, err
	}
	l, err := listenTCP(ctx, address)
	if err != nil {
		return nil, "", err
	}
	if l.Addr().Network() == "unix" {
		return l, "unix:" + l.Addr().String(), nil
	}
	scheme := "http://"
	if s.Cert != "" {
		scheme = "https://"
	}
	return l, scheme + l.Addr().String(), nil
}

func listenTCP(ctx context.Context, address string) (net.Listener, error) {
	if address == Systemd {
		return passedSocket()
	}
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}

// Systemd is the address of the socket that systemd opened for this process: socket activation.
const Systemd = "systemd:"

// passedSocket returns the first socket that systemd passed to this process, as sd_listen_fds(3) says.
func passedSocket() (net.Listener, error) {
	const first = 3
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || os.Getenv("LISTEN_FDS") != "1" {
		return nil, fmt.Errorf("systemd passed %q sockets to process %q, and this is process %d: want one, from a .socket unit", os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID"), os.Getpid())
	}
	f := os.NewFile(first, "socket of systemd")
	l, err := net.FileListener(f)
	return l, errors.Join(err, f.Close())
}

// removeSocket removes the socket of a server that was killed. It fails if the path is not a socket or a
// server listens on it.
func removeSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s: %w and is not a socket; choose another path", path, fs.ErrExist)
	}
	var dialer net.Dialer
	// Only a failed connection shows that no server uses the socket any more.
	if c, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return errors.Join(fmt.Errorf("%s: another server listens on this socket", path), c.Close())
	}
	return os.Remove(path)
}

// Serve answers requests on l until ctx is done. Then it accepts no more requests, waits for the running
// ones, and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener, h *Handler) error {
	server := s.newServer(h)
	var err error
	if server.TLSConfig, err = s.clientTLS(); err != nil {
		return err
	}
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
	// ctx has ended here, so Shutdown needs another context.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), orDefault(s.Drain, 30*time.Second))
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		return errors.Join(fmt.Errorf("running requests did not finish in time: %w", err), server.Close())
	}
	return nil
}

// clientTLS returns what a server demands of the certificates of clients, or nil.
func (s *Server) clientTLS() (*tls.Config, error) {
	if s.ClientCA == "" {
		return nil, nil
	}
	if s.Cert == "" {
		return nil, errors.New("clients can have certificates only if the server has one")
	}
	text, err := os.ReadFile(s.ClientCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: the file has no certificate", s.ClientCA)
	}
	return &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}, nil
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

// limited is a listener that limits the number of open connections.
type limited struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newLimited(l net.Listener, server *http.Server, n int) *limited {
	limit := &limited{Listener: l, slots: make(chan struct{}, n), done: make(chan struct{})}
	server.ConnContext = withConn
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			<-limit.slots
		}
	}
	return limit
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return newConn(c), nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}
