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
)

// Options say how an engine works.
type Options struct {
	Version, Commit string   // of the program, as hello tells them
	Allow           []string // prefixes of sources that any manifest may reach; see store.Options
	// ErrorText writes an error for a user, with the options of the client that would avoid it. Nil for the
	// text of the error alone.
	ErrorText func(error) string
}

// Server answers the requests of one client process.
type Server struct {
	opts     Options
	datasets datasets

	conns sync.WaitGroup
}

// New makes a server. Close it when its connections have ended.
func New(opts Options) *Server { return &Server{opts: opts, datasets: newDatasets(opts.Allow)} }

// Close waits for the connections to end and closes all datasets.
func (s *Server) Close() error {
	s.conns.Wait()
	return s.datasets.close()
}

// Go answers on a connection, in a goroutine, until it or ctx ends, and closes it.
func (s *Server) Go(ctx context.Context, conn net.Conn) {
	s.conns.Go(func() {
		stop := context.AfterFunc(ctx, func() { conn.Close() }) // which ends a read of the next request
		defer stop()
		l := newLink(conn)
		defer l.close()
		s.serve(ctx, l)
	})
}

// serve answers requests until the client goes away or says what nobody understands.
func (s *Server) serve(ctx context.Context, l *link) {
	for {
		op, body, err := l.next()
		if errors.Is(err, errRequest) {
			_ = s.fail(l, err) // the client is told, and gone
		}
		if err != nil {
			return
		}
		if err := s.handle(ctx, l, op, body); err != nil {
			return
		}
	}
}

// handle answers one request. Its error is one of the connection.
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
		return s.fail(l, fmt.Errorf("%w: the client speaks version %d of the protocol, and this is varve %s, which speaks %d; install both from one wheel", errRequest, asked, s.opts.Version, Version))
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

// patience is how long a request is worked on before anybody looks whether the client still waits:
// most are done sooner, and looking costs a goroutine.
const patience = 30 * time.Millisecond

// watch returns a context that ends when the client closes its connection. done ends the watch; it
// must be called before the answer is sent, and may be called again.
func watch(ctx context.Context, l *link) (watched context.Context, done func()) {
	watched, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(ended)
		var one [1]byte
		if _, err := l.Conn.Read(one[:]); err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			cancel() // nothing may be said before the answer
		}
	})
	var once sync.Once
	return watched, func() {
		once.Do(func() {
			if timer.Stop() {
				cancel()
				return
			}
			// The read ends by its deadline, which must not end those of later requests.
			if err := l.Conn.SetReadDeadline(time.Unix(1, 0)); err == nil {
				<-ended
				_ = l.Conn.SetReadDeadline(time.Time{}) // the next read tells if it failed
			}
			cancel()
		})
	}
}

// ServeTokens answers on the connections of a listener that begin with a token, until that is closed
// or ctx ends.
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

// checkToken reads the token that a connection begins with.
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
