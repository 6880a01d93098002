package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/readers/source/storetest"
)

// archive is a folder of files with a few days each, and a manifest of them that is served while it changes. The
// values depend on the day.
type archive struct {
	testing.TB
	dir, out string
	address  string
	log      logged // the log of the server
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// warnings returns the lines of level WARN.
func (l *logged) warnings() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level=WARN") {
			lines = append(lines, line)
		}
	}
	return lines
}

func newArchive(t testing.TB, out string) *archive {
	a := &archive{TB: t, dir: filepath.Join(t.TempDir(), "files"), out: out}
	if out == "" {
		a.out = filepath.Join(t.TempDir(), "a.varve")
	}
	return a
}

// days writes a file of some days, packed with a scale factor, and returns its path.
func (a *archive) days(first, count int, scale float64) string {
	a.Helper()
	var times []float64
	var packed []int16
	for d := first; d < first+count; d++ {
		times = append(times, float64(d))
		for i := range 3 {
			packed = append(packed, int16(float64(100*d+10*i)/scale))
		}
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: count}, {Name: "x", Length: 3}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: times},
			{Name: "x", Dims: []string{"x"}, Data: []float64{1, 2, 3}},
			{Name: "v", Dims: []string{"time", "x"}, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{scale}}}, Data: packed},
		},
	}
	name := filepath.Join(a.TempDir(), fmt.Sprintf("%03d.nc", first))
	a.must(f.Write(name))
	return name
}

// sameFile returns the path of a file of four days, and writes the file if it does not exist.
func (a *archive) sameFile() string {
	a.Helper()
	name := filepath.Join(a.dir, "same.nc")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		a.must(os.MkdirAll(a.dir, 0o777))
		a.must(os.Rename(a.days(0, 4, 1), name))
	}
	return name
}

func (a *archive) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *archive) build(force bool, o plan.Options, files ...string) {
	a.Helper()
	_, err := ingest.Build(a.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: files}, Plan: o, Force: force, Writer: "test"})
	a.must(err)
}

func (a *archive) append(files ...string) {
	a.Helper()
	_, err := ingest.Append(a.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: files}, Writer: "test"})
	a.must(err)
}

func (a *archive) compact(chunks map[string]int64) {
	a.Helper()
	_, err := compact.Compact(a.Context(), a.out, &compact.Options{Chunks: chunks, Store: store.Options{Trusted: true}, Writer: "test"})
	a.must(err)
}

// relocate copies a file and makes the manifest read the copy.
func (a *archive) relocate(name string) {
	a.Helper()
	data, err := os.ReadFile(name)
	a.must(err)
	to := filepath.Join(a.TempDir(), "elsewhere.nc")
	a.must(os.WriteFile(to, data, 0o666))
	_, err = relocate.Relocate(a.Context(), a.out, &relocate.Options{Moves: []relocate.Move{{From: name, To: to}}, Writer: "test"})
	a.must(err)
}

// repository calls do with the manifest.
func (a *archive) repository(do func(*repo.Repository) error) {
	a.Helper()
	repository, err := repo.Open(a.Context(), a.out)
	a.must(err)
	a.must(errors.Join(do(repository), repository.Close()))
}

func (a *archive) current() (id string) {
	a.Helper()
	a.repository(func(r *repo.Repository) (err error) { id, err = r.Current(a.Context()); return err })
	return id
}

// restoreFirst makes the oldest snapshot current.
func (a *archive) restoreFirst() {
	a.Helper()
	a.repository(func(r *repo.Repository) error {
		first := ""
		for s, err := range r.Log(a.Context()) {
			if err != nil {
				return err
			}
			first = s.ID
		}
		_, err := r.Restore(a.Context(), first)
		return err
	})
}

func (a *archive) collect() {
	a.Helper()
	a.repository(func(r *repo.Repository) error { _, err := r.GC(a.Context(), &repo.GCOptions{Keep: 1}); return err })
}

// serve starts a server with the given reload interval and idle time.
func (a *archive) serve(reload, idle time.Duration) {
	a.Helper()
	a.serveWith(&serve.Options{Reload: reload}, idle)
}

func (a *archive) serveWith(opts *serve.Options, idle time.Duration) {
	a.Helper()
	opts.Store, opts.Log = store.Options{Trusted: true}, slog.New(slog.NewTextHandler(io.MultiWriter(a.Output(), &a.log), nil))
	serve.SetIdle(opts, idle)
	h, err := serve.New(a.Context(), []string{a.out}, opts)
	a.must(err)
	s := httptest.NewServer(h)
	a.address = s.URL
	a.Cleanup(func() {
		s.Close()
		a.must(h.Close())
	})
}

// settle waits until the server has seen the current snapshot.
func (a *archive) settle() (newest string) {
	a.Helper()
	want := "/@" + a.current() + "/"
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 1000 {
		resp, err := client.Get(a.address + "/@newest")
		a.must(err)
		a.must(resp.Body.Close())
		if resp.StatusCode == http.StatusTemporaryRedirect && resp.Header.Get("Location") == want {
			return a.address + strings.TrimSuffix(want, "/")
		}
		time.Sleep(5 * time.Millisecond)
	}
	a.Fatalf("the server does not see %s", want)
	return ""
}

// mustRead opens an address again and reads it.
func (a *archive) mustRead(address string) (*reader, map[string]string) {
	a.Helper()
	c, err := openReader(a.Context(), address)
	a.must(err)
	values, err := c.read(a.Context())
	a.must(err)
	return c, values
}

// truth returns the values of the current snapshot, read with package store.
func (a *archive) truth() map[string]string {
	a.Helper()
	s, err := store.Open(a.Context(), a.out, &store.Options{Trusted: true})
	a.must(err)
	defer s.Close()
	all := map[string]string{}
	for _, x := range s.Arrays() {
		elems := codec.NewElems(x.Schema().Form(x.Grid().Shape()))
		a.must(x.ReadRegion(a.Context(), grid.Whole(x.Grid().Shape()), elems))
		all[strings.TrimPrefix(x.Path(), "/")] = string(elems.Fixed)
	}
	return all
}

// heldCases are changes of a manifest while clients have it open. The address without a snapshot changes to the new
// snapshot only in the hierarchies in which the new snapshot extends the old one.
var heldCases = []struct {
	name              string
	begin, then       func(a *archive)
	full, regular, v2 bool // whether each hierarchy changes to the new snapshot
	fails             bool // a client of the old snapshot may get errors
	gone              bool // a client of the old snapshot's own address may get errors
	between           bool // the other hierarchies serve a snapshot between the first and the last
}{
	{name: "files appended", full: true, regular: true, v2: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 4, 1)) }},
	{name: "a shorter file appended", full: true, regular: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 2, 1)) }},
	{name: "a longer file appended", full: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 6, 1)) }},
	{name: "a file appended after a short one", full: true, regular: true, v2: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1), a.days(4, 2, 1)) },
		then:  func(a *archive) { a.append(a.days(6, 4, 1)) }},
	{name: "two appends", full: true, regular: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 2, 1)); a.settle(); a.append(a.days(6, 4, 1)) }},
	{name: "files appended, then the first snapshot restored", v2: true, between: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 2, 1)); a.settle(); a.restoreFirst() }},
	{name: "files appended, and gc at once", full: true, regular: true, v2: true, gone: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 4, 1)); a.collect() }},
	{name: "the same file built again", full: true, regular: true, v2: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.sameFile()) },
		then:  func(a *archive) { a.build(true, plan.Options{}, a.sameFile()) }},
	{name: "chunks compacted", full: true, regular: true, v2: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1), a.days(4, 4, 2)) },
		then:  func(a *archive) { a.compact(nil) }},
	{name: "files relocated, and more appended", full: true, regular: true, v2: true, gone: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.sameFile()) },
		then: func(a *archive) {
			a.relocate(a.sameFile())
			a.settle()
			a.must(os.Remove(a.sameFile()))
			a.append(a.days(4, 4, 1))
		}},
	{name: "files inserted before the others",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(4, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(0, 4, 1)) }},
	{name: "files inserted between others",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1), a.days(8, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 4, 1)) }},
	{name: "other files of the same shape",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.build(true, plan.Options{}, a.days(10, 4, 1)) }},
	{name: "another packing",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(4, 4, 2)) }},
	{name: "a file replaced", fails: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.sameFile()) },
		then: func(a *archive) {
			a.must(os.Rename(a.days(1, 4, 1), a.sameFile()))
			a.build(true, plan.Options{}, a.sameFile())
		}},
	{name: "chunks merged",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(0, 4, 1), a.days(4, 4, 1)) },
		then:  func(a *archive) { a.compact(map[string]int64{"time": 8}) }},
	{name: "an array dropped",
		begin: func(a *archive) { a.build(false, plan.Options{}, a.sameFile()) },
		then:  func(a *archive) { a.build(true, plan.Options{Drop: []string{"v"}}, a.sameFile()) }},
	{name: "an older snapshot restored",
		begin: func(a *archive) {
			a.build(false, plan.Options{}, a.days(0, 4, 1))
			a.append(a.days(4, 4, 1))
		},
		then: func(a *archive) { a.restoreFirst() }},
	{name: "files inserted before the others, then the first snapshot restored", full: true, regular: true, v2: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(4, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(0, 4, 1)); a.settle(); a.restoreFirst() }},
	{name: "files inserted before the others, and gc", gone: true,
		begin: func(a *archive) { a.build(false, plan.Options{}, a.days(4, 4, 1)) },
		then:  func(a *archive) { a.append(a.days(0, 4, 1)); a.settle(); a.collect() }},
}

// TestHeldOpen checks for all these changes: a client that has opened the address without a snapshot continues to
// read the same values, or gets an error; a client that opens it again reads one consistent snapshot; and a client
// of a snapshot's own address reads the same values before and after the change.
func TestHeldOpen(t *testing.T) {
	for _, test := range heldCases {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			a := newArchive(t, "")
			test.begin(a)
			a.serve(50*time.Millisecond, 0)
			old := a.address + "/@" + a.current()
			stop := a.keepReading(old, test.fails, test.gone)
			test.then(a)
			newest := a.settle()
			stop()
			_, values := a.mustRead(newest)
			if truth := a.truth(); !maps.Equal(values, truth) {
				t.Errorf("the newest snapshot at its own address: got %v, want %v", lengths(values), lengths(truth))
			}
			for key, follows := range map[string]bool{"/zarr.json": test.full, "/regular/zarr.json": test.regular, "/v2/.zmetadata": test.v2} {
				at := newest
				if !follows {
					at = old
				}
				if follows || !test.gone && !test.between {
					a.compare(a.address+key, at+key)
				}
			}
		})
	}
}

// TestOneWarning checks that an append that no hierarchy can serve logs one warning, which names both snapshots and
// the address of the new one.
func TestOneWarning(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a := newArchive(t, "")
	a.build(false, plan.Options{}, a.days(4, 4, 1))
	a.serve(20*time.Millisecond, 0)
	old := a.current()
	a.append(a.days(0, 4, 1))
	a.settle()
	next := a.current()
	for end := time.Now().Add(10 * time.Second); len(a.log.warnings()) == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the server reads the manifest again, and must not repeat the warning
	warnings := a.log.warnings()
	if len(warnings) != 1 {
		t.Fatalf("%d warnings: %q", len(warnings), warnings)
	}
	a.append(a.days(8, 2, 1)) // extends the newest snapshot, but not the one that is served
	a.settle()
	if again := a.log.warnings(); len(again) != 1 {
		t.Errorf("a second append: %q", again)
	}
	for _, part := range []string{"STALE: /", old[:12], next[:12], "/@" + next} {
		if !strings.Contains(warnings[0], part) {
			t.Errorf("the warning does not name %s: %s", part, warnings[0])
		}
	}
}

// TestFollowAlways removes the first file of an archive twice, as a moving window does. The plain address serves each snapshot, and
// the first change is logged.
func TestFollowAlways(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a := newArchive(t, "")
	files := []string{a.days(0, 2, 1), a.days(2, 3, 1), a.days(5, 1, 1), a.days(6, 2, 1)}
	a.build(false, plan.Options{}, files...)
	a.serveWith(&serve.Options{Reload: 20 * time.Millisecond, FollowAlways: true}, 0)
	first := func(files []*manifest.File) (gone []bool, err error) {
		gone = make([]bool, len(files))
		gone[0] = true
		return gone, nil
	}
	for range 2 {
		_, err := ingest.Remove(t.Context(), a.out, first, &ingest.Options{Writer: "test"})
		a.must(err)
		newest := a.settle()
		for _, view := range []string{"", "/regular"} {
			_, got := a.mustRead(a.address + view)
			if _, want := a.mustRead(newest + view); !maps.Equal(got, want) {
				t.Errorf("%s/ has the values %v, and the newest snapshot %v", view, lengths(got), lengths(want))
			}
		}
	}
	if warnings := a.log.warnings(); len(warnings) != 1 || !strings.Contains(warnings[0], "STALE: clients that opened /") {
		t.Errorf("the warnings are %q", warnings)
	}
}

// keepReading starts clients that open the address without a snapshot and a snapshot's own address. They read all
// values repeatedly until stop is called, and check that these stay the same.
func (a *archive) keepReading(own string, fails, gone bool) (stop func()) {
	a.Helper()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for _, address := range []string{a.address, a.address + "/regular", own, own + "/regular"} {
		c, before := a.mustRead(address)
		mayFail := fails || gone && strings.HasPrefix(address, own)
		wg.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				now, err := c.read(a.Context())
				if err != nil && !mayFail {
					a.Errorf("%s: %v", address, err)
					return
				}
				if err == nil && !maps.Equal(now, before) {
					a.Errorf("%s: the values changed", address)
					return
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

func lengths(values map[string]string) map[string]int {
	out := map[string]int{}
	for name, v := range values {
		out[name] = len(v)
	}
	return out
}

// compare checks that two addresses have the same document.
func (a *archive) compare(is, want string) {
	a.Helper()
	status, x, err := download(a.Context(), is)
	a.must(err)
	_, y, err := download(a.Context(), want)
	a.must(err)
	if status != http.StatusOK || !bytes.Equal(x, y) {
		a.Errorf("%s: got %d %s, want %s", is, status, x, y)
	}
}

// TestInteropHeldOpen checks that datasets that zarr-python and xarray opened before a snapshot was published have
// the same values afterwards in every hierarchy, or return an error if a source has changed. It also checks that
// both can read the new snapshot at its own address.
func TestInteropHeldOpen(t *testing.T) {
	tell := pythonClients(t)
	for _, test := range heldCases {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			a := newArchive(t, "")
			test.begin(a)
			a.serve(20*time.Millisecond, 0)
			before := tell(t, "open "+a.address)
			if len(before) < 4 {
				t.Errorf("only %d clients opened it", len(before))
			}
			test.then(a)
			newest := a.settle()
			for client, now := range tell(t, "read") {
				text, failed := now.(string)
				if failed && !(test.fails && strings.Contains(text, "409")) || !failed && !reflect.DeepEqual(now, before[client]) {
					t.Errorf("%s reads %v, but read %v before", client, now, before[client])
				}
			}
			for client, now := range tell(t, "open "+newest) {
				if _, failed := now.(string); failed {
					t.Errorf("%s at %s: %v", client, newest, now)
				}
			}
		})
	}
}

// TestInteropSnapshotGone checks that clients of a removed snapshot get errors, never fill values.
func TestInteropSnapshotGone(t *testing.T) {
	tell := pythonClients(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a := newArchive(t, "")
	a.build(false, plan.Options{}, a.days(0, 4, 1))
	old := a.current()
	a.append(a.days(4, 4, 1))
	a.serve(20*time.Millisecond, 20*time.Millisecond)
	for client, read := range tell(t, "open "+a.address+"/@"+old) {
		if values, ok := read.([]any); !ok || len(values) != 4 {
			t.Errorf("%s: %v", client, read)
		}
	}
	a.collect()
	for range 100 { // until it is closed
		status, _, err := download(t.Context(), a.address+"/@"+old+"/zarr.json")
		a.must(err)
		if status == http.StatusGone {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	read := tell(t, "read")
	for client, now := range read {
		if text, failed := now.(string); !failed || !strings.Contains(text, "410") {
			t.Errorf("%s: %v", client, now)
		}
	}
	if len(read) != 6 {
		t.Errorf("%d clients", len(read))
	}
}

// TestCollectedAtOnce checks that a snapshot that gc has removed can be compared with the next one, although no
// table of it was read before.
func TestCollectedAtOnce(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a := newArchive(t, "")
	a.build(false, plan.Options{}, a.days(0, 4, 1))
	a.serve(2*time.Second, 0)
	c, err := openReader(t.Context(), a.address)
	a.must(err)
	for i := range 8 { // appends merge the tables of earlier ones
		a.append(a.days(4+4*i, 4, 1))
	}
	a.collect()
	a.compare(a.address+"/zarr.json", a.settle()+"/zarr.json")
	_, err = c.read(t.Context())
	a.must(err)
}

// TestObjectStores checks that new snapshots of a manifest in an object store are served too. Its tables are not
// kept open, so reading a removed snapshot must be a 410 error, and never fill values.
func TestObjectStores(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	m := storetest.NewMemory(t)
	a := newArchive(t, "s3://bucket/a.varve")
	a.build(false, plan.Options{}, a.days(10, 4, 1))
	a.serve(20*time.Millisecond, 0)
	a.append(a.days(14, 4, 1))
	a.compare(a.address+"/zarr.json", a.settle()+"/zarr.json")
	old := a.address + "/@" + a.current()
	stop := a.keepReading(old, false, false)
	a.append(a.days(0, 4, 1))
	newest := a.settle()
	stop()
	a.compare(a.address+"/zarr.json", old+"/zarr.json")
	m.Pass(time.Hour) // no writer is active any more
	a.collect()
	a.mustRead(newest)
	for _, address := range []string{a.address, old} {
		c, err := openReader(t.Context(), address)
		if err != nil {
			continue
		}
		if _, err = c.read(t.Context()); err != nil && !strings.Contains(err.Error(), "410") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
