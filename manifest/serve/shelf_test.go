package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/store"
)

// library is a manifest with several snapshots; the first is current.
type library struct {
	testing.TB
	ids []string

	mu     sync.Mutex
	opened map[string][]*fakeData
	open   int // number of open snapshots
	most   int
	wait   chan struct{} // if not nil, opening an older snapshot waits for it
}

func newLibrary(t testing.TB, snapshots int) *library {
	l := &library{TB: t, opened: map[string][]*fakeData{}}
	for i := range snapshots {
		l.ids = append(l.ids, strings.Repeat(fmt.Sprintf("%02x", 16+i), 32))
	}
	return l
}

// lent is an open snapshot of a library. Closing it decreases the number of open snapshots.
type lent struct {
	*fakeData
	from *library
}

func (l *lent) Close() error {
	l.from.mu.Lock()
	defer l.from.mu.Unlock()
	l.from.open--
	return l.fakeData.Close()
}

func (l *library) options() *Options {
	return &Options{open: func(ctx context.Context, dir string, opts *store.Options) (dataset, error) {
		id := opts.Snapshot
		if id == "" {
			id = l.ids[0]
		} else if l.wait != nil {
			select {
			case <-l.wait:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if !slices.Contains(l.ids, id) {
			return nil, &manifest.DamageError{Name: id, Damage: manifest.FileMissing}
		}
		d := &fakeData{}
		d.snapshot.ID = id
		d.add(l, "/a"+id[:2], regularDoc("[4,2]", "[2,2]"), func(int64) manifest.ChunkKind { return manifest.Reencoded })
		l.mu.Lock()
		defer l.mu.Unlock()
		l.opened[id] = append(l.opened[id], d)
		l.open++
		l.most = max(l.most, l.open)
		return &lent{d, l}, nil
	}}
}

// TestOwnAddresses checks that each snapshot has all hierarchies at its own address, and is opened once for all
// clients. The current snapshot is not opened again for its own address.
func TestOwnAddresses(t *testing.T) {
	leavesNothing(t)
	l := newLibrary(t, 2)
	s := start(t, newHandlerOf(t, l.options(), "a.varve"))
	var wg sync.WaitGroup
	for _, id := range l.ids {
		for _, key := range []string{"/zarr.json", "/a" + id[:2] + "/zarr.json", "/a" + id[:2] + "/c/1/0", "/v2/.zmetadata", "/v2/a" + id[:2] + "/0.0", "/regular/zarr.json"} {
			for _, at := range []string{"/@", "/%40"} {
				wg.Go(func() {
					if got := ask(t, "GET", s.URL+at+id+key); got.status != 200 {
						t.Errorf("%s%s%s: %d %s", at, id, key, got.status, got.body)
					}
				})
			}
		}
	}
	wg.Wait()
	for key, want := range map[string]int{
		"/a10/zarr.json": 200, "/a11/zarr.json": 404, "/@" + l.ids[1] + "/a10/c/0/0": 404, "/@" + l.ids[1] + "/nothing": 404,
		"/@" + strings.Repeat("ff", 32) + "/zarr.json": 410, "/@" + strings.Repeat("ff", 32) + "/a/c/0/0": 410,
		"/@" + l.ids[1][:12] + "/zarr.json": 404, "/@" + strings.Repeat("FF", 32) + "/zarr.json": 404, "/@x/zarr.json": 404,
		"/@newest": 307, "/@newest/": 307, "/@newest/zarr.json": 404,
	} {
		if got := ask(t, "GET", s.URL+key); got.status != want {
			t.Errorf("%s: %d, want %d: %s", key, got.status, want, got.body)
		}
	}
	if got := ask(t, "GET", s.URL+"/@newest"); got.header.Get("Location") != "/@"+l.ids[0]+"/" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("/@newest: %v", got.header)
	}
	if got := ask(t, "GET", s.URL+"/@"+strings.Repeat("ff", 32)+"/zarr.json"); !strings.Contains(got.body, "varve gc") || !strings.Contains(got.body, "@newest") {
		t.Errorf("a removed snapshot: %s", got.body)
	}
	for _, id := range l.ids {
		if n := len(l.opened[id]); n != 1 {
			t.Errorf("%s was opened %d times", id, n)
		}
	}
}

// TestOwnAddressesOfSeveral checks the addresses of snapshots of several manifests, which are below their
// names.
func TestOwnAddressesOfSeveral(t *testing.T) {
	l := newLibrary(t, 2)
	s := start(t, newHandlerOf(t, l.options(), "/data/one.varve", "/data/two x.varve"))
	old := l.ids[1]
	for key, want := range map[string]int{"/one/@" + old + "/a11/c/0/0": 200, "/two%20x/@" + old + "/v2/a11/.zarray": 200, "/@" + old + "/zarr.json": 404, "/@newest": 404} {
		if got := ask(t, "GET", s.URL+key); got.status != want {
			t.Errorf("%s: %d, want %d", key, got.status, want)
		}
	}
	if got := ask(t, "GET", s.URL+"/two%20x/@newest"); got.header.Get("Location") != "/two%20x/@"+l.ids[0]+"/" {
		t.Errorf("/@newest: %v", got.header)
	}
}

// TestReservedNames checks that no node with the name of an address is served.
func TestReservedNames(t *testing.T) {
	d := newFake(t)
	d.add(t, "/@newest", regularDoc("[2,2]", "[2,2]"), turnsOf)
	d.add(t, "/@"+strings.Repeat("cd", 32)+"/x", regularDoc("[2,2]", "[2,2]"), turnsOf)
	d.add(t, "/@home", regularDoc("[2,2]", "[2,2]"), turnsOf)
	s := start(t, newHandler(t, d))
	if got := ask(t, "GET", s.URL+"/zarr.json"); strings.Contains(got.body, "@newest") || strings.Contains(got.body, "@cdcd") || !strings.Contains(got.body, "@home") {
		t.Errorf("%s", got.body)
	}
	if got := ask(t, "GET", s.URL+"/@home/c/0/0"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestFewSnapshotsOpen checks that few snapshots are open at once: those being read stay open, and further
// requests get 503.
func TestFewSnapshotsOpen(t *testing.T) {
	leavesNothing(t)
	const snapshots = 40
	l := newLibrary(t, snapshots)
	h := newHandlerOf(t, l.options(), "a.varve")
	s := start(t, h)
	for _, id := range l.ids {
		if got := ask(t, "GET", s.URL+"/@"+id+"/zarr.json"); got.status != 200 {
			t.Errorf("%s: %d %s", id, got.status, got.body)
		}
	}
	if l.most > shelfRoom+1 || l.open != shelfRoom+1 {
		t.Errorf("%d snapshots were open at a time, and %d are open now; want %d", l.most, l.open, shelfRoom+1)
	}
	var held []*site
	for _, id := range l.ids[1 : shelfRoom+1] {
		one, err := h.shelf.enter(t.Context(), h.places[0], id)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, one)
	}
	if got := ask(t, "GET", s.URL+"/@"+l.ids[10]+"/zarr.json"); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("one snapshot too many: %d %s", got.status, got.body)
	}
	for i, one := range held {
		if n := l.opened[l.ids[1+i]]; n[len(n)-1].closed.Load() > 0 {
			t.Error("a snapshot was closed while it was read")
		}
		one.leave(h.opts.Log)
	}
	if got := ask(t, "GET", s.URL+"/@"+l.ids[10]+"/zarr.json"); got.status != 200 {
		t.Errorf("after the others were released: %d %s", got.status, got.body)
	}
}

// TestIdleSnapshots checks that an idle snapshot closes and opens again.
func TestIdleSnapshots(t *testing.T) {
	leavesNothing(t)
	l := newLibrary(t, 3)
	opts := l.options()
	opts.idle = 20 * time.Millisecond
	s := start(t, newHandlerOf(t, opts, "a.varve"))
	for range 2 {
		for _, id := range l.ids {
			if got := ask(t, "GET", s.URL+"/@"+id+"/zarr.json"); got.status != 200 {
				t.Errorf("%s: %d %s", id, got.status, got.body)
			}
		}
		settle(t, "snapshots", 1, func() int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.open
		})
	}
}

// TestSnapshotThatOpensSlowly checks that clients wait for a snapshot, that a client that leaves does not
// affect others, and that the server can close in the meantime.
func TestSnapshotThatOpensSlowly(t *testing.T) {
	leavesNothing(t)
	l := newLibrary(t, 3)
	l.wait = make(chan struct{})
	h := newHandlerOf(t, l.options(), "a.varve")
	var wg sync.WaitGroup
	gone, leave := context.WithCancel(t.Context())
	wg.Go(func() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/@"+l.ids[1]+"/zarr.json", nil).WithContext(gone))
	})
	wg.Go(func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/@"+l.ids[1]+"/zarr.json", nil))
		if w.Code != 200 {
			t.Errorf("a waiting client: %d %s", w.Code, w.Body)
		}
	})
	leave()
	close(l.wait)
	wg.Wait()
	l.wait = make(chan struct{})
	wg.Go(func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/@"+l.ids[2]+"/zarr.json", nil))
		if w.Code < 500 {
			t.Errorf("when the server closes: %d", w.Code)
		}
	})
	time.Sleep(10 * time.Millisecond)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// TestRemovedTables checks that missing tables of a removed snapshot are not reported as damage.
func TestRemovedTables(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	s := start(t, newHandler(t, d))
	d.fail(&manifest.DamageError{Name: "tables/refs", Damage: manifest.FileMissing})
	if got := ask(t, "GET", s.URL+"/big/c/1/0"); got.status != 500 || !strings.Contains(got.body, "manifest damaged") {
		t.Errorf("while the snapshot exists: %d %s", got.status, got.body)
	}
	d.removed.Store(true)
	if got := ask(t, "GET", s.URL+"/big/c/1/0"); got.status != 410 || !strings.Contains(got.body, "varve gc") {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
	d.fail(errors.Join(nil, io.ErrUnexpectedEOF))
	if got := ask(t, "GET", s.URL+"/big/c/1/0"); got.status == 410 {
		t.Errorf("another error: %d %s", got.status, got.body)
	}
}

// TestHeldPage checks that a page shows the snapshot's own address, a newer snapshot, and the reason why the newer one
// is not at the plain address.
func TestHeldPage(t *testing.T) {
	l := newLibrary(t, 2)
	h := newHandlerOf(t, l.options(), "a.varve")
	s := start(t, h)
	page := func(path string) string { return ask(t, "GET", s.URL+path, "Accept", "text/html").body }
	if got := page("/a10"); !strings.Contains(got, `href="/@`+l.ids[0]+`/a10"`) || strings.Contains(got, "older snapshot") {
		t.Errorf("the newest: %s", got)
	}
	h.setOutlook(h.places[0], &outlook{newest: l.ids[1], held: [hierarchies]string{inFull: "it is <cut> otherwise"}})
	for path, wants := range map[string][]string{
		"/":                      {`href="/@` + l.ids[0] + `/"`, `href="/@` + l.ids[1] + `/"`, "it is &lt;cut&gt; otherwise"},
		"/@" + l.ids[0] + "/a10": {`href="/@` + l.ids[0] + `/a10"`, `href="/@` + l.ids[1] + `/"`, `xr.open_zarr(&#34;` + s.URL + `/@` + l.ids[0] + `&#34;)`},
	} {
		got := page(path)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not contain %s: %s", path, want, got)
			}
		}
	}
	if got := page("/@" + l.ids[0] + "/"); strings.Contains(got, "otherwise") {
		t.Error("a snapshot's own address explains a difference to the plain address")
	}
	if got := ask(t, "GET", s.URL+"/metrics"); got.status != http.StatusOK || !strings.Contains(got.body, `varve_snapshot_held{manifest="a.varve",path="/"} 1`) {
		t.Errorf("%s", got.body)
	}
}
