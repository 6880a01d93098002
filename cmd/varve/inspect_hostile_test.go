package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"varve/fixtures/system"
)

// TestInspectHostile shows sources that promise more than they hold or lead in circles. Each takes
// less than a second and 256 MiB, and its undamaged parts are shown.
func TestInspectHostile(t *testing.T) {
	const seconds, memory = time.Second, 256 << 20
	n := 0
	err := filepath.WalkDir("../../fixtures/hostile", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) == ".py" {
			return err
		}
		n++
		t.Run(e.Name(), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := system.ProcessorTime(t)
			out, err := inspect(t, "--json", "--checksum", "--values", name)
			text, textErr := inspect(t, name)
			took := system.ProcessorTime(t) - began
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; took > seconds || grown > memory {
				t.Errorf("took %v and %d bytes of memory, want up to %v and %d", took, grown, seconds, memory)
			}
			var doc inspected
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Status != "ok" && (err == nil || textErr == nil || !strings.Contains(err.Error(), name)) {
				t.Errorf("refused without naming the source: %v, %v", err, textErr)
			}
			if filepath.Ext(name) == ".h5" && (len(doc.find("/fine").Values) != 64 || !strings.Contains(text, "fine(")) {
				t.Errorf("the intact variable is not shown: %s", out)
			}
		})
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestInspectBadInput has what people pass by mistake.
func TestInspectBadInput(t *testing.T) {
	dir := t.TempDir()
	sample, err := os.ReadFile("../../fixtures/hdf5/netcdf4.nc")
	if err != nil {
		t.Fatal(err)
	}
	classic, err := os.ReadFile("../../fixtures/netcdf3/classic.nc")
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := system.MakePipe(pipe); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name    string
		content []byte // nil: nothing is written
		code    int
		says    string
	}{
		{"empty.nc", []byte{}, exitCorrupt, "empty"},
		{"page.nc", []byte("<!DOCTYPE html>\n<title>404</title>"), exitCorrupt, "HTML"},
		{"absent.nc", nil, exitSource, "absent.nc"},
		{".", nil, exitCorrupt, "empty.nc"},
		{"pipe", nil, exitFailed, "named pipe"},
		{"text.nc", []byte("plain text"), exitFailed, "not a format"},
		{"cut.nc", sample[:len(sample)/2], exitCorrupt, "truncated"},
		{"signature.nc", sample[:8], exitCorrupt, "signature.nc"},
		{"header.nc", classic[:40], exitCorrupt, "offset"},
		{"magic.nc", []byte("CDF\x07rest of the file"), exitFailed, "not a format"},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(dir, test.name)
			if test.content != nil {
				if err := os.WriteFile(name, test.content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{{name}, {"--json", "--values", name}} {
				_, err := inspect(t, args...)
				if err == nil || exitCode(err, false) != test.code || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), strings.TrimSuffix(name, "/.")) {
					t.Errorf("%v: exit code %d, %v; want %d, %q and the name", args, exitCode(err, false), err, test.code, test.says)
				}
			}
		})
	}
}

// TestInspectForbidden has a file that may not be read.
func TestInspectForbidden(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	name := filepath.Join(t.TempDir(), "secret.nc")
	if err := os.WriteFile(name, []byte("CDF\x01"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(t, name); exitCode(err, false) != exitForbidden {
		t.Errorf("got %v", err)
	}
}

// TestInspectNames shows names with NUL, control characters and bytes that are no UTF-8.
func TestInspectNames(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/netcdf3/classic.nc")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"fix\xff\xfe_b", "fix\x1b[2_b", "fixe\x00_b"} {
		changed := strings.Replace(string(data), "fixed_b", bad[:7], 1)
		name := filepath.Join(t.TempDir(), "names.nc")
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		text, err := inspect(t, name)
		if err == nil && (!utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\x00")) {
			t.Errorf("%q is shown as it is: %q", bad, text)
		}
		if !strings.Contains(text, "record_b") && err == nil {
			t.Errorf("%q: the other variables are not shown: %s", bad, text)
		}
		if doc, err := inspectDocument(t, name); err == nil && doc.find("/record_b") == nil {
			t.Errorf("%q: the other variables are not in the document", bad)
		}
	}
}
