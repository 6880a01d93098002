package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		{"no file of ours", ownError{fs.ErrNotExist}, false, 1},
		{"nowhere to write", ownError{fs.ErrPermission}, false, 6},
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
	out := seaArchive(t)
	file := filepath.Join(filepath.Dir(out), "sea.nc")
	for _, tt := range []struct{ line, says string }{
		{"version now", "version: want nothing, got 1 argument"},
		{"version --loud", "--loud"},
		{"polish", `unknown command "polish"`},
		{"help polish", `help: unknown command "polish"`},
		{"completion polish", `completion: unknown command "polish"`},
		{"export polish", `unknown format "polish"`},
		{"export zarr OUT", "export zarr: want OUT DEST, got 1 argument"},
		{"inspect", "inspect: want SRC..., got 0 arguments"},
		{"inspect --values x.nc", "--json"},
		{"build EMPTY FILE", "argument 1 is empty"},
		{"append OUT EMPTY", "argument 2 is empty"},
		{"export zarr OUT EMPTY", "argument 2 is empty"},
		{"check FILE --workers -1", "want a whole number of at least 0"},
		{"check FILE --inline no", "want a whole number of at least 0"},
		{"check FILE --value-bytes 0", "want a whole number of at least 1"},
		{"gc OUT --keep 0", "want a whole number of at least 1"},
		{"biuld", `Did you mean "build"?`},
		{"check FILE --toleranse 1", "Did you mean --tolerance?"},
		{"export kerchnk", `Did you mean "kerchunk"?`},
		{"check FILE --tolerance abc", "--tolerance abc: want a number"},
		{"read OUT sst time --stat", "--stat is of one array"},
		{"read OUT sss", `Did you mean "/sst"?`},
		{"check FILE --tolerance -1", "--tolerance -1"},
		{"check FILE --tolerance nan", "--tolerance NaN"},
		{"check FILE --match [a", "--match [a"},
		{"check FILE --vars [a", "--vars '[a'"},
		{"check FILE --vars ssh", "fix: --vars sst"},
		{"check FILE --dtype ssh=int32", "--dtype ssh=int32"},
		{"check FILE --config nosuch.yaml", "--config"},
		{"check FILE --new-dim run=list:nosuch", "--new-dim run=list:nosuch"},
		{"export zarr OUT no.zarr --chunks depth=3", "no array has the dimension depth"},
	} {
		args := strings.Fields(strings.NewReplacer("OUT", out, "FILE", file).Replace(tt.line))
		for i := range args {
			args[i] = strings.TrimPrefix(args[i], "EMPTY")
		}
		if _, code, err := run(t, args...); code != exitUsage || !strings.Contains(shown(err), tt.says) {
			t.Errorf("%s: exit code %d (%v), want %d and %q", tt.line, code, err, exitUsage, tt.says)
		}
	}
}

// TestNoManifest checks the advice for a missing manifest, a folder without one, and a file.
func TestNoManifest(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.nc")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		filepath.Join(dir, "none"): "/none: ",
		dir:                        `"current"`,
		file:                       "a.nc ",
	} {
		_, code, err := run(t, "info", name)
		if text := fmt.Sprint(err); !strings.Contains(text, says) || !strings.Contains(text, "varve build OUT SRC") || errors.Is(err, fs.ErrNotExist) != (code == exitSource) {
			t.Errorf("exit code %d: %v, want %q", code, err, says)
		}
	}
}

// TestPlacesToWrite: if the destination cannot be written, a command fails before any work, and its exit code does
// not blame a source.
func TestPlacesToWrite(t *testing.T) {
	out := seaArchive(t)
	dir := filepath.Dir(out)
	for _, tt := range []struct{ line, says string }{
		{"read OUT sst -o DIR/none/x.npy", "none does not exist"},
		{"read OUT sst -o s3://bucket/x.npy", "object stores"},
		{"scan DIR/sea.nc -o DIR/none/x.parquet", "none does not exist"},
		{"scan DIR/sea.nc -o DIR", "is a folder"},
		{"build DIR/sea.nc DIR/sea.nc", "is a file, but a manifest is a folder"},
		{"info DIR/sea.nc", "is a file, but a manifest is a folder"},
		{"check OUT", "sea.varve is a varve manifest, not a source"},
		{"check DIR/sea.nc --html DIR", "is a folder"},
		{"check DIR/sea.nc --html s3://bucket/x.html", "object stores"},
		{"export kerchunk OUT DIR/none/x.json", "none does not exist"},
		{"export table OUT DIR/none/x.parquet", "none does not exist"},
		{"export icechunk OUT s3://bucket", "s3://bucket: "},
		{"export table OUT s3://bucket/x/", "s3://bucket/x/: "},
		{"demo s3://bucket/x", "object stores"},
	} {
		args := strings.Fields(strings.NewReplacer("OUT", out, "DIR", dir).Replace(tt.line))
		if _, code, err := run(t, args...); code != exitFailed || !strings.Contains(shown(err), tt.says) {
			t.Errorf("%s: exit code %d (%v), want %d and %q", tt.line, code, err, exitFailed, tt.says)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("failed commands left %v (%v)", files, err)
	}
}

func TestVersion(t *testing.T) {
	out, _, err := run(t, "version")
	if err != nil || !strings.HasPrefix(out, "varve ") || !strings.Contains(out, "go1.") {
		t.Errorf("varve version prints %q (%v)", out, err)
	}
}

// shown returns an error as users see it; empty for nil.
func shown(err error) string {
	if err == nil {
		return ""
	}
	return errorText(err)
}
