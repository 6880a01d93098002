package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/repo"
)

func emptyManifest(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a.varve")
	repository, err := repo.Create(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := &manifest.Snapshot{Message: "build", Groups: []manifest.GroupSchema{{Path: "/"}}}
	if err := errors.Join(repository.Publish(t.Context(), snapshot, ""), repository.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServe: the address is on standard output once requests are answered, and an interrupt
// ends it well.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	root := newServeCommand()
	root.SetArgs([]string{emptyManifest(t), "--listen", "127.0.0.1:0", "--access-log", "-", "--log-format", "json"})
	root.SetOut(write)
	var messages strings.Builder
	root.SetErr(&messages)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("it says %q", line)
	}
	for path, want := range map[string]int{"/zarr.json": 200, "/healthz": 200, "/metrics": 200, "/x/c/0": 404} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != want {
			t.Errorf("%s: %d, %v", path, resp.StatusCode, err)
		}
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not stop")
	}
	for _, want := range []string{`"path":"/zarr.json","status":200`, `"msg":"permanent address of this snapshot"`, `"address":"` + url + `/@`} {
		if !strings.Contains(messages.String(), want) {
			t.Errorf("no %s in %s", want, messages.String())
		}
	}
}

func TestServeRefuses(t *testing.T) {
	dir := emptyManifest(t)
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"no manifest", []string{filepath.Join(dir, "nothing")}, exitSource},
		{"a certificate alone", []string{dir, "--tls-cert", "x"}, exitUsage},
		{"a format of logs", []string{dir, "--log-format", "xml"}, exitUsage},
		{"no address", []string{dir, "--listen", "nonsense"}, exitUsage},
		{"no port", []string{dir, "--listen", "127.0.0.1:nonsense"}, exitFailed},
		{"no such certificate", []string{dir, "--listen", "127.0.0.1:0", "--tls-cert", filepath.Join(dir, "x"), "--tls-key", filepath.Join(dir, "y")}, exitFailed},
		{"no folder for the log", []string{dir, "--access-log", filepath.Join(dir, "none", "log")}, exitFailed},
		{"no folder for the socket", []string{dir, "--listen", "unix:" + filepath.Join(dir, "none", "s")}, exitFailed},
		{"two of one name", []string{dir, dir}, exitFailed},
	} {
		cmd := newServeCommand()
		cmd.SetArgs(c.args)
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		if err := cmd.ExecuteContext(t.Context()); exitCode(err, false) != c.want || out.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d: %v; printed %q", c.name, exitCode(err, false), c.want, err, out.String())
		}
	}
}

// TestAccessLogFile opens files for access logs. One that has other data is refused and stays as it is.
func TestAccessLogFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	for _, format := range []string{"text", "json"} {
		for i, begin := range []string{"none", "", "text", "json", "CDF\x01", "time=now\n", "{}\n"} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			o := serveOptions{access: name, logFormat: format}
			isLog := i < 2 || begin == format
			if begin == "text" || begin == "json" {
				of := serveOptions{access: name, logFormat: begin}
				log, end, err := of.accessLog(io.Discard)
				if err != nil {
					t.Fatal(err)
				}
				log.Info("request", "method", "GET", "path", "/")
				if err := end(); err != nil {
					t.Fatal(err)
				}
			} else if begin != "none" {
				if err := os.WriteFile(name, []byte(begin), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, end, err := o.accessLog(io.Discard)
			if failed := end(); failed != nil {
				t.Error(failed)
			}
			if isLog && err != nil || !isLog && exitCode(err, false) != exitUsage {
				t.Errorf("%s log to a file that begins with %q: got %v", format, begin, err)
			}
		}
	}
}
