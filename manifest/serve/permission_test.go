//go:build unix

package serve

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPermissionLost checks that a file is not served after its permissions are removed, although it is open,
// and is served again when they are restored. Root may read everything, so the test runs as nobody.
func TestPermissionLost(t *testing.T) {
	leavesNothing(t)
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for key, row := range map[string]int{"/big/c/0/0": 0, "/small/c/0/0": 1} {
		name := d.sources[d.arrays[row].(*fakeArray).source].URL
		for range 3 {
			if got := ask(t, "GET", s.URL+key); got.status != 200 {
				t.Fatalf("%s: %d %s", key, got.status, got.body)
			}
		}
		if err := os.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got := ask(t, "GET", s.URL+key)
			if got.status != 403 {
				t.Errorf("%s: %d", key, got.status)
			}
			checkReason(t, got, "source ü.bin")
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, "GET", s.URL+key); got.status != 200 {
			t.Errorf("%s afterwards: %d %s", key, got.status, got.body)
		}
	}
}

// asNobody runs the test in a new process as a user who owns no files.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "varve-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o777), copyProgram(program)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// copyProgram copies the test program to a place where every user may run it.
func copyProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close(), os.Chmod(to, 0o755))
}
