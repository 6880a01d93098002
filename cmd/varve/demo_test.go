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

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a demo")
	out, code, err := run(t, "demo", dir)
	if err != nil || code != exitDone {
		t.Fatalf("exit code %d: %v\n%s", code, err, out)
	}
	for _, line := range []string{
		"/t2m  (time: 90, lat: 6, lon: 8)  float32",
		"time 31×1+28×1+31×1",
		"2021-03.nc",
		`"count":`,
		"are unchanged",
		"varve serve " + dir,
	} {
		if !strings.Contains(out, line) {
			t.Errorf("the demo does not print %q:\n%s", line, out)
		}
	}
	if _, code, err := run(t, "demo", dir); code != exitUsage {
		t.Errorf("a second run in the same folder: exit code %d (%v), want %d", code, err, exitUsage)
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
	for _, args := range [][]string{{"demo"}, {"check", filepath.Join(dir, "files")}} {
		if _, code, err := run(t, args...); code != exitFailed || !strings.Contains(err.Error(), "TMPDIR") {
			t.Errorf("%q: exit code %d, %v", args, code, err)
		}
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
