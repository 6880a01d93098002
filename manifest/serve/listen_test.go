package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// run serves on an address and returns its URL and a function that stops the server.
func run(tb testing.TB, s *Server, h *Handler, address string) (name string, stop func() error) {
	tb.Helper()
	l, name, err := s.Listen(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, h) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	tb.Cleanup(func() { _ = stop() })
	return name, stop
}

// TestListen serves over TCP, TLS and a Unix socket.
func TestListen(t *testing.T) {
	folder := t.TempDir()
	issue(t, folder, "server", nil, nil)
	cert, key := filepath.Join(folder, "server.pem"), filepath.Join(folder, "server.key")
	socket := filepath.Join(folder, "socket")
	overUnix := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	trusting := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	cases := []struct {
		name    string
		server  Server
		address string
		client  *http.Transport
		prefix  string
	}{
		{"TCP", Server{}, "127.0.0.1:0", &http.Transport{}, "http://127.0.0.1:"},
		{"TLS", Server{Cert: cert, Key: key}, "127.0.0.1:0", trusting, "https://127.0.0.1:"},
		{"Unix", Server{}, "unix:" + socket, overUnix, "unix:" + socket},
		{"Unix again", Server{}, "unix:" + socket, overUnix, "unix:" + socket},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name, stop := run(t, &c.server, newHandler(t, newFake(t)), c.address)
			if !strings.HasPrefix(name, c.prefix) || strings.HasSuffix(name, ":0") {
				t.Errorf("listens on %s", name)
			}
			base := name
			if strings.HasPrefix(name, "unix:") {
				base = "http://unix"
			}
			client := &http.Client{Transport: c.client}
			defer client.CloseIdleConnections()
			for _, path := range []string{"/zarr.json", "/big/c/0/0", "/big/c/0/0"} {
				resp, err := client.Get(base + path)
				if err != nil {
					t.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != 200 || n == 0 {
					t.Errorf("%s: %d, %d bytes, %v", path, resp.StatusCode, n, err)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestListenRefuses checks that Listen rejects invalid addresses, and does not remove files or sockets in use.
func TestListenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	run(t, &Server{}, newHandler(t, newFake(t)), "unix:"+socket)
	for _, address := range []string{"unix:" + file, "unix:" + socket, "127.0.0.1:99999", "nonsense"} {
		if l, _, err := (&Server{}).Listen(t.Context(), address); err == nil {
			t.Errorf("listens on %s", address)
			l.Close()
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestGracefulStop checks that a running request finishes and no new one is accepted.
func TestGracefulStop(t *testing.T) {
	d := newFake(t)
	stuck := &stuckArray{array: d.arrays[1], began: make(chan struct{}), ended: make(chan error, 1), free: make(chan struct{})}
	d.arrays[1] = stuck
	h := newHandler(t, d)
	name, stop := run(t, &Server{}, h, "127.0.0.1:0")
	first := make(chan string)
	go func() {
		resp, err := http.Get(name + "/small/c/1/0")
		if err != nil {
			first <- err.Error()
			return
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		first <- fmt.Sprint(resp.StatusCode, len(data), err)
	}()
	<-stuck.began
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	for deadline := time.Now().Add(5 * time.Second); ; {
		if _, err := net.Dial("tcp", strings.TrimPrefix(name, "http://")); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still listens")
		}
		time.Sleep(time.Millisecond)
	}
	close(stuck.free)
	if got := <-first; got != "200 24 <nil>" {
		t.Errorf("the running request got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestSlowClients checks that clients that send or receive too slowly are disconnected and leave nothing
// open.
func TestSlowClients(t *testing.T) {
	leavesNothing(t)
	const limit = 100 * time.Millisecond
	d := newFake(t)
	opts := &Options{Body: limit, open: fakeOpen(d)}
	d.add(t, "/large", regularDoc("[1,4194304]", "[1,4194304]"), func(int64) manifest.ChunkKind { return manifest.Verbatim })
	h := newHandlerOf(t, opts, "a")
	warm(h, "/large/c/0/0")
	before, files := runtime.NumGoroutine(), openFiles(t)
	name, _ := run(t, &Server{Header: limit, Idle: limit}, h, "127.0.0.1:0")
	for what, text := range map[string]string{
		"a header that does not end": "GET /zarr.json HTTP/1.1\r\nHost: x\r\nSlow",
		"silence":                    "",
		"silence after an answer":    "GET /zarr.json HTTP/1.1\r\nHost: x\r\n\r\n",
		"an answer that is not read": "GET /large/c/0/0 HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(name, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if what == "an answer that is not read" {
			time.Sleep(10 * limit)
		}
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, c)
		if errors.Is(err, os.ErrDeadlineExceeded) || n >= 16<<20 {
			t.Errorf("%s: the connection was not closed: %d bytes, %v", what, n, err)
		}
	}
	settle(t, "goroutines", before+2, runtime.NumGoroutine)         // two of the server itself
	settle(t, "files", files+5, func() int { return openFiles(t) }) // four clients and the listener
}

// TestHeaderLimit checks that a request with a huge header is rejected.
func TestHeaderLimit(t *testing.T) {
	name, _ := run(t, &Server{}, newHandler(t, newFake(t)), "127.0.0.1:0")
	got := ask(t, "GET", name+"/zarr.json", "X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", got.status)
	}
}

// TestManyConnections opens all connections at once and checks that all get answers. The clients are another
// process, because each process has a limit of open files.
func TestManyConnections(t *testing.T) {
	leavesNothing(t)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	if host := os.Getenv("VARVE_CONNECT_TO"); host != "" {
		askAll(t, connect(t, host, n))
		return
	}
	if limit := source.OpenLimit(); limit/2 < n {
		t.Skipf("the system allows %d files only", limit)
	}
	h := newHandler(t, newFake(t))
	warm(h, "/small/c/0/0")
	name, stop := run(t, &Server{Connections: n}, h, "127.0.0.1:0")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyConnections$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(os.Environ(), "VARVE_CONNECT_TO="+strings.TrimPrefix(name, "http://"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestManyConnections") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestConnectionsWait checks that connections above the limit wait for others to close.
func TestConnectionsWait(t *testing.T) {
	leavesNothing(t)
	h := newHandler(t, newFake(t))
	name, stop := run(t, &Server{Connections: 50}, h, "127.0.0.1:0")
	askAll(t, connect(t, strings.TrimPrefix(name, "http://"), 400))
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// connect opens connections without sending a request.
func connect(t *testing.T, host string, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = c
	}
	return conns
}

// askAll requests a chunk on each connection and then reads the answers.
func askAll(t *testing.T, conns []net.Conn) {
	t.Helper()
	for i, c := range conns {
		if _, err := io.WriteString(c, "GET /small/c/0/0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	for i, c := range conns {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		got, err := io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close(), c.Close()); err != nil || got != 24 {
			t.Fatalf("connection %d: %d bytes, %v", i, got, err)
		}
	}
}

// warm requests a chunk so that its file is open afterwards.
func warm(h http.Handler, key string) {
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", key, nil))
	}
}

// TestReload checks that a published snapshot is served while requests continue.
func TestReload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.varve")
	repository, err := repo.Create(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	publish := func(message string) string {
		parent, err := repository.Current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		snap := &manifest.Snapshot{Message: message}
		if err := repository.Publish(t.Context(), snap, parent); err != nil {
			t.Fatal(err)
		}
		return snap.ID
	}
	publish("first")
	var mu sync.Mutex
	var opened []*fakeData
	opts := &Options{Reload: 5 * time.Millisecond, open: func(ctx context.Context, dir string, _ *store.Options) (dataset, error) {
		id, err := repository.Current(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		d := newFake(t)
		d.snapshot.ID = id
		if len(opened) > 0 {
			d.add(t, "/new", regularDoc("[2,2]", "[2,2]"), turnsOf)
		}
		opened = append(opened, d)
		return d, nil
	}}
	s := start(t, newHandlerOf(t, opts, dir))
	stop := make(chan struct{})
	var asked atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := ask(t, "GET", s.URL+"/big/c/1/0"); got.status != 200 || len(got.body) != 131072 {
					t.Errorf("%d, %d bytes", got.status, len(got.body))
				}
				asked.Add(1)
			}
		})
	}
	if got := ask(t, "GET", s.URL+"/new/zarr.json"); got.status != 404 {
		t.Errorf("before: %d", got.status)
	}
	publish("second")
	for deadline := time.Now().Add(10 * time.Second); ask(t, "GET", s.URL+"/new/zarr.json").status != 200; {
		if time.Now().After(deadline) {
			t.Fatal("the new snapshot is not served")
		}
	}
	close(stop)
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(opened) != 2 || opened[0].closed.Load() != 1 || opened[1].closed.Load() != 0 {
		t.Errorf("%d snapshots were opened, want 2; the first was closed %d times, want 1", len(opened), opened[0].closed.Load())
	}
	if asked.Load() == 0 {
		t.Error("no request was made")
	}
}
