package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns a terminal, and a function that closes it and returns what was written to it.
func pseudoTerminal(t *testing.T) (terminal *os.File, written func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine has no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { _ = control.Close() })
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	over := make(chan error)
	go func() {
		_, err := io.Copy(&out, control)
		over <- err
	}()
	return terminal, func() string {
		err := terminal.Close()
		if failed := <-over; !errors.Is(failed, unix.EIO) { // the terminal is closed
			err = errors.Join(err, failed)
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(out.String(), "\r\n", "\n")
	}
}

// TestColour checks that errors and findings have colours on a terminal only, and not if NO_COLOR or TERM forbids them.
// The colours change nothing else.
func TestColour(t *testing.T) {
	dir := t.TempDir()
	files, out := filepath.Join(dir, "files"), filepath.Join(dir, "out")
	if err := writeDemoFiles(files); err != nil {
		t.Fatal(err)
	}
	colours := strings.NewReplacer("re-encoded  ", "\x1b[33mre-encoded\x1b[0m  ", "varve: ", "\x1b[1;31mvarve:\x1b[0m ")
	for _, args := range [][]string{{"build", out, files, "--force"}, {"build", out, files, "--strict", "--force"}} {
		var plain bytes.Buffer
		_ = execute(t.Context(), args, io.Discard, &plain)
		coloured := colours.Replace(plain.String())
		if coloured == plain.String() || strings.Contains(plain.String(), "\x1b") {
			t.Fatalf("%q wrote %q without a terminal", args, plain.String())
		}
		for _, c := range []struct{ name, noColour, term, want string }{
			{"a terminal", "", "xterm-256color", coloured},
			{"NO_COLOR", "1", "xterm-256color", plain.String()},
			{"a dumb terminal", "", "dumb", plain.String()},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Setenv("NO_COLOR", c.noColour)
				t.Setenv("TERM", c.term)
				terminal, written := pseudoTerminal(t)
				_ = execute(t.Context(), args, io.Discard, terminal)
				got := written()
				got = got[strings.LastIndex(got, "\r")+1:] // before it, the bar of the progress was cleared
				if got != c.want {
					t.Errorf("%q wrote\n%q, want\n%q", args, got, c.want)
				}
			})
		}
	}
}
