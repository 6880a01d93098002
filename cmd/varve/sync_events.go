package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest/ingest"
)

const (
	maxEvent   = 1 << 20 // bytes of one message
	maxPending = 100_000 // files that wait; with more, all files are looked at
	// eventPause is how long a sync waits for more messages, and eventPatience the most that it waits.
	eventPause    = 200 * time.Millisecond
	eventPatience = time.Second
	// eventRetry is when a sync that failed is tried again.
	eventRetry = 10 * time.Second
)

// pending are the files that messages have named since the last sync.
type pending struct {
	mu    sync.Mutex
	names map[string]bool
	all   bool          // look at all files
	wake  chan struct{} // has an element if there is something to do
}

func newPending() *pending { return &pending{names: map[string]bool{}, wake: make(chan struct{}, 1)} }

// add adds the files that a message names.
func (p *pending) add(message []byte) error {
	names, err := ingest.Events(message)
	if err != nil || len(names) == 0 {
		return err
	}
	p.put(names, false)
	return nil
}

func (p *pending) put(names []string, all bool) {
	p.mu.Lock()
	for _, name := range names {
		p.names[name] = true
	}
	if p.all = p.all || all || len(p.names) > maxPending; p.all {
		clear(p.names)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns the files, and forgets them.
func (p *pending) take() (names []string, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	names, all = slices.Sorted(maps.Keys(p.names)), p.all
	clear(p.names)
	p.all = false
	return names, all
}

// syncEvents syncs once, and then the files that messages name, until the messages end or the command is stopped.
func syncEvents(cmd *cobra.Command, opts *syncOptions, out string, names []string) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	waiting := newPending()
	ended := make(chan error, 1)
	begin, err := opts.listen(ctx, cmd, waiting)
	if err != nil {
		return err
	}
	waiting.put(nil, true) // messages may have been lost before
	go func() { ended <- begin() }()
	var again <-chan time.Time
	var watch <-chan time.Time
	if opts.watch > 0 {
		tick := time.NewTicker(opts.watch)
		defer tick.Stop()
		watch = tick.C
	}
	for {
		var last error
		isLast := false
		select {
		case <-waiting.wake:
			gather(ctx, waiting)
		case <-again:
		case <-watch:
			waiting.put(nil, true)
		case last = <-ended:
			isLast = true
		}
		if ctx.Err() != nil {
			return nil // being stopped is how it ends
		}
		files, all := waiting.take()
		again = nil
		if err := syncSome(cmd, opts, out, names, files, all); err != nil {
			if isLast {
				return errors.Join(last, err)
			}
			if ctx.Err() == nil {
				fmt.Fprintln(cmd.ErrOrStderr(), errorPrefix, failureText(err))
			}
			waiting.put(files, all)
			<-waiting.wake
			again = time.After(eventRetry)
		}
		if isLast {
			return last
		}
	}
}

// gather waits until no more messages come.
func gather(ctx context.Context, p *pending) {
	late := time.After(eventPatience)
	for {
		select {
		case <-p.wake:
		case <-time.After(eventPause):
			return
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// syncSome syncs some files, or all.
func syncSome(cmd *cobra.Command, opts *syncOptions, out string, names, files []string, all bool) error {
	if !all && len(files) == 0 {
		return nil
	}
	do := ingest.Sync
	if !all {
		do = func(ctx context.Context, dir string, how *ingest.Options) (*ingest.SyncResult, error) {
			result, err := ingest.SyncFiles(ctx, dir, files, how)
			if errors.Is(err, ingest.ErrWholeSync) {
				return ingest.Sync(ctx, dir, how)
			}
			return result, err
		}
	}
	return syncOnce(cmd, opts, out, names, do)
}

// listen opens the place of the messages. The returned function reads them until they end.
func (o *syncOptions) listen(ctx context.Context, cmd *cobra.Command, to *pending) (read func() error, err error) {
	complain := func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), errorPrefix, failureText(err)) }
	address, isHTTP := strings.CutPrefix(o.events, "http://")
	switch {
	case o.events == "-":
		in := cmd.InOrStdin()
		return func() error { return readEvents(in, to, complain) }, nil
	case isHTTP:
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", strings.TrimSuffix(address, "/"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "listening on", "http://"+l.Addr().String())
		return func() error { return serveEvents(ctx, l, to) }, nil
	}
	f, err := os.Open(o.events)
	if err != nil {
		return nil, err
	}
	return func() error {
		defer f.Close()
		// The sync at the beginning sees all files, so older messages say nothing new.
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return readEvents(f, to, complain) // a pipe
		}
		return readEvents(&following{ctx: ctx, file: f, name: o.events}, to, complain)
	}, nil
}

// readEvents reads messages, one on each line. It complains about messages that it does not understand.
func readEvents(in io.Reader, to *pending, complain func(error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if err := to.add(lines.Bytes()); err != nil {
			complain(err)
		}
	}
	return lines.Err()
}

// following reads a file that grows, and begins again if it was replaced or truncated, as logs are.
type following struct {
	ctx  context.Context
	file *os.File
	name string
}

func (f *following) Read(p []byte) (int, error) {
	for {
		n, err := f.file.Read(p)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := f.reopen(); err != nil {
			return 0, err
		}
		select {
		case <-f.ctx.Done():
			return 0, io.EOF
		case <-time.After(eventPause):
		}
	}
}

// reopen opens the file of the name if it is another one, and goes to the start of a file that became shorter.
func (f *following) reopen() error {
	now, err := os.Stat(f.name)
	if err != nil {
		return nil // it may be between two files
	}
	was, err := f.file.Stat()
	if err != nil {
		return err
	}
	if os.SameFile(now, was) {
		if at, err := f.file.Seek(0, io.SeekCurrent); err == nil && now.Size() < at {
			_, err = f.file.Seek(0, io.SeekStart)
			return err
		}
		return nil
	}
	other, err := os.Open(f.name)
	if err != nil {
		return nil
	}
	err = f.file.Close()
	f.file = other
	return err
}

// serveEvents accepts messages as the bodies of POST requests.
func serveEvents(ctx context.Context, l net.Listener, to *pending) error {
	server := &http.Server{ReadTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "send messages with POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
		if err == nil {
			err = to.add(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
