package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// messagesOf are the messages of a sample, one after the other.
func messagesOf(t *testing.T, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../fixtures/grib", name))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for len(b) > 0 {
		end := bytes.Index(b, []byte("7777")) + 4
		out = append(out, b[:end])
		b = b[end:]
	}
	return out
}

// TestBuildGRIB builds one array of files of one lead time each, as forecasts are published: the first has no axis of lead times, and the
// second lacks a level of one variable.
func TestBuildGRIB(t *testing.T) {
	list := messagesOf(t, "levels.grib")
	if len(list) != 11 {
		t.Fatalf("%d messages", len(list))
	}
	steps := map[string][]int{"f000": {0, 1, 2, 6, 7, 8}, "f006": {3, 4, 5, 9, 10}}
	dir := t.TempDir()
	var names []string
	for _, name := range []string{"f006", "f000"} {
		var b []byte
		for _, i := range steps[name] {
			b = append(b, list[i]...)
		}
		names = append(names, filepath.Join(dir, name+".grib2"))
		if err := os.WriteFile(names[len(names)-1], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.varve")
	if text, code, err := run(t, append([]string{"build", out}, names...)...); code != exitDone {
		t.Fatal(text, err)
	}
	for variable, want := range map[string]string{"t": `"count":72,"valid":72`, "u": `"count":72,"valid":60`} {
		if got, code, err := run(t, "read", out, variable, "--stat"); code != exitDone || !strings.Contains(got, want) {
			t.Errorf("%s: %s (%v), not %s", variable, got, err, want)
		}
	}
	got, code, err := run(t, "read", out, "t", "--sel", "step=6,isobaricInhPa=850,latitude=60,longitude=0")
	if code != exitDone || !strings.HasSuffix(got, ",280\n") {
		t.Errorf("%q (%v)", got, err)
	}
}
