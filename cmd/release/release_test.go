package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"varve/fixtures/machine"
	"varve/fixtures/soak"
)

const root = "../.."

var (
	here     = target{runtime.GOOS, runtime.GOARCH}
	sample   = info{"1.2.3-rc.1", "0123456789abcdef0123456789abcdef01234567", time.Unix(1_700_000_000, 0).UTC()}
	outFor   string // holds the release that most tests open
	nfpmRuns = sync.OnceValue(func() error {
		_, err := (&builder{root: root, info: sample}).goCommand(context.Background(), here, "run", nfpm, "--version")
		return err
	})
	makeOnce sync.Once
	failed   error // of makeOnce
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "varve-release-test-")
	if err != nil {
		panic(err)
	}
	outFor = filepath.Join(folder, "release")
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// testTargets are the present system, and with VARVE_SOAK another: compiling everything for it takes minutes.
func testTargets(t *testing.T) []target {
	if soak.Duration(t, 0) == 0 || here.os == "windows" {
		return []target{here}
	}
	return []target{here, {"windows", "arm64"}}
}

func makeRelease(root, out string, targets []target) error {
	b, err := newBuilder(root, sample)
	if err != nil {
		return err
	}
	defer b.close()
	return b.release(context.Background(), out, targets, "")
}

// released returns the folder of a release, which is made once. It skips the test where nfpm cannot be had.
func released(t *testing.T) string {
	t.Helper()
	if err := nfpmRuns(); here.os == "linux" && err != nil {
		t.Skipf("skipped: %s cannot be built here, perhaps without a network: %v", nfpm, err)
	}
	makeOnce.Do(func() { failed = makeRelease(root, outFor, testTargets(t)) })
	if failed != nil {
		t.Fatal(failed)
	}
	return outFor
}

// output returns what a program prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := machine.Command(t, name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), withStderr(err))
	}
	return string(out)
}

// one returns the only file that matches a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s matches %v (%v), want one file", pattern, names, err)
	}
	return names[0]
}

func TestArchives(t *testing.T) {
	out := released(t)
	for _, target := range testTargets(t) {
		t.Run(target.String(), func(t *testing.T) {
			files := unpack(t, filepath.Join(out, fmt.Sprintf("varve_1.2.3-rc.1_%s_%s", target.os, target.arch)))
			binary, isThere := files["varve"+extension(target)]
			if !isThere || binary.mode != 0o755 {
				t.Fatalf("the command is there: %t, with mode %o", isThere, binary.mode)
			}
			for _, name := range []string{
				"LICENSE", "README.md", "THIRD_PARTY_LICENSES", "man/man1/varve.1", "man/man1/varve-build.1", "man/man1/varve-export-zarr.1",
				"completions/varve.bash", "completions/_varve", "completions/varve.fish", "completions/varve.ps1",
			} {
				if f, ok := files[name]; !ok || len(f.data) == 0 || f.mode != 0o644 {
					t.Errorf("%s: is there: %t, with mode %o and %d bytes", name, ok, f.mode, len(f.data))
				}
			}
			if page := string(files["man/man1/varve.1"].data); !strings.Contains(page, `varve v1.2.3\-rc.1`) {
				t.Errorf("the manual page lacks the version: %.200s", page)
			}
			if text := string(files["THIRD_PARTY_LICENSES"].data); !strings.Contains(text, "==== github.com/spf13/cobra v1") || !strings.Contains(text, "==== Go go1") {
				t.Error("THIRD_PARTY_LICENSES lacks Go or cobra")
			}
			if target != here {
				return
			}
			name := filepath.Join(t.TempDir(), "varve"+extension(target))
			if err := os.WriteFile(name, binary.data, 0o755); err != nil {
				t.Fatal(err)
			}
			if got := output(t, name, "version"); !strings.HasPrefix(got, "varve v1.2.3-rc.1 (0123456789ab), ") {
				t.Errorf("varve version prints %s", got)
			}
		})
	}
}

// unpack returns the files of an archive whose name lacks its ending. It checks their folder and times.
func unpack(t *testing.T, name string) map[string]file {
	t.Helper()
	files := map[string]file{}
	add := func(name string, mode fs.FileMode, at time.Time, data []byte, err error) {
		inside, ok := strings.CutPrefix(name, "varve-1.2.3-rc.1/")
		if !ok || !at.Equal(sample.time) || err != nil {
			t.Errorf("%s of %s: %v", name, at, err)
		}
		files[inside] = file{inside, mode, data}
	}
	if packed, err := os.ReadFile(name + ".zip"); err == nil {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			part, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(part)
			add(f.Name, f.Mode(), f.Modified, data, err)
		}
		return files
	}
	packed, err := os.Open(name + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" {
			t.Errorf("%s belongs to %d %s", h.Name, h.Uid, h.Uname)
		}
		data, err := io.ReadAll(r)
		add(h.Name, fs.FileMode(h.Mode), h.ModTime, data, err)
	}
}

// TestRunsAreEqual makes the release again, with VARVE_SOAK from a copy of the module in another folder.
func TestRunsAreEqual(t *testing.T) {
	first, second, source := released(t), filepath.Join(t.TempDir(), "again"), root
	if soak.Duration(t, 0) > 0 {
		source = copyModule(t)
	}
	if err := makeRelease(source, second, testTargets(t)); err != nil {
		t.Fatal(err)
	}
	if x, y := contents(t, first), contents(t, second); len(x) < 5 || len(x) != len(y) {
		t.Errorf("the runs wrote %d and %d files", len(x), len(y))
	} else {
		for name := range x {
			if !bytes.Equal(x[name], y[name]) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	}
}

// copyModule returns a copy of the files of the module that git knows or would add.
func copyModule(t *testing.T) string {
	t.Helper()
	machine.Find(t, "git")
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.Trim(output(t, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err == nil {
			err = writeFile(filepath.Join(folder, name), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// contents returns the bytes of all files in a folder.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = os.ReadFile(filepath.Join(folder, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestChecksums(t *testing.T) {
	out := released(t)
	machine.Find(t, "sha256sum")
	c := machine.Command(t, "sha256sum", "--check", "--strict", "SHA256SUMS")
	c.Dir = out
	checked, err := c.Output()
	if err != nil {
		t.Fatal(withStderr(err))
	}
	if got, want := strings.Count(string(checked), ": OK\n"), len(contents(t, out))-1; got != want {
		t.Errorf("SHA256SUMS has %d files, want %d", got, want)
	}
}

func TestDebianPackage(t *testing.T) {
	out := released(t)
	machine.Find(t, "dpkg")
	system := t.TempDir()
	for _, name := range []string{"status", "available", "info/format"} {
		text := ""
		if name == "info/format" {
			text = "1\n"
		}
		if err := writeFile(filepath.Join(system, "var/lib/dpkg", name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(system, "var/lib/dpkg/updates"), 0o777); err != nil {
		t.Fatal(err)
	}
	output(t, "dpkg", "--root="+system, "--log="+filepath.Join(system, "log"), "--force-not-root", "--install", one(t, filepath.Join(out, "*.deb")))
	checkInstalled(t, system, []string{"usr/share/zsh/vendor-completions/_varve", "usr/share/doc/varve/copyright"})
	if got := output(t, "dpkg-query", "--admindir="+filepath.Join(system, "var/lib/dpkg"), "-W", "-f=${Version} ${Status}", "varve"); got != "1.2.3~rc.1 install ok installed" {
		t.Errorf("dpkg-query prints %s", got)
	}
}

func TestRPMPackage(t *testing.T) {
	out := released(t)
	machine.Find(t, "rpm2cpio")
	machine.Find(t, "cpio")
	name, system := one(t, filepath.Join(out, "*.rpm")), t.TempDir()
	packed, err := machine.Command(t, "rpm2cpio", name).Output()
	if err != nil {
		t.Fatal(withStderr(err))
	}
	c := machine.Command(t, "cpio", "--extract", "--make-directories", "--quiet")
	c.Dir, c.Stdin = system, bytes.NewReader(packed)
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("cpio: %v: %s", err, text)
	}
	checkInstalled(t, system, []string{"usr/share/zsh/site-functions/_varve", "usr/share/licenses/varve/LICENSE"})
	machine.Find(t, "rpm")
	if got := output(t, "rpm", "-qp", "--qf", "%{VERSION} %{LICENSE} %{BUILDHOST} %{BUILDTIME}", name); got != "1.2.3~rc.1 Apache-2.0 localhost 1700000000" {
		t.Errorf("rpm prints %s", got)
	}
}

// checkInstalled checks what a package installed below a folder, and runs the command.
func checkInstalled(t *testing.T, system string, more []string) {
	t.Helper()
	for _, name := range append(more,
		"usr/share/man/man1/varve.1.gz", "usr/share/man/man1/varve-build.1.gz", "usr/share/bash-completion/completions/varve",
		"usr/share/fish/vendor_completions.d/varve.fish", "usr/share/doc/varve/README.md", "usr/share/doc/varve/THIRD_PARTY_LICENSES") {
		if f, err := os.Stat(filepath.Join(system, name)); err != nil || f.Size() == 0 || f.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	command := filepath.Join(system, "usr/bin/varve")
	if f, err := os.Stat(command); err != nil || f.Mode() != 0o755 {
		t.Fatalf("%s: %v, %v", command, f, err)
	}
	if got := output(t, command, "version"); !strings.HasPrefix(got, "varve v1.2.3-rc.1 ") {
		t.Errorf("varve version prints %s", got)
	}
}

func TestModules(t *testing.T) {
	out := released(t)
	for _, target := range testTargets(t) {
		text, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("varve_1.2.3-rc.1_%s_%s.spdx.json", target.os, target.arch)))
		if err != nil {
			t.Fatal(err)
		}
		var doc spdxDocument
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range doc.Packages {
			names = append(names, p.Name)
		}
		if len(names) < 20 || names[0] != "varve" || names[1] != "stdlib" || !slices.Contains(names, "github.com/spf13/cobra") {
			t.Errorf("%s: the modules are %v", target, names)
		}
		if len(doc.Relationships) != len(names) || doc.Creation.Created != "2023-11-14T22:13:20Z" {
			t.Errorf("%s: %d relationships for %d packages, created %s", target, len(doc.Relationships), len(names), doc.Creation.Created)
		}
	}
}

func TestRecipe(t *testing.T) {
	out := released(t)
	text, err := os.ReadFile(filepath.Join(out, "recipe", "meta.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var recipe struct {
		Package struct{ Version string }
		Source  []struct{ URL, SHA256 string }
	}
	if err := yaml.Unmarshal(text, &recipe); err != nil {
		t.Fatal(err)
	}
	if recipe.Package.Version != "1.2.3rc.1" || len(recipe.Source) != len(testTargets(t)) {
		t.Errorf("the recipe has version %s and %d sources", recipe.Package.Version, len(recipe.Source))
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range recipe.Source {
		if !strings.Contains(string(sums), s.SHA256+"  "+strings.TrimPrefix(s.URL, "../")+"\n") {
			t.Errorf("%s %s is not in SHA256SUMS", s.SHA256, s.URL)
		}
	}
}

// TestInstallScript installs varve from a folder and from a server, and installs nothing if the archive differs.
func TestInstallScript(t *testing.T) {
	out := released(t)
	machine.Find(t, "sh")
	machine.Find(t, "curl")
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	defer server.Close()
	install := func(from, prefix string) (string, error) {
		c := machine.Command(t, "sh", filepath.Join(out, "install.sh"), prefix)
		c.Env = append(c.Environ(), "VARVE_FROM="+from)
		text, err := c.CombinedOutput()
		return string(text), err
	}
	for _, from := range []string{out, server.URL} {
		prefix := filepath.Join(t.TempDir(), "a folder")
		for range 2 { // the second time it replaces the first
			if text, err := install(from, prefix); err != nil || !strings.Contains(text, "1.2.3-rc.1") || !strings.Contains(text, prefix+"/bin") {
				t.Fatalf("%s: %v\n%s", from, err, text)
			}
		}
		if _, err := os.Stat(filepath.Join(prefix, "share", "man", "man1", "varve-build.1")); err != nil {
			t.Error(err)
		}
		if text, err := exec.Command(filepath.Join(prefix, "bin", "varve"), "version").Output(); err != nil || !strings.Contains(string(text), "1.2.3-rc.1") {
			t.Errorf("%s: %v", text, err)
		}
	}
	damaged := t.TempDir()
	name := "varve_1.2.3-rc.1_linux_" + runtime.GOARCH + ".tar.gz"
	archive, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	archive[len(archive)/2] ^= 1
	if err := os.WriteFile(filepath.Join(damaged, name), archive, 0o666); err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(t.TempDir(), "none")
	text, err := install(damaged, prefix)
	if _, exists := os.Stat(prefix); err == nil || !strings.Contains(text, "nothing is installed") || !os.IsNotExist(exists) {
		t.Errorf("a damaged archive: %v, %s, %v", err, text, exists)
	}
}

// TestContainer builds the image and runs varve in it.
func TestContainer(t *testing.T) {
	out := released(t)
	text, err := os.ReadFile(filepath.Join(out, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"FROM scratch", "USER 65532:65532", "ADD varve_1.2.3-rc.1_linux_${TARGETARCH}.tar.gz /opt/"} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the container file has no line %s:\n%s", line, text)
		}
	}
	machine.Find(t, "buildah")
	if here.os != "linux" || os.Getuid() != 0 {
		t.Skip("skipped: building the image needs Linux and root")
	}
	storage := []string{"--root", t.TempDir(), "--runroot", t.TempDir(), "--storage-driver", "vfs"}
	buildah := func(args ...string) string { return output(t, "buildah", append(slices.Clone(storage), args...)...) }
	buildah("build", "--isolation", "chroot", "--quiet", "-t", "varve-test", out)
	container := strings.TrimSpace(buildah("from", "--pull-never", "localhost/varve-test"))
	if got := buildah("run", "--isolation", "chroot", container, "/opt/varve-1.2.3-rc.1/varve", "version"); !strings.HasPrefix(got, "varve v1.2.3-rc.1 ") {
		t.Errorf("varve version in the container prints %s", got)
	}
}
