package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waitForSources waits until a manifest has a number of sources.
func waitForSources(t *testing.T, out string, want int64) {
	t.Helper()
	sources := int64(0)
	for begun := time.Now(); sources != want; time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%d sources, want %d", sources, want)
		}
		s, err := loadSnapshot(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		sources = s.Sources
	}
}

// TestSyncEvents follows a folder by messages on standard input, in a file and by HTTP.
func TestSyncEvents(t *testing.T) {
	post := func(t *testing.T, address, body string) int {
		resp, err := http.Post(address, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	for _, place := range []string{"-", "file", "http://127.0.0.1:0"} {
		t.Run(place, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			folder := t.TempDir()
			out := filepath.Join(t.TempDir(), "m.varve")
			copyMonth(t, folder, "2021-01.nc")
			if text, err := runCommand(t, t.Context(), "build", out, folder); err != nil {
				t.Fatal(err, text)
			}
			copyMonth(t, folder, "2021-02.nc") // its message was lost
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			stdin, send := io.Pipe()
			read, stdout := io.Pipe()
			log := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(log, []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			where := strings.Replace(place, "file", log, 1)
			root := newRootCommand()
			root.SetArgs([]string{"sync", out, folder, "--events", where, "--quiet"})
			root.SetIn(stdin)
			root.SetOut(stdout)
			var messages strings.Builder
			root.SetErr(&messages)
			ended := make(chan error, 1)
			go func() { ended <- root.ExecuteContext(ctx) }()
			var tell func(line string)
			switch place {
			case "-":
				tell = func(line string) {
					if _, err := io.WriteString(send, line+"\n"); err != nil {
						t.Error(err)
					}
				}
			case "file":
				tell = func(line string) {
					f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0o644)
					if err == nil {
						_, err = f.WriteString(line + "\n")
					}
					if err == nil {
						err = f.Close()
					}
					if err != nil {
						t.Error(err)
					}
				}
			default:
				line, err := bufio.NewReader(read).ReadString('\n')
				address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
				if err != nil || !ok {
					t.Fatal(line, err)
				}
				for body, want := range map[string]int{"{": http.StatusBadRequest, strings.Repeat(" ", maxEvent+1): http.StatusBadRequest, "{}": http.StatusAccepted} {
					if got := post(t, address, body); got != want {
						t.Errorf("%.10q: %d, want %d", body, got, want)
					}
				}
				tell = func(line string) {
					if got := post(t, address, line); got != http.StatusAccepted {
						t.Errorf("%s: %d", line, got)
					}
				}
			}
			waitForSources(t, out, 2)
			third := filepath.Join(folder, "2021-03.nc")
			copyMonth(t, folder, "2021-03.nc")
			tell(third)
			if place != "http://127.0.0.1:0" { // which answers with the fault
				tell("{nonsense")
			}
			tell(filepath.Join(folder, "none.nc"))
			waitForSources(t, out, 3)
			if err := os.Remove(third); err != nil {
				t.Fatal(err)
			}
			tell(third)
			tell(third)
			waitForSources(t, out, 2)
			if place == "-" {
				if err := send.Close(); err != nil { // the end of the messages ends the command
					t.Fatal(err)
				}
			} else {
				stop()
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if place != "http://127.0.0.1:0" && !strings.Contains(messages.String(), "event") {
				t.Errorf("nothing about the message that cannot be read: %q", messages.String())
			}
		})
	}
}

// TestFollowing reads a file through growth, truncation and replacement.
func TestFollowing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	from := &following{ctx: ctx, file: f, name: name}
	lines := bufio.NewReader(from)
	expect := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("%q, %v; want %s", line, err, want)
		}
	}
	expect("one")
	write("2\n") // shorter
	expect("2")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write("three\n")
	expect("three")
	stop()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Error(err)
	}
	if err := from.file.Close(); err != nil {
		t.Error(err)
	}
}
