package serve

import (
	"context"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"varve/fixtures/soak"
)

// TestSoak checks that memory, goroutines and open files do not increase after the first third of the test, while
// clients request all kinds of keys and sometimes disconnect.
func TestSoak(t *testing.T) {
	leavesNothing(t)
	d := weather(t)
	h := newHandler(t, d)
	name, stop := run(t, &Server{}, h, "127.0.0.1:0")
	keys := []string{"/zarr.json", "/big/c/0/0", "/big/c/1/0", "/big/c/2/0", "/small/c/0/0", "/rect/c/1/0", "/regular/rect/c/0/0",
		"/v2/small/0.0", "/v2/.zmetadata", "/t2m?as=svg", "/t2m?as=png&time=2", "/nothing", "/healthz"}
	// The server rejects more than scrapesAtOnce concurrent requests for the metrics.
	scrapers := append(slices.Clip(keys), "/metrics")
	total := soak.Duration(t, 2*time.Second)
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	round := func(length time.Duration) {
		var wg sync.WaitGroup
		until := time.Now().Add(length)
		for i := range 8 {
			mine := keys
			if i < scrapesAtOnce {
				mine = scrapers
			}
			wg.Go(func() {
				for time.Now().Before(until) {
					visit(t, transport, name+mine[rand.IntN(len(mine))])
				}
			})
		}
		wg.Wait()
		transport.CloseIdleConnections()
	}
	round(total / 3)
	settle(t, "goroutines", runtime.NumGoroutine(), runtime.NumGoroutine)
	heap, goroutines, files := heapInUse(), runtime.NumGoroutine(), openFiles(t)
	round(total * 2 / 3)
	settle(t, "goroutines", goroutines+2, runtime.NumGoroutine)
	settle(t, "files", files+2, func() int { return openFiles(t) })
	if now := heapInUse(); now > heap+8<<20 {
		t.Errorf("%d bytes of memory, %d after the first third", now, heap)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// visit requests an address, and sometimes disconnects before the end of the answer.
func visit(t *testing.T, transport *http.Transport, address string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	part := make([]byte, 4096)
	for whole := rand.IntN(10) > 0; err == nil; {
		if _, err = resp.Body.Read(part); !whole {
			return
		}
	}
	if resp.StatusCode >= 500 {
		t.Errorf("%s: %d", address, resp.StatusCode)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
