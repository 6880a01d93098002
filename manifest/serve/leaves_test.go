package serve

import (
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"
)

// LeavesNothing exports leavesNothing to tests outside the package.
var LeavesNothing = leavesNothing

// SetIdle sets how long a snapshot stays open without readers, for tests outside the package.
func SetIdle(o *Options, idle time.Duration) { o.idle = idle }

// leavesNothing checks that, after its cleanups, a test leaves no more goroutines and open files than before. Call it
// at the start of the test.
func leavesNothing(t testing.TB) {
	t.Helper()
	// The runtime's network poller starts with the first connection and stays.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		settle(t, "goroutines", goroutines, runtime.NumGoroutine)
		settle(t, "files", files, func() int { return openFiles(t) })
	})
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}

// settle waits until the count is at most before.
func settle(t testing.TB, what string, before int, count func() int) {
	t.Helper()
	var now int
	for range 500 {
		if now = count(); now <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d %s remain, want at most %d", now, what, before)
}
