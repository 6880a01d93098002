package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"google.golang.org/grpc"

	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/readers/source/storetest"
)

// asVariable is the environment variable that makes the test's binary another program: the command, which also
// serves as its own workers, or a job server like Beam's stand-alone Prism.
const asVariable = "VARVE_BEAM_AS"

func TestMain(m *testing.M) {
	switch as, port, _ := strings.Cut(os.Getenv(asVariable), " "); as {
	case "command":
		main()
		os.Exit(0)
	case "jobs":
		var options prism.Options
		_, _ = fmt.Sscan(port, &options.Port)
		if _, err := prism.CreateJobServer(context.Background(), options); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	}
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// as returns a command that runs the test's binary as another program. It ends with the test.
func as(t testing.TB, what string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asVariable+"="+what, "TMPDIR="+t.TempDir()) // where Beam leaves files behind
	cmd.WaitDelay = time.Second
	return cmd
}

// command runs varve-beam and returns its output, its messages and its exit code.
func command(t testing.TB, args ...string) (out, messages string, code int) {
	t.Helper()
	cmd := as(t, "command", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func must(t testing.TB, args ...string) (parts []string) {
	t.Helper()
	out, messages, code := command(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, messages)
	}
	return strings.Fields(out)
}

// days writes n files of one day each. Only their time coordinate tells their order.
func days(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(i)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []int16{int16(i), int16(-i)}},
			},
		}
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%03d.nc", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// built builds a manifest of the sources and returns its snapshot as text, without the fields that differ from
// build to build. The snapshot names its tables by their contents.
func built(t testing.TB, names ...string) string {
	t.Helper()
	return builtWith(t, &ingest.Options{Sources: ingest.Sources{Names: names}})
}

func builtWith(t testing.TB, opts *ingest.Options) string {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	out := filepath.Join(t.TempDir(), "out.varve")
	outcome, err := ingest.Build(t.Context(), out, opts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "snapshots", outcome.Snapshot.ID+".json"))
	var snapshot map[string]any
	if err == nil {
		err = json.Unmarshal(text, &snapshot)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(snapshot, "created")
	delete(snapshot, "seal")
	text, err = json.MarshalIndent(snapshot, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// only returns the names in a folder, including hidden ones.
func only(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	return names
}

// TestCommand checks that a manifest of the parts equals a manifest of the files, that only parts are left, and
// that a second run gives parts of the same names.
func TestCommand(t *testing.T) {
	dir, parts := days(t, 25), filepath.Join(t.TempDir(), "new", "parts")
	list := filepath.Join(t.TempDir(), "list.txt")
	var lines []string
	for i := range 25 { // 24, 23, …
		lines = append(lines, filepath.Join(dir, fmt.Sprintf("%03d.nc", 24-i)))
	}
	if err := os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, sources := range map[string]string{"a folder": dir, "a list": "@" + list} {
		got := must(t, "--parts", parts, "--files", "4", sources)
		if len(got) != 7 || !slices.Equal(got, only(t, parts)) {
			t.Fatalf("%s: parts are %q, and there are %q", name, got, only(t, parts))
		}
		if one, two := built(t, got...), built(t, sources); one != two {
			t.Errorf("%s: of parts\n%s\nof files\n%s", name, one, two)
		}
		if again := must(t, "--parts", parts, "--files", "4", sources); !slices.Equal(again, got) {
			t.Errorf("%s: the second time parts are %q, and not %q", name, again, got)
		}
		if err := os.RemoveAll(parts); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStore is TestCommand with parts in an object store.
func TestStore(t *testing.T) {
	m := storetest.NewMemory(t)
	dir := days(t, 10)
	got := stored(t, "s3://bucket", dir)
	want := m.Names("bucket/")
	for i := range want {
		want[i] = "s3://" + want[i]
	}
	if len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("parts are %q, and there are %q", got, want)
	}
}

// TestInteropStores is TestCommand with parts in real object stores.
func TestInteropStores(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			store, dir := start(t), days(t, 10)
			stored(t, store.Root, dir)
			if one, two := built(t, store.Root+"/a b%/"), built(t, dir); one != two {
				t.Errorf("of parts\n%s\nof files\n%s", one, two)
			}
		})
	}
}

// stored scans a folder to parts in a store, builds a manifest of them, and returns their names.
func stored(t *testing.T, root, dir string) (parts []string) {
	t.Helper()
	out, messages, code := command(t, "--parts", root+"/a b%/", "--files", "3", dir)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, messages)
	}
	parts = strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if one, two := built(t, parts...), built(t, dir); one != two {
		t.Errorf("of parts\n%s\nof files\n%s", one, two)
	}
	return parts
}

// TestBroken checks that all damaged files are listed, and fail the job or are left out.
func TestBroken(t *testing.T) {
	dir, parts := days(t, 9), t.TempDir()
	bad := []string{filepath.Join(dir, "001.nc"), filepath.Join(dir, "007.nc")}
	for _, name := range bad {
		if err := os.WriteFile(name, []byte("CDF\x01 and no more"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "009.nc"), []byte("a note"), 0o666); err != nil {
		t.Fatal(err)
	}
	all := append(bad, filepath.Join(dir, "009.nc"))
	out, messages, code := command(t, "--parts", parts, "--files", "3", dir)
	if code != 1 || out != "" || !strings.Contains(messages, "varve-beam: 3 sources cannot be read; add --skip-broken") {
		t.Errorf("exit code %d, %q\n%s", code, out, messages)
	}
	got := must(t, "--parts", parts, "--files", "3", "--skip-broken", dir)
	out, left, _ := command(t, "--parts", parts, "--files", "3", "--skip-broken", dir)
	if out != strings.Join(got, "\n")+"\n" || len(got) != 4 { // the last one has no sources
		t.Errorf("parts are %q", got)
	}
	for _, name := range all {
		if !strings.Contains(messages, name) || !strings.Contains(left, name) {
			t.Errorf("%s is not named in\n%s\nor\n%s", name, messages, left)
		}
	}
	// The parts say which files are left out, so the manifest lists them as a local build does.
	local := builtWith(t, &ingest.Options{Sources: ingest.Sources{Names: []string{dir}}, SkipBroken: true})
	if parts := built(t, got...); parts != local || !strings.Contains(local, "001.nc") {
		t.Errorf("of parts\n%s\nof files\n%s", parts, local)
	}
}

// TestBrokenVariable checks that the message for a damaged variable names the option that leaves it out, and that
// the option works.
func TestBrokenVariable(t *testing.T) {
	const samples, index = "../../manifest/ingest/testdata/", "index of u"
	var places map[string]int
	text, err := os.ReadFile(samples + "places.json")
	if err == nil {
		err = json.Unmarshal(text, &places)
	}
	data, failed := os.ReadFile(samples + "spared_1.nc")
	if err = cmp.Or(err, failed); err != nil || places[index] == 0 {
		t.Fatal(err, places)
	}
	data[places[index]] ^= 0xe0
	dir, parts := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.nc"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, messages, code := command(t, "--parts", parts, dir); code != 1 || out != "" || !strings.Contains(messages, "--drop /u") {
		t.Errorf("exit code %d, %q\n%s", code, out, messages)
	}
	got := must(t, "--parts", parts, "--drop", "/u", dir)
	outcome, err := ingest.Check(t.Context(), &ingest.Options{Sources: ingest.Sources{Names: got}, Plan: plan.Options{Drop: []string{"/u"}}})
	if err != nil || len(outcome.Snapshot.Arrays) != 4 {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// TestUsage checks that invalid arguments are rejected before anything is written.
func TestUsage(t *testing.T) {
	dir, parts := days(t, 1), filepath.Join(t.TempDir(), "parts")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "--parts PLACE", []string{dir}},
		{2, "no sources", []string{"--parts", parts}},
		{2, "--files 0", []string{"--parts", parts, "--files", "0", dir}},
		{2, "--value-bytes", []string{"--parts", parts, "--value-bytes", "-1", dir}},
		{2, "--match [", []string{"--parts", parts, "--match", "[", dir}},
		{2, "./--files", []string{"--parts", parts, dir, "--files", "3"}},
		{2, "--async", []string{"--parts", parts, "--async", dir}},
		{2, "https://host/parts", []string{"--parts", "https://host/parts", dir}},
		{2, "flag provided but not defined", []string{"--no-such-option"}},
		{1, "absent", []string{"--parts", parts, filepath.Join(dir, "absent")}},
		{1, "*.h5", []string{"--parts", parts, "--match", "*.h5", dir}},
		{1, "line break", []string{"--parts", parts, twoLines(t)}},
		{1, "use an access file", []string{"--parts", parts, "https://user:hidden@host/a.nc"}},
	} {
		out, messages, code := command(t, c.args...)
		if code != c.code || out != "" || !strings.Contains(messages, c.says) {
			t.Errorf("%q: want %q and exit code %d: %d, %q\n%s", c.args, c.says, c.code, code, out, messages)
		}
		if _, err := os.Stat(parts); err == nil {
			t.Fatalf("%q made %s", c.args, parts)
		}
	}
	if out, _, code := command(t, "--help"); code != 0 || !strings.Contains(out, "varve-beam --parts PLACE") {
		t.Errorf("--help: exit code %d, %q", code, out)
	}
}

// TestOldLists checks that a job removes the lists of drivers that were killed long ago, and no others.
func TestOldLists(t *testing.T) {
	dir, parts := days(t, 1), t.TempDir()
	old, young := filepath.Join(parts, ".scan-old.sources"), filepath.Join(parts, ".scan-young.sources")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-2 * jobLife)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	got := must(t, "--parts", parts, dir)
	if left := only(t, parts); len(left) != 2 || !slices.Contains(left, young) || !slices.Contains(left, got[0]) {
		t.Errorf("%q are left", left)
	}
}

func twoLines(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "two\nlines.nc")
	if err := os.WriteFile(name, []byte("CDF"), 0o666); err != nil {
		t.Skip(err)
	}
	return name
}

// pool starts worker processes of the command.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	t testing.TB

	mu      sync.Mutex
	workers []*exec.Cmd
}

// startPool starts a pool and returns it with the address at which runners ask for workers.
func startPool(t testing.TB) (*pool, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pool{t: t}
	s := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		p.kill()
	})
	return p, l.Addr().String()
}

func (p *pool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	cmd := as(p.t, "command", "--worker", "--id="+r.GetWorkerId(),
		"--logging_endpoint="+r.GetLoggingEndpoint().GetUrl(), "--control_endpoint="+r.GetControlEndpoint().GetUrl())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = append(p.workers, cmd)
	return &fnpb.StartWorkerResponse{}, cmd.Start()
}

func (p *pool) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.kill()
	return &fnpb.StopWorkerResponse{}, nil
}

// kill kills all workers and returns their number.
func (p *pool) kill() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.workers)
	for _, w := range p.workers {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	p.workers = nil
	return n
}

// startJobs starts a job server as a process and returns its address.
func startJobs(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := as(t, "jobs "+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 500 {
		if c, err := net.Dial("tcp", at); err == nil {
			_ = c.Close()
			return at
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("no job server at %s", at)
	return ""
}

// served returns the URLs of the files in a folder, from a server that calls a function before each answer. If the
// function returns false, the server does not answer.
func served(t testing.TB, dir string, before func(name string) bool) (names []string) {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before(path.Base(r.URL.Path)) {
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for _, name := range only(t, dir) {
		names = append(names, server.URL+"/"+filepath.Base(name))
	}
	return names
}

// TestSeveral checks slices that are scanned at the same time, later slices before earlier ones, and the same job
// twice at the same time.
func TestSeveral(t *testing.T) {
	parts := t.TempDir()
	var now atomic.Int64
	enough := make(chan struct{}) // closed when three are read at a time: two of one job among them
	var once sync.Once
	names := served(t, days(t, 8), func(string) bool {
		defer now.Add(-1)
		if now.Add(1) >= 3 {
			once.Do(func() { close(enough) })
		}
		select {
		case <-enough:
		case <-time.After(20 * time.Second):
		}
		return true
	})
	args := append([]string{"--parts", parts, "--files", "1", "--workers", "1"}, names...)
	var both [2][]string
	var wait sync.WaitGroup
	for i := range both {
		wait.Go(func() {
			out, messages, code := command(t, args...)
			if both[i] = strings.Fields(out); code != 0 {
				t.Errorf("exit code %d\n%s", code, messages)
			}
		})
	}
	wait.Wait()
	select {
	case <-enough:
	default:
		t.Error("no more than two files were read at a time")
	}
	if !slices.Equal(both[0], both[1]) || !slices.Equal(both[0], only(t, parts)) {
		t.Errorf("parts are %q and %q, and there are %q", both[0], both[1], only(t, parts))
	}
	if one, two := built(t, both[0]...), built(t, names...); one != two {
		t.Errorf("of parts\n%s\nof files\n%s", one, two)
	}
}

// TestUnreachable checks that a source that cannot be opened fails its slice, so that a runner may try again. Prism
// does not try again.
func TestUnreachable(t *testing.T) {
	dir, parts := days(t, 4), t.TempDir()
	names := served(t, dir, func(string) bool { return true })
	gone := filepath.Join(dir, "002.nc")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--parts", parts, "--files", "2"}, names...)
	out, messages, code := command(t, args...)
	if code != 1 || out != "" || !strings.Contains(messages, names[2]) {
		t.Errorf("exit code %d, %q\n%s", code, out, messages)
	}
	out, messages, code = command(t, append([]string{"--skip-broken"}, args...)...)
	if code != 0 || len(strings.Fields(out)) != 2 || !strings.Contains(messages, names[2]) {
		t.Errorf("exit code %d, %q\n%s", code, out, messages)
	}
	if left := only(t, parts); slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") }) {
		t.Errorf("left behind: %q", left)
	}
}

// TestKilledWorker kills a worker while it scans. Driver, job server and workers are separate processes. Then no
// incomplete part exists, and the same command again makes the same parts.
func TestKilledWorker(t *testing.T) {
	parts := t.TempDir()
	workers, at := startPool(t)
	killed := make(chan struct{})
	names := served(t, days(t, 12), func(name string) bool {
		if name != "007.nc" {
			return true
		}
		select {
		case <-killed:
			return true
		default:
		}
		if n := workers.kill(); n != 1 {
			t.Errorf("%d workers", n)
		}
		close(killed)
		return false
	})
	args := append([]string{"--parts", parts, "--files", "2", "--runner", "universal", "--environment_type", "EXTERNAL", "--environment_config", at}, names...)
	driver := as(t, "command", append([]string{"--endpoint", startJobs(t)}, args...)...)
	var out bytes.Buffer
	driver.Stdout = &out
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-killed
		time.Sleep(2 * time.Second)             // in which Prism may notice it, or may not
		_ = driver.Process.Signal(os.Interrupt) // which may have ended
	}()
	if err := driver.Wait(); err == nil || out.Len() > 0 {
		t.Errorf("with a worker killed: %v, %q", err, out.String())
	}
	for _, name := range only(t, parts) {
		switch base := filepath.Base(name); {
		case strings.HasPrefix(base, ".scan-"):
			t.Errorf("%s is left behind", name)
		case filepath.Ext(base) == ".parquet":
			built(t, name)
		}
	}
	got := must(t, append([]string{"--endpoint", startJobs(t)}, args...)...)
	if one, two := built(t, got...), built(t, names...); one != two {
		t.Errorf("of parts\n%s\nof files\n%s", one, two)
	}
}

// TestGather checks that a slice that was scanned twice counts once, and that a missing slice is an error.
func TestGather(t *testing.T) {
	g := &gather{Place: place(t.TempDir()), Report: "report.json", Slices: 3}
	run := func(results ...result) error {
		return g.ProcessElement(t.Context(), 0, func(r *result) bool {
			if len(results) == 0 {
				return false
			}
			*r, results = results[0], results[1:]
			return true
		})
	}
	zero, one, two := result{Index: 0, Part: "zero", Files: 1}, result{Index: 1, Part: "one", Files: 1}, result{Index: 2, Part: "two"}
	if err := run(two, zero, one, zero); err != nil {
		t.Error(err)
	}
	text, err := g.Place.read(t.Context(), g.Report)
	if err != nil || string(text) != `{"Parts":["zero","one"],"Broken":null}` {
		t.Errorf("%s, %v", text, err)
	}
	if err := run(two, zero, zero); err == nil || !strings.Contains(err.Error(), "slice 1 of 3") {
		t.Errorf("without one: %v", err)
	}
	if err := run(two, result{Index: 0}, result{Index: 1}); err == nil {
		t.Error("no source can be read, and there is no error")
	}
}
