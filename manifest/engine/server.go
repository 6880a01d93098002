package engine

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"varve/readers/source"
)

// Options configure a Server.
type Options struct {
	Version, Commit string   // of the program, for the answer to hello
	Allow           []string // prefixes of sources that all manifests may read; see store.Options
	// Trace, if set, is called for the reads of all manifests; see store.Options.
	Trace source.TraceFunc
	// ErrorText returns the text of an error for users, with the options of the client that would avoid
	// the error. Nil means the text of the error alone.
	ErrorText func(error) string
}

// Server answers the requests of one client process.
type Server struct {
	opts     Options
	datasets datasets

	conns sync.WaitGroup
}

// New makes a server. The caller must call Close.
func New(opts Options) *Server {
	return &Server{opts: opts, datasets: newDatasets(opts.Allow, opts.Trace)}
}

// Close waits for the connections to end and closes all datasets.
func (s *Server) Close() error {
	s.conns.Wait()
	return s.datasets.close()
}

// Go answers the requests of a connection in a new goroutine. It closes the connection when the client does
// so, or when ctx ends.
func (s *Server) Go(ctx context.Context, conn net.Conn) {
	s.conns.Go(func() {
		stop := context.AfterFunc(ctx, func() { conn.Close() }) // ends the read of the next request
		defer stop()
		l := newLink(conn)
		defer l.close()
		s.serve(ctx, l)
	})
}

// serve answers requests until the client closes the connection or sends a malformed request.
func (s *Server) serve(ctx context.Context, l *link) {
	for {
		op, body, err := l.next()
		if errors.Is(err, errRequest) {
			_ = s.fail(l, err) // the connection ends in any case
		}
		if err != nil {
			return
		}
		if err := s.handle(ctx, l, op, body); err != nil {
			return
		}
	}
}

// handle answers one request. An error means that the connection cannot be used any more; errors of the
// request itself are sent to the client.
func (s *Server) handle(ctx context.Context, l *link, op byte, raw []byte) error {
	ctx, done := watch(ctx, l)
	defer done()
	b := &body{rest: raw}
	switch op {
	case opHello:
		return s.hello(l, b)
	case opOpen:
		return s.open(ctx, l, raw, done)
	case opClose:
		for len(b.rest) > 0 && b.err == nil {
			s.datasets.drop(b.u32())
		}
		done()
		return l.answer(statusDone)
	case opRead:
		return s.read(ctx, l, b, done)
	case opGet:
		return s.get(ctx, l, b, done)
	case opList:
		return s.list(ctx, l, b, done)
	case opDraw:
		return s.draw(ctx, l, b, done)
	case opSources:
		return s.sources(ctx, l, b, done)
	case opRefs:
		return s.refs(ctx, l, b, done)
	}
	done()
	return s.fail(l, fmt.Errorf("%w: no operation %d", errRequest, op))
}

func (s *Server) hello(l *link, b *body) error {
	asked := b.u32()
	if err := b.end(); err != nil {
		return s.fail(l, err)
	}
	if asked != Version {
		return s.fail(l, fmt.Errorf("%w: the client uses version %d of the protocol, but varve %s uses version %d; install both from one wheel", errRequest, asked, s.opts.Version, Version))
	}
	return s.say(l, map[string]string{"version": s.opts.Version, "commit": s.opts.Commit})
}

// say answers with JSON.
func (s *Server) say(l *link, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return s.fail(l, err)
	}
	return l.answer(statusDone, text)
}

// fail answers with an error.
func (s *Server) fail(l *link, err error) error {
	text, failed := json.Marshal(s.faultOf(err))
	if failed != nil {
		return failed
	}
	return l.answer(statusFailed, text)
}

// patience is the time after which watch starts to check whether the client still waits. Most requests end
// earlier, and the check needs a goroutine.
const patience = 30 * time.Millisecond

// watch returns a context that ends when the client closes its connection. done ends the watch. It must be
// called before the answer is sent, and may be called again.
func watch(ctx context.Context, l *link) (watched context.Context, done func()) {
	watched, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(ended)
		var one [1]byte
		if _, err := l.Conn.Read(one[:]); err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			cancel() // a client that sends something before the answer violates the protocol
		}
	})
	var once sync.Once
	return watched, func() {
		once.Do(func() {
			if timer.Stop() {
				cancel()
				return
			}
			// End the read with a deadline, then remove the deadline, which would end later reads too.
			if err := l.Conn.SetReadDeadline(time.Unix(1, 0)); err == nil {
				<-ended
				_ = l.Conn.SetReadDeadline(time.Time{}) // if this fails, so does the next read
			}
			cancel()
		})
	}
}

// ServeTokens answers requests on the connections of a listener that start with a token. It returns when the
// listener is closed or ctx ends.
func (s *Server) ServeTokens(ctx context.Context, listener net.Listener, token string) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			if err := checkToken(conn, token); err != nil {
				conn.Close()
				return
			}
			s.Go(ctx, conn)
		}()
	}
}

// checkToken reads the first bytes of a connection, and returns an error unless they are the token.
func checkToken(conn net.Conn, token string) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	got := make([]byte, len(token))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(got, []byte(token)) != 1 {
		return errors.New("wrong token")
	}
	return conn.SetReadDeadline(time.Time{})
}
