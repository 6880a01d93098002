package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"varve/codec"
)

// run calls varve with arguments and returns its standard output and its exit code.
func run(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	var b bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&b)
	root.SetErr(&b)
	err = root.ExecuteContext(t.Context())
	return b.String(), exitCode(err, false), err
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name        string
		err         error
		interrupted bool
		want        int
	}{
		{"nothing wrong", nil, false, 0},
		{"any error", errors.New("no"), false, 1},
		{"usage", usageError{errors.New("no")}, false, 2},
		{"no such file", fmt.Errorf("a.nc: %w", fs.ErrNotExist), false, 4},
		{"corrupt", fmt.Errorf("a.nc: %w", codec.ErrCorrupt), false, 5},
		{"no permission", fmt.Errorf("a.nc: %w", fs.ErrPermission), false, 6},
		{"cancelled", fmt.Errorf("a.nc: %w", context.Canceled), false, 130},
		{"any error after a signal", errors.New("no"), true, 130},
	} {
		if got := exitCode(tt.err, tt.interrupted); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestHelpListsExitCodes(t *testing.T) {
	out, _, err := run(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exits {
		if line := fmt.Sprintf("%3d  %s", e.code, e.says); !strings.Contains(out, line) {
			t.Errorf("--help does not say %q", line)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"version", "now"}, {"version", "--loud"}, {"polish"}, {"inspect"}, {"inspect", "--values", "x.nc"}} {
		if _, code, err := run(t, args...); code != exitUsage {
			t.Errorf("%v: exit code %d (%v), want %d", args, code, err, exitUsage)
		}
	}
}

func TestVersion(t *testing.T) {
	out, _, err := run(t, "version")
	if err != nil || !strings.HasPrefix(out, "varve ") || !strings.Contains(out, "go1.") {
		t.Errorf("varve version prints %q (%v)", out, err)
	}
}
