package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo runs the demo without a folder, and again. Each prints relative paths and one next step, and nothing else in
// the folder changes.
func TestDemo(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	for _, isAgain := range []bool{false, true} {
		out, code, err := run(t, "demo")
		if err != nil || code != exitDone {
			t.Fatalf("exit code %d: %v\n%s", code, err, out)
		}
		manifest, files := filepath.Join("demo", "t2m.varve"), filepath.Join("demo", "files")
		for _, line := range []string{
			"/t2m  (time: 90, lat: 6, lon: 8)  float32",
			"time 31×1+28×1+31×1",
			"2021-03.nc",
			`"count":`,
			"are unchanged",
			"$ varve check " + files + "\n",
		} {
			if !strings.Contains(out, line) {
				t.Errorf("again %t: the demo does not print %q:\n%s", isAgain, line, out)
			}
		}
		if strings.Contains(out, work) {
			t.Errorf("again %t: paths are not relative:\n%s", isAgain, out)
		}
		// All lines that show a command begin with $, except the next step.
		var steps []string
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "  ") && strings.Contains(line, manifest) {
				steps = append(steps, line)
			}
		}
		if len(steps) != 1 || !strings.HasSuffix(out, steps[0]) || !strings.HasSuffix(steps[0], " serve "+manifest+"\n") {
			t.Errorf("again %t: the next steps are %q, want varve serve as the last line:\n%s", isAgain, steps, out)
		}
		own := filepath.Join("demo", "own.png")
		if isAgain {
			if data, err := os.ReadFile(own); string(data) != "mine" {
				t.Errorf("the second demo changed %s: %q, %v", own, data, err)
			}
		} else if err := os.WriteFile(own, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder with other files than those of the demo is left alone.
func TestDemoElsewhere(t *testing.T) {
	change := map[string]func(dir string) error{
		"files of the user": func(dir string) error { return os.WriteFile(filepath.Join(dir, "mine.nc"), []byte("mine"), 0o666) },
		"a changed sample": func(dir string) error {
			return errors.Join(writeDemoFiles(filepath.Join(dir, "files")), os.WriteFile(filepath.Join(dir, "files", "2021-02.nc"), []byte("mine"), 0o666))
		},
		"one more file": func(dir string) error {
			return errors.Join(writeDemoFiles(filepath.Join(dir, "files")), os.WriteFile(filepath.Join(dir, "files", "2021-04.nc"), []byte("mine"), 0o666))
		},
		"no samples": func(dir string) error { return os.Mkdir(filepath.Join(dir, "files"), 0o777) },
	}
	for name, write := range change {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := write(dir); err != nil {
				t.Fatal(err)
			}
			if out, code, err := run(t, "demo", dir); code != exitUsage || out != "" {
				t.Errorf("exit code %d (%v), want %d\n%s", code, err, exitUsage, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "t2m.varve")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a manifest was written: %v", err)
			}
		})
	}
}

// Without a folder for temporary files the error says how to go on, and names no source.
func TestNoTemporaryFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	if out, code, err := run(t, "demo", dir); code != exitDone {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if os.TempDir() != filepath.Join(dir, "none") {
		t.Skip("temporary files go elsewhere here")
	}
	if _, code, err := run(t, "check", filepath.Join(dir, "files")); code != exitFailed || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// A demo that failed can be begun again in the same folder.
func TestDemoFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runDemo(ctx, io.Discard, dir); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if out, code, err := run(t, "demo", dir); code != exitDone {
		t.Errorf("again: exit code %d: %v\n%s", code, err, out)
	}
}

// TestVerifyFindsDamage flips one byte of a chunk of the sample archive behind varve's back.
func TestVerifyFindsDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	if out, _, err := run(t, "demo", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	victim := filepath.Join(dir, "files", "2021-02.nc")
	data, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(victim, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, code, err := run(t, "verify", filepath.Join(dir, "t2m.varve"))
	if code != exitSource || !strings.Contains(err.Error(), "2021-02.nc") {
		t.Errorf("exit code %d, %v: a changed source is not found", code, err)
	}
}
