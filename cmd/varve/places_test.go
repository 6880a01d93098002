package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// bait is a server of a folder that notes each request.
type bait struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// newBait serves a folder at an address of this machine.
func newBait(t *testing.T, address, folder string) *bait {
	t.Helper()
	files := http.FileServer(http.Dir(folder))
	b := &bait{Server: httptest.NewUnstartedServer(nil)}
	b.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.seen = append(b.seen, r.URL.Path)
		b.mu.Unlock()
		files.ServeHTTP(w, r)
	})
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this system has no address %s: %v", address, err)
	}
	b.Listener = l
	b.Start()
	t.Cleanup(b.Close)
	return b
}

// requests returns the requests since the last call.
func (b *bait) requests() []string {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen
	b.seen = nil
	return seen
}

// foreign is a manifest of somebody else.
type foreign struct {
	out, folder, mine string
	more, curation    string // files of the user
	server            *bait
	sources           []string
	array             string
}

// as lets the commands run as one of two users.
func as(t *testing.T, folder, user string) { t.Setenv("XDG_CONFIG_HOME", filepath.Join(folder, user)) }

// buildForeign makes a manifest as another user, with the sources on a server.
func buildForeign(t *testing.T, kind string) *foreign {
	t.Helper()
	dir := t.TempDir()
	f := &foreign{out: filepath.Join(dir, "m.varve"), folder: filepath.Join(dir, "theirs"), mine: filepath.Join(dir, "mine")}
	for _, folder := range []string{f.folder, f.mine} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.curation = filepath.Join(dir, "curation.yaml")
	if err := os.WriteFile(f.curation, []byte("attributes:\n  title: mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.server = newBait(t, "127.0.0.1:0", f.folder)
	names := []string{"2021-01.nc", "2021-02.nc"}
	f.array, f.more = "t2m", filepath.Join(f.mine, "2021-03.nc")
	if kind == "kerchunk" {
		names, f.array, f.more = []string{"0.json", "1.json", "2.json"}, "x", filepath.Join(f.mine, "3.json")
		for i := range 4 {
			folder, at := f.folder, f.server.URL
			if i == 3 {
				folder, at = f.mine, f.mine
			}
			writeReferences(t, folder, i, fmt.Sprintf("%s/%d.bin", at, i))
		}
	} else {
		for _, name := range names {
			copyMonth(t, f.folder, name)
		}
		copyMonth(t, f.mine, "2021-03.nc")
	}
	for _, name := range names {
		f.sources = append(f.sources, f.server.URL+"/"+name)
	}
	as(t, dir, "author")
	args := append([]string{"build", f.out, "--quiet"}, f.sources...)
	switch kind {
	case "checksums":
		args = append(args, "--checksum")
	case "unstored": // a plan has to read the coordinates
		args = append(args, "--value-bytes", "1", "--inline", "0")
	}
	mustRun(t, args...)
	as(t, dir, "user")
	f.server.requests()
	return f
}

// writeReferences writes the references of one step, and the bytes that they name.
func writeReferences(t *testing.T, folder string, step int, target string) string {
	t.Helper()
	name := filepath.Join(folder, fmt.Sprintf("%d.json", step))
	text := fmt.Sprintf(`{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}",
"t/.zarray":"{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"|u1\",\"compressor\":null,\"fill_value\":null,\"filters\":null,\"order\":\"C\"}",
"t/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"t\"]}","t/0":"base64:%s",
"x/.zarray":"{\"zarr_format\":2,\"shape\":[1,4],\"chunks\":[1,4],\"dtype\":\"|u1\",\"compressor\":null,\"fill_value\":null,\"filters\":null,\"order\":\"C\"}",
"x/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"t\",\"n\"]}","x/0.0":[%q,0,4]}}`, []string{"AA==", "AQ==", "Ag==", "Aw=="}[step], target)
	for file, data := range map[string]string{name: text, filepath.Join(folder, fmt.Sprintf("%d.bin", step)): "abcdefgh"} {
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// replaceAll changes the times of all files, as a new version does.
func (f *foreign) replaceAll(t *testing.T) {
	t.Helper()
	later := time.Now().Add(time.Hour)
	entries, err := os.ReadDir(f.folder)
	for _, e := range entries {
		err = errors.Join(err, os.Chtimes(filepath.Join(f.folder, e.Name()), later, later))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// breakTable removes the table of references.
func (f *foreign) breakTable(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.out, "tables", "refs-*"))
	if err != nil || len(found) == 0 {
		found, err = filepath.Glob(filepath.Join(f.out, "*", "*refs*"))
	}
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
}

// need says whether a command needs the sources of a manifest.
type need int

const (
	never need = iota
	perhaps
	always
)

// TestForeignManifests checks that no command opens a source of somebody else's manifest that the user did not name or
// allow, and that no command seals one: afterwards it cannot be read without permission.
func TestForeignManifests(t *testing.T) {
	commands := []struct {
		name    string
		prepare func(*foreign, *testing.T)
		args    func(*foreign) []string
		asks    need
	}{
		{name: "refresh", args: func(f *foreign) []string { return []string{"refresh", f.out} }, asks: always},
		{name: "refresh of new versions", prepare: (*foreign).replaceAll, args: func(f *foreign) []string { return []string{"refresh", f.out} }, asks: always},
		{name: "remove", args: func(f *foreign) []string { return []string{"remove", f.out, f.sources[0]} }, asks: perhaps},
		{name: "append", args: func(f *foreign) []string { return []string{"append", f.out, f.more} }, asks: perhaps},
		{name: "curate", args: func(f *foreign) []string { return []string{"curate", f.out, f.curation} }, asks: perhaps},
		{name: "append with a new plan", args: func(f *foreign) []string { return []string{"append", f.out, f.more, "--inline", "100000"} }, asks: perhaps},
		{name: "sync", args: func(f *foreign) []string { return []string{"sync", f.out, f.more, "--max-delete", "100"} }},
		{name: "repair", prepare: (*foreign).breakTable, args: func(f *foreign) []string { return []string{"repair", f.out} }, asks: always},
		{name: "relocate", args: func(f *foreign) []string { return []string{"relocate", "--deep", f.out, f.server.URL, f.folder} }, asks: always},
		{name: "compact", args: func(f *foreign) []string { return []string{"compact", f.out} }},
		{name: "index", args: func(f *foreign) []string { return []string{"index", f.out} }},
		{name: "read", args: func(f *foreign) []string { return []string{"read", f.out, f.array, "--stat"} }, asks: always},
		{name: "verify", args: func(f *foreign) []string { return []string{"verify", f.out, "--deep"} }, asks: always},
		{name: "export", args: func(f *foreign) []string { return []string{"export", "zarr", f.out, f.mine + ".zarr"} }, asks: always},
	}
	for _, kind := range []string{"server", "checksums", "unstored", "kerchunk"} {
		for _, c := range commands {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				f := buildForeign(t, kind)
				if c.prepare != nil {
					c.prepare(f, t)
				}
				text, code, err := run(t, c.args(f)...)
				if seen := f.server.requests(); len(seen) > 0 {
					t.Errorf("%q was opened", seen)
				}
				var refused *store.ForbiddenError
				switch {
				case code == exitForbidden && c.asks != never && errors.As(err, &refused):
				case code != exitDone || c.asks == always:
					t.Fatalf("exit code %d: %v\n%s", code, err, text)
				}
				if c.name != "repair" && c.name != "sync" {
					if text, code, err := run(t, "read", f.out, f.array, "--stat"); code == exitDone {
						t.Errorf("reading afterwards: exit code %d: %v\n%s", code, err, text)
					}
				}
				if code == exitDone {
					return
				}
				if text, code, err := run(t, append(c.args(f), "--allow", f.server.URL+"/")...); code != exitDone && c.prepare == nil {
					t.Errorf("with permission: exit code %d: %v\n%s", code, err, text)
				}
			})
		}
	}
}

// TestForeignParts checks that no command opens a source that somebody else's scan part names, unless the user allows it, and
// that no command seals one.
func TestForeignParts(t *testing.T) {
	commands := map[string][]string{
		"build": {"build", "NEW"}, "build with checksums": {"build", "NEW", "--checksum"}, "check": {"check"}, "scan": {"scan", "-o", "MERGED"},
		"append": {"append", "OWN"}, "sync": {"sync", "OWN", "MORE"}, "build with another file": {"build", "NEW", "MORE"},
	}
	for _, kind := range []string{"server", "unstored", "kerchunk"} {
		for _, command := range slices.Sorted(maps.Keys(commands)) {
			t.Run(kind+"/"+command, func(t *testing.T) {
				f := buildForeign(t, kind)
				dir := filepath.Dir(f.out)
				in := func(name string) string { return filepath.Join(dir, name) }
				files := map[string]string{"NEW": in("new.varve"), "OWN": in("own.varve"), "MORE": f.more, "MERGED": in("merged.parquet")}
				as(t, dir, "author")
				scan := append([]string{"scan", "-o", in("part.parquet")}, f.sources...)
				if kind == "unstored" {
					scan = append(scan, "--value-bytes", "1")
				}
				mustRun(t, scan...)
				as(t, dir, "user")
				mustRun(t, "build", files["OWN"], f.more, "--quiet")
				f.server.requests()
				var args []string
				for _, arg := range commands[command] {
					args = append(args, cmp.Or(files[arg], arg))
				}
				args = append(args, in("part.parquet"))
				text, code, err := run(t, args...)
				var refused *store.ForbiddenError
				if code == exitDone && command == "scan" {
					text, code, err = run(t, "build", files["NEW"], files["MERGED"], "--quiet")
				}
				if seen := f.server.requests(); len(seen) > 0 {
					t.Errorf("%q was opened", seen)
				}
				if code != exitDone && (code != exitForbidden || !errors.As(err, &refused)) {
					t.Fatalf("exit code %d: %v\n%s", code, err, text)
				}
				if code != exitDone && command != "build with checksums" && kind != "unstored" {
					t.Errorf("nothing had to be opened, but the exit code is %d: %v", code, err)
				}
				out := files["NEW"]
				if command == "append" || command == "sync" {
					out = files["OWN"]
				}
				if code == exitDone && command != "check" {
					if text, code, err := run(t, "read", out, f.array, "--stat"); code != exitForbidden {
						t.Errorf("reading afterwards: exit code %d: %v\n%s", code, err, text)
					}
				}
				if out == files["OWN"] && code == exitDone {
					return
				}
				mustRun(t, append(args, "--allow", f.server.URL+"/", "--force")[:len(args)+2+min(1, strings.Count(command, "build"))]...)
				switch command {
				case "check":
					return
				case "scan":
					mustRun(t, "build", out, files["MERGED"], "--quiet", "--force")
				}
				mustRun(t, "read", out, f.array, "--stat")
			})
		}
	}
}

// TestSealsOfParts checks that the seal of a scan part permits its sources to the user who scanned them, and nothing else.
func TestSealsOfParts(t *testing.T) {
	f := buildForeign(t, "server")
	dir := filepath.Dir(f.out)
	part, merged, out := filepath.Join(dir, "part.parquet"), filepath.Join(dir, "merged.parquet"), filepath.Join(dir, "new.varve")
	mustRun(t, append([]string{"scan", "-o", part, "--value-bytes", "1"}, f.sources...)...)
	mustRun(t, "scan", part, "-o", merged)
	for _, name := range []string{part, merged} {
		mustRun(t, "build", out, name, "--checksum", "--force", "--quiet")
		mustRun(t, "read", out, f.array, "--stat")
	}
	// Of two parts, only one is the user's.
	as(t, dir, "author")
	mustRun(t, "scan", f.more, "-o", filepath.Join(dir, "theirs.parquet"))
	as(t, dir, "user")
	mustRun(t, "build", out, part, filepath.Join(dir, "theirs.parquet"), "--force", "--quiet")
	mustRun(t, "read", out, f.array, "--isel", "time=0", "--stat")
	if text, code, err := run(t, "read", out, f.array, "--isel", "time=-1", "--stat"); code != exitForbidden {
		t.Errorf("exit code %d: %v\n%s", code, err, text)
	}
}

// TestRedirectedParts checks that a redirect to a scan part is no permission for sources beside it.
func TestRedirectedParts(t *testing.T) {
	f := buildForeign(t, "server")
	dir := filepath.Dir(f.out)
	as(t, dir, "author")
	mustRun(t, append([]string{"scan", "-o", filepath.Join(f.folder, "part.parquet")}, f.sources...)...)
	as(t, dir, "user")
	other := httptest.NewServer(http.RedirectHandler(f.server.URL+"/part.parquet", http.StatusFound))
	defer other.Close()
	out := filepath.Join(dir, "new.varve")
	mustRun(t, "build", out, other.URL+"/part.parquet", "--quiet")
	if text, code, err := run(t, "read", out, f.array, "--stat"); code != exitForbidden {
		t.Errorf("exit code %d: %v\n%s", code, err, text)
	}
}

// TestForeignMessages checks that a message about a file is no permission to read it.
func TestForeignMessages(t *testing.T) {
	f := buildForeign(t, "server")
	how := &ingest.Options{Sources: ingest.Sources{Names: []string{f.mine}}}
	for range 2 {
		_, err := ingest.SyncFiles(t.Context(), f.out, []string{f.sources[0]}, how)
		if seen := f.server.requests(); !errors.Is(err, source.ErrForbidden) || len(seen) > 0 {
			t.Errorf("got %v, and %q was opened", err, seen)
		}
		f.replaceAll(t)
	}
	how.Sources.Names = []string{f.server.URL + "/"}
	if made, err := ingest.SyncFiles(t.Context(), f.out, []string{f.sources[0]}, how); err != nil || !slices.Equal(made.Replaced, f.sources[:1]) {
		t.Errorf("of a place that the user named: %v", err)
	}
}

// TestForeignLinks checks that a link in an allowed place leads no command to another place.
func TestForeignLinks(t *testing.T) {
	dir := t.TempDir()
	secret, theirs, out := filepath.Join(dir, "secret"), filepath.Join(dir, "theirs"), filepath.Join(dir, "m.varve")
	for _, folder := range []string{secret, theirs} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyMonth(t, secret, "2021-01.nc")
	copyMonth(t, theirs, "2021-02.nc")
	if err := os.Symlink(filepath.Join(secret, "2021-01.nc"), filepath.Join(theirs, "2021-01.nc")); err != nil {
		t.Fatal(err)
	}
	as(t, dir, "author")
	mustRun(t, "build", out, theirs, "--quiet")
	as(t, dir, "user")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(secret, "2021-01.nc"), later, later); err != nil {
		t.Fatal(err)
	}
	text, code, err := run(t, "refresh", out, "--allow", theirs)
	if code != exitForbidden || !errors.Is(err, source.ErrForbidden) {
		t.Errorf("exit code %d: %v\n%s", code, err, text)
	}
	if text, code, err = run(t, "refresh", out, "--allow", theirs, "--allow", secret); code != exitDone {
		t.Errorf("with permission: exit code %d: %v\n%s", code, err, text)
	}
}

// TestSealsOfRevisions checks what the seal of a changed manifest permits: what the user built, named or allowed.
func TestSealsOfRevisions(t *testing.T) {
	f := buildForeign(t, "server")
	f.replaceAll(t)
	mustRun(t, "refresh", f.out, "--allow", f.server.URL+"/", "--quiet")
	mustRun(t, "read", f.out, f.array, "--stat") // the user allowed this place
	mustRun(t, "append", f.out, f.more, "--quiet")
	mustRun(t, "remove", f.out, f.sources[0], "--quiet")
	mustRun(t, "read", f.out, f.array, "--stat")
	f = buildForeign(t, "server")
	mustRun(t, append([]string{"sync", f.out, f.more, "--max-delete", "50"}, f.sources[1:]...)...)
	mustRun(t, "read", f.out, f.array, "--stat") // the user named all sources
	if strings.Contains(mustRun(t, "info", f.out, "--json"), "2021-01.nc") {
		t.Error("the removed source is still there")
	}
}

// lead is a way in which a file leads varve to a place that the user did not name.
type lead struct {
	name string
	// args makes the file, and returns the arguments that name it.
	args      func(t *testing.T, folder, server, target string) []string
	isHTTP    bool     // it leads only to servers
	only      []string // the targets to which it leads; nil means all
	isAddress bool     // allowing the target is enough to open it
	isWhole   bool     // nothing else is left to read, so the command fails
}

var leads = []lead{
	{name: "redirect", isHTTP: true, isAddress: true, isWhole: true, args: func(_ *testing.T, _, server, target string) []string {
		return []string{server + "/to?" + target}
	}},
	{name: "kerchunk on a server", args: func(t *testing.T, folder, server, target string) []string {
		writeReferences(t, folder, 2, target)
		return []string{server + "/2.json"}
	}},
	{name: "kerchunk", args: func(t *testing.T, folder, _, target string) []string {
		return []string{writeReferences(t, folder, 2, target)}
	}},
	{name: "kerchunk to a redirect", isHTTP: true, isAddress: true, args: func(t *testing.T, folder, server, target string) []string {
		writeReferences(t, folder, 2, server+"/to?"+target)
		return []string{server + "/2.json"}
	}},
	{name: "DMR++", args: func(t *testing.T, folder, server, target string) []string {
		text, err := os.ReadFile("../../fixtures/dmrpp/sample.h5.dmrpp")
		if err == nil {
			text = []byte(strings.ReplaceAll(string(text), "OPeNDAP_DMRpp_DATA_ACCESS_URL", target))
			err = os.WriteFile(filepath.Join(folder, "sample.dmrpp"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{server + "/sample.dmrpp"}
	}},
	{name: "Icechunk", only: []string{"loopback", "file"}, args: func(t *testing.T, folder, _, target string) []string {
		// Another user makes the repository of the target.
		dir := t.TempDir()
		user := os.Getenv("XDG_CONFIG_HOME")
		as(t, dir, "author")
		made, repository := filepath.Join(dir, "m.varve"), filepath.Join(folder, "icechunk")
		if err := os.RemoveAll(repository); err != nil {
			t.Fatal(err)
		}
		mustRun(t, "build", made, target, "--quiet")
		mustRun(t, "export", "icechunk", made, repository)
		t.Setenv("XDG_CONFIG_HOME", user)
		return []string{repository}
	}},
	{name: "Zarr", only: []string{"file"}, args: func(t *testing.T, folder, _, target string) []string {
		store := filepath.Join(folder, "linked.zarr")
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(store, os.DirFS("../../fixtures/zarr/v2")); err != nil {
			t.Fatal(err)
		}
		chunk := filepath.Join(store, "shuffled", "0")
		if err := errors.Join(os.Remove(chunk), os.Symlink(strings.TrimPrefix(target, "file://"), chunk)); err != nil {
			t.Fatal(err)
		}
		return []string{store}
	}},
	{name: "STAC", isAddress: true, isWhole: true, args: func(t *testing.T, folder, _, target string) []string {
		name := filepath.Join(folder, "items.json")
		text := fmt.Sprintf(`{"type":"FeatureCollection","features":[{"id":"a","links":[],"assets":{"data":{"href":%q}}}]}`, target)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"--from", name}
	}},
}

// TestUnnamedPlaces checks that no file leads a command to a place that the user did not name: a file of this machine, or a
// server in the user's network. ATTACKTIME, which make attack sets, runs all cases instead of a sample.
func TestUnnamedPlaces(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	secret, own := t.TempDir(), t.TempDir()
	copyMonth(t, secret, "2021-01.nc")
	inside := newBait(t, "127.0.0.2:0", secret)
	targets := map[string]string{
		"loopback": inside.URL + "/2021-01.nc", "private": "http://10.255.255.1/2021-01.nc", "link-local": "http://169.254.169.254/2021-01.nc",
		"file": "file://" + filepath.ToSlash(filepath.Join(secret, "2021-01.nc")),
		"name": strings.Replace(inside.URL, "127.0.0.2", "rebound.example", 1) + "/2021-01.nc",
	}
	var six = newSix(t, secret)
	if six != nil {
		targets["IPv6"] = six.URL + "/2021-01.nc"
	}
	server := newBait(t, "127.0.0.1:0", own)
	files := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
			return
		}
		files.ServeHTTP(w, r)
	})
	sourcetest.ResolveAll(t, [4]byte{127, 0, 0, 2})
	copyMonth(t, own, "2021-02.nc")
	built := filepath.Join(t.TempDir(), "built.varve")
	commands := map[string][]string{
		"build": {"build", filepath.Join(t.TempDir(), "m.varve"), "--force"}, "check": {"check"}, "scan": {"scan", "-o", filepath.Join(t.TempDir(), "part.parquet")},
		"inspect": {"inspect"}, "append": {"append", built}, "sync": {"sync", built, "--max-delete", "100"},
	}
	n := 0
	for _, l := range leads {
		for _, target := range slices.Sorted(maps.Keys(targets)) {
			for _, command := range slices.Sorted(maps.Keys(commands)) {
				if n++; os.Getenv("ATTACKTIME") == "" && n%7 != 0 || command == "inspect" && l.name == "STAC" || l.isHTTP && target == "file" || l.only != nil && !slices.Contains(l.only, target) {
					continue
				}
				t.Run(strings.Join([]string{l.name, target, command}, "/"), func(t *testing.T) {
					mustRun(t, "build", built, filepath.Join(own, "2021-02.nc"), "--quiet", "--force")
					named := l.args(t, own, server.URL, targets[target])
					inside.requests()
					args := slices.Concat(commands[command], named)
					text, code, err := run(t, args...)
					if seen := append(inside.requests(), six.requests()...); len(seen) > 0 {
						t.Errorf("%q was opened", seen)
					}
					// A command may leave out what it does not read.
					if l.isWhole && target != "file" && (code != exitForbidden || !errors.Is(err, source.ErrForbidden)) || code == exitDone && (command == "build" || command == "append" || command == "sync") {
						t.Errorf("exit code %d: %v\n%s", code, err, text)
					}
					// Without its variables a file may be refused for another reason. Nothing permits links out of a store, and files that
					// a catalogue names.
					if isLeftOut := command == "append" && !l.isWhole || l.only == nil && l.isWhole && target == "file" || l.name == "Zarr"; err != nil && !isLeftOut && !strings.Contains(errorText(err)+text, "--allow ") {
						t.Errorf("the error does not say how to permit the place: %s\n%s", errorText(err), text)
					}
					if !l.isAddress || command == "inspect" && !l.isWhole || target != "loopback" && target != "name" {
						return
					}
					_, _, _ = run(t, append(args, "--allow", targets[target])...)
					if seen := inside.requests(); len(seen) == 0 {
						t.Error("the place was not opened with permission")
					}
				})
			}
		}
	}
}

// newSix serves a folder at the loopback address of IPv6, or returns nil if the system has none.
func newSix(t *testing.T, folder string) *bait {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return nil
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return newBait(t, address, folder)
}
